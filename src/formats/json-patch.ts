import { invalidPatch, patchTestFailed, unprocessablePatch } from '../errors.js';
import { clone, equal, isObject, type Json, type JsonObject, setMember } from '../json.js';
import { PatchCost } from './patch-cost.js';

interface Operation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: readonly string[];
  readonly from: readonly string[];
  readonly value: Json;
}

const MAX_OPERATIONS = 10_000;

/**
 * The result of a JSON Patch on `document`, which is not changed: RFC 6902 with the pointers of RFC 6901, to
 * the letter. A malformed patch is 400, and is seen before any operation runs; a `test` that fails is 409;
 * an operation that cannot be applied, or that makes the patch cost too much, is 422. Either all operations apply or none.
 */
export function jsonPatch(document: Json, patch: Json): Json {
  const operations = parsePatch(patch);
  const root: JsonObject = { '': clone(document) };
  const cost = new PatchCost();
  operations.forEach((operation, index) => {
    try {
      apply(root, operation, index, cost);
    } catch (error) {
      // Moves can nest a value deeper than the stack reaches when it is next copied or compared.
      throw error instanceof RangeError
        ? unprocessablePatch('The value is nested too deeply.', index)
        : error;
    }
  });
  return root['']!;
}

function parsePatch(patch: Json): Operation[] {
  if (!Array.isArray(patch)) throw invalidPatch('must be an array of operations', -1);
  if (patch.length > MAX_OPERATIONS)
    throw invalidPatch(`must not have more than ${MAX_OPERATIONS} operations`, -1);
  return patch.map(parseOperation);
}

function parseOperation(operation: Json, index: number): Operation {
  if (!isObject(operation)) throw invalidPatch('must be an object', index);
  const { op, path, from, value } = operation;
  if (!isOp(op)) throw invalidPatch('op must be one of add, remove, replace, move, copy, test', index);
  const needsValue = op === 'add' || op === 'replace' || op === 'test';
  const needsFrom = op === 'move' || op === 'copy';
  if (needsValue && !Object.hasOwn(operation, 'value')) throw invalidPatch(`${op} needs a value`, index);
  const parsed: Operation = {
    op,
    path: parsePointer(path, 'path', index),
    from: needsFrom ? parsePointer(from, 'from', index) : [],
    value: needsValue ? value! : null,
  };
  // Section 4.4: "The from location MUST NOT be a proper prefix of the path location".
  const inside =
    op === 'move' &&
    parsed.from.length < parsed.path.length &&
    parsed.from.every((token, at) => token === parsed.path[at]);
  if (inside) throw invalidPatch('a value cannot be moved into itself', index);
  return parsed;
}

function isOp(op: Json | undefined): op is Operation['op'] {
  return typeof op === 'string' && ['add', 'remove', 'replace', 'move', 'copy', 'test'].includes(op);
}

/** Reference tokens below the root, which stands in a member of its own so that it can be replaced too. */
function parsePointer(pointer: Json | undefined, name: string, index: number): string[] {
  if (typeof pointer !== 'string') throw invalidPatch(`${name} must be a JSON Pointer`, index);
  if (pointer !== '' && pointer[0] !== '/')
    throw invalidPatch(`${name} must be empty or start with /`, index);
  if (/~(?![01])/.test(pointer)) throw invalidPatch(`${name} has a ~ that is neither ~0 nor ~1`, index);
  const tokens = pointer.split('/');
  return pointer.includes('~') ? tokens.map(unescapeToken) : tokens;
}

function unescapeToken(token: string): string {
  return token.includes('~') ? token.replaceAll('~1', '/').replaceAll('~0', '~') : token;
}

function apply(root: JsonObject, { op, path, from, value }: Operation, index: number, cost: PatchCost): void {
  switch (op) {
    case 'add':
      return add(root, path, clone(value), index, cost);
    case 'remove':
      remove(root, path, index, cost);
      return;
    case 'replace':
      return replace(root, path, clone(value), index);
    case 'move':
      if (from.length === path.length && from.every((token, at) => token === path[at])) {
        find(root, from, index);
        return;
      }
      return add(root, path, remove(root, from, index, cost), index, cost);
    case 'copy': {
      const original = find(root, from, index);
      cost.copy(JSON.stringify(original).length, index);
      const copy = clone(original, (members) => cost.copyMembers(members, index));
      return add(root, path, copy, index, cost);
    }
    case 'test':
      if (!equal(find(root, path, index), value, (members) => cost.compare(members, index)))
        throw patchTestFailed(index);
  }
}

type Container = Json[] | JsonObject;

function add(root: JsonObject, path: readonly string[], value: Json, index: number, cost: PatchCost): void {
  const container = containerOf(root, path, index);
  const token = path.at(-1)!;
  if (!Array.isArray(container)) return setMember(container, token, value);
  const at = token === '-' ? container.length : indexOf(token, index);
  if (at > container.length) throw unprocessablePatch('The index is past the end of the array.', index);
  cost.move(container.length - at, index);
  container.splice(at, 0, value);
}

function remove(root: JsonObject, path: readonly string[], index: number, cost: PatchCost): Json {
  const value = find(root, path, index);
  if (path.length === 1) {
    root[''] = null;
    return value;
  }
  const container = containerOf(root, path, index);
  const token = path.at(-1)!;
  if (Array.isArray(container)) {
    cost.move(container.length - Number(token), index);
    container.splice(Number(token), 1);
  } else delete container[token];
  return value;
}

function replace(root: JsonObject, path: readonly string[], value: Json, index: number): void {
  find(root, path, index);
  const container = containerOf(root, path, index);
  const token = path.at(-1)!;
  if (Array.isArray(container)) container[Number(token)] = value;
  else setMember(container, token, value);
}

function containerOf(root: JsonObject, path: readonly string[], index: number): Container {
  if (path.length === 1) return root;
  const parent = find(root, path.slice(0, -1), index);
  if (typeof parent !== 'object' || parent === null)
    throw unprocessablePatch('The path leads through a value that has no members.', index);
  return parent;
}

/** The value at a location; 422 when there is none. Only own members count. */
function find(root: JsonObject, path: readonly string[], index: number): Json {
  let value: Json = root;
  for (const token of path) {
    let next: Json | undefined;
    if (Array.isArray(value)) next = token === '-' ? undefined : value[indexOf(token, index)];
    else if (isObject(value) && Object.hasOwn(value, token)) next = value[token];
    if (next === undefined) throw unprocessablePatch('There is nothing at the location.', index);
    value = next;
  }
  return value;
}

/** RFC 6901 section 4: digits without a leading zero. */
function indexOf(token: string, index: number): number {
  if (!/^(0|[1-9]\d*)$/.test(token))
    throw unprocessablePatch('An array index is 0, or digits without a leading zero.', index);
  return Number(token);
}
