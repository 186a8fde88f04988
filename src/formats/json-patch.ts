import fastJsonPatch from 'fast-json-patch';
import { invalidPatch, patchTestFailed, unprocessablePatch } from '../errors/input-errors.js';
import { charactersLeft, clone, isObject, type Json, unescapeToken } from '../json.js';

const MAX_OPERATIONS = 10_000;
const OPS = ['add', 'remove', 'replace', 'move', 'copy', 'test'] as const;

interface Operation {
  readonly op: (typeof OPS)[number];
  readonly path: string;
  readonly from: string;
  readonly value: Json;
}

/**
 * The result of a JSON Patch on `document`, which is not changed: RFC 6902 with the pointers of RFC 6901. A malformed
 * patch is 400, which is found before any operation runs. A `test` that fails is 409. An operation that cannot be applied,
 * or that exceeds the cost of a patch, is 422. Either all operations apply or none.
 * Yields before each operation.
 */
export function* jsonPatch(document: Json, patch: Json): Generator<undefined, Json> {
  const operations = readOperations(patch);
  const cost = new PatchCost();
  let result = clone(document);
  for (const [index, operation] of operations.entries()) {
    yield;
    try {
      result = applyOperation(result, operation, index, cost);
    } catch (error) {
      // Moves can nest a value more deeply than the stack reaches when it is next copied or compared.
      throw error instanceof RangeError
        ? unprocessablePatch('The value is nested too deeply.', index)
        : error;
    }
  }
  return result;
}

/** The operations of a JSON Patch. Throws 400 for a malformed one. */
function readOperations(patch: Json): Operation[] {
  if (!Array.isArray(patch)) throw invalidPatch('must be an array of operations', -1);
  if (patch.length > MAX_OPERATIONS)
    throw invalidPatch(`must not have more than ${MAX_OPERATIONS} operations`, -1);
  return patch.map(readOperation);
}

/** Throws 400 for an operation that is not well-formed. */
function readOperation(operation: Json, index: number): Operation {
  if (!isObject(operation)) throw invalidPatch('must be an object', index);
  const op = OPS.find((each) => each === operation.op);
  if (op === undefined) throw invalidPatch(`must be one of ${OPS.join(', ')}`, index, 'op');
  const needsValue = op === 'add' || op === 'replace' || op === 'test';
  if (needsValue && !Object.hasOwn(operation, 'value'))
    throw invalidPatch(`is missing: ${op} needs a value`, index, 'value');
  const path = readPointer(operation.path, 'path', index);
  const from = op === 'move' || op === 'copy' ? readPointer(operation.from, 'from', index) : '';
  // Section 4.4: "The from location MUST NOT be a proper prefix of the path location".
  if (op === 'move' && path.startsWith(`${from}/`))
    throw invalidPatch('a value cannot be moved into itself', index, 'path');
  return { op, path, from, value: needsValue ? operation.value! : null };
}

function readPointer(pointer: Json | undefined, name: string, index: number): string {
  const isMissing = pointer === undefined;
  if (typeof pointer !== 'string')
    throw invalidPatch(
      `${isMissing ? 'is missing: it ' : ''}must be a JSON Pointer, like /name`,
      index,
      name,
    );
  if (pointer !== '' && pointer[0] !== '/')
    throw invalidPatch('must be empty or start with /, like /name', index, name);
  if (/~(?![01])/.test(pointer)) throw invalidPatch('has a ~ that is neither ~0 nor ~1', index, name);
  return pointer;
}

/** Checks the locations of an operation, which fast-json-patch reads leniently, and applies it. Changes `document`. */
function applyOperation(document: Json, operation: Operation, index: number, cost: PatchCost): Json {
  const { op, path, from, value } = operation;
  switch (op) {
    case 'add':
      requireTarget(document, path, index, cost);
      return apply(document, { op, path, value: clone(value) }, index);
    case 'remove':
      requireValue(document, path, index, cost);
      return apply(document, { op, path }, index);
    case 'replace':
      requireValue(document, path, index);
      return apply(document, { op, path, value: clone(value) }, index);
    case 'move': {
      const moved = requireValue(document, from, index, cost);
      if (from === path) return document;
      const rest = apply(document, { op: 'remove', path: from }, index);
      requireTarget(rest, path, index, cost);
      return apply(rest, { op: 'add', path, value: moved }, index);
    }
    case 'copy': {
      const original = requireValue(document, from, index);
      cost.copy(original, index);
      requireTarget(document, path, index, cost);
      return apply(document, { op: 'add', path, value: clone(original) }, index);
    }
    case 'test':
      cost.compare(requireValue(document, path, index), value, index);
      return apply(document, { op, path, value }, index);
  }
}

function apply(document: Json, operation: fastJsonPatch.Operation, index: number): Json {
  try {
    return fastJsonPatch.applyOperation(document, operation, false, true, false).newDocument;
  } catch (error) {
    if (error instanceof fastJsonPatch.JsonPatchError && error.name === 'TEST_OPERATION_FAILED')
      throw patchTestFailed(index);
    throw error;
  }
}

/** The value at a location, own members only. Throws 422 if there is none. With `cost`, it is about to be removed. */
function requireValue(document: Json, pointer: string, index: number, cost?: PatchCost): Json {
  let value: Json = document;
  for (const token of tokensOf(pointer, index)) {
    let next: Json | undefined;
    if (Array.isArray(value)) {
      next = token === '-' ? undefined : value[arrayIndex(token, index)];
    } else if (isObject(value) && Object.hasOwn(value, token)) next = value[token];
    if (next === undefined) throw unprocessablePatch(`There is nothing at ${pointer}.`, index);
    if (cost && Array.isArray(value)) cost.move(value.length - Number(token), index);
    value = next;
  }
  return value;
}

/** Throws 422 unless a value can be added at the location. */
function requireTarget(document: Json, pointer: string, index: number, cost: PatchCost): void {
  const token = tokensOf(pointer, index).at(-1);
  if (token === undefined) return;
  const parent = requireValue(document, pointer.slice(0, pointer.lastIndexOf('/')), index);
  if (typeof parent !== 'object' || parent === null)
    throw unprocessablePatch(`${pointer} leads through a value that has no members.`, index);
  if (!Array.isArray(parent)) return;
  const at = token === '-' ? parent.length : arrayIndex(token, index);
  if (at > parent.length)
    throw unprocessablePatch(`The index of ${pointer} is past the end of the array.`, index);
  cost.move(parent.length - at, index);
}

/** Reference tokens. Throws 422 for `__proto__`, through which fast-json-patch would change a prototype. */
function tokensOf(pointer: string, index: number): string[] {
  const tokens = pointer.split('/').slice(1).map(unescapeToken);
  if (tokens.includes('__proto__')) throw unprocessablePatch('A pointer must not contain __proto__.', index);
  return tokens;
}

/** RFC 6901 section 4: digits without a leading zero. */
function arrayIndex(token: string, index: number): number {
  if (!/^(0|[1-9]\d*)$/.test(token))
    throw unprocessablePatch('An array index is 0, or digits without a leading zero.', index);
  return Number(token);
}

/** Maximum characters of JSON that the copies of one patch add up to: as many as a body has by default. */
const MAX_COPIED = 1_048_576;
/**
 * Maximum array elements that the insertions and removals of one patch shift: 1,000 at the front of an array of 50,000, or
 * 100 of an array of 500,000.
 */
const MAX_MOVED = 50_000_000;
/** Maximum members of the objects that the tests of one patch compare: ten times as many as a record may have. */
const MAX_COMPARED = 500_000;

/** Adds up what the operations of one patch cost. Each method throws 422 beyond its limit. */
class PatchCost {
  #left = MAX_COPIED;
  #moved = 0;
  #compared = 0;

  copy(value: Json, index: number): void {
    this.#left = charactersLeft(value, this.#left);
    if (this.#left < 0)
      throw unprocessablePatch(`The patch copies more than ${MAX_COPIED} characters of JSON.`, index);
  }

  move(elements: number, index: number): void {
    this.#moved += elements;
    if (this.#moved > MAX_MOVED)
      throw unprocessablePatch(`The patch moves array elements more than ${MAX_MOVED} times.`, index);
  }

  /** Nested values are compared only while the sizes are equal, so the length of the patch limits them. */
  compare(actual: Json, expected: Json, index: number): void {
    if (isObject(actual) && isObject(expected)) this.#compared += Object.keys(actual).length;
    if (this.#compared > MAX_COMPARED)
      throw unprocessablePatch(`The patch compares more than ${MAX_COMPARED} members.`, index);
  }
}
