import { nearest } from '../errors/edit-distance.js';
import { escapeToken, isObject, type JsonObject } from '../json.js';
import { KEYWORDS } from '../validation/ajv.js';
import type { DeclarationFault } from './declaration.js';
import { FIELD_KEYWORDS, isGiven } from './field-keywords.js';
import type { Declarations } from './read-declarations.js';
import { DEFINITIONS, SchemaFiles, type SchemaNode, subschemas } from './schema-files.js';

/**
 * The subject of a schema, which decides the keywords that have an effect in it: the record; a field of it; the items of a
 * field; a member of an object in a field; another value; or a value to which the schema may not apply.
 */
type Role = 'record' | 'field' | 'items' | 'member' | 'value' | 'branch';

const EFFECTIVE: Readonly<Record<Role, ReadonlySet<string>>> = {
  record: new Set(),
  field: new Set([...FIELD_KEYWORDS, 'default']),
  items: new Set(['x-references', 'x-on-delete']),
  member: new Set(['default']),
  value: new Set(),
  branch: new Set(),
};
const MEANINGFUL: ReadonlySet<string> = new Set([...FIELD_KEYWORDS, 'default', 'x-collection']);
/** Keywords whose schemas apply only sometimes, or only to some values. */
const BRANCHES: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'contains']);
/** Every keyword of the service that stands where it has no effect, wherever a collection's schema leads. */
export function keywordFaults({ collections, shared }: Declarations): DeclarationFault[] {
  const own = collections.map(({ name, schema }): [string, object] => [`${name}.json`, schema]);
  const files = new SchemaFiles([...own, ...shared]);
  const paths = new Map(collections.map(({ name, file }) => [`${name}.json`, file]));
  const faults = new Map<string, DeclarationFault>();
  const cycles = new Cycles(files);
  const seen = new Map<JsonObject, Set<Role>>();
  const fault = ({ file }: SchemaNode, pointer: string, reason: string) =>
    void faults.set(`${file}#${pointer}`, { file: paths.get(file) ?? file, pointer, reason });
  /** `from`: the reference that leads to the schema. */
  const visit = (node: SchemaNode, role: Role, from?: string): void => {
    const { schema, file, pointer } = node;
    const roles = seen.get(schema) ?? new Set();
    if (roles.has(role)) return;
    seen.set(schema, roles.add(role));
    for (const keyword of Object.keys(schema)) {
      if (keyword === 'x-collection' && pointer === '' && paths.has(file)) continue;
      const reason = faultOf(keyword, schema, role);
      if (reason)
        fault(
          node,
          `${pointer}/${escapeToken(keyword)}`,
          from === undefined ? reason : `${reason}. It is referred to in ${from}`,
        );
    }
    if (isObject(schema.properties) && Object.hasOwn(schema.properties, '__proto__'))
      fault(node, `${pointer}/properties/__proto__`, 'cannot be declared: no rule of it would be checked');
    if (cycles.has(node))
      fault(node, pointer, 'leads back to itself by a reference: its validation would not end');
    for (const { keyword, node: each } of subschemas(node))
      if (!DEFINITIONS.has(keyword)) visit(each, roleIn(role, keyword), from);
    for (const { keyword, node: target } of files.referred(node))
      visit(target, roleIn(role, keyword), `${paths.get(file) ?? file}#${pointer}/${keyword}`);
  };
  for (const { name } of collections) {
    const record = files.root(`${name}.json`);
    visit(record, 'record');
    for (const node of defaultsOfSecrets(record, files))
      fault(
        node,
        `${node.pointer}/default`,
        'a field that is never returned cannot have a default: each patch would set it again',
      );
  }
  return [...faults.values()];
}

/** The schemas with a default for a write-only field of the record. */
function defaultsOfSecrets(record: SchemaNode, files: SchemaFiles): SchemaNode[] {
  const parts = [...always(record, files)];
  const fields = parts.flatMap((part) =>
    [...subschemas(part)].filter(({ keyword }) => keyword === 'properties'),
  );
  const nameOf = ({ pointer }: SchemaNode) => pointer.slice(pointer.lastIndexOf('/') + 1);
  const secrets = new Set(
    fields.filter(({ node }) => node.schema.writeOnly === true).map(({ node }) => nameOf(node)),
  );
  return fields
    .filter(({ node }) => secrets.has(nameOf(node)))
    .flatMap(({ node }) => [...always(node, files)])
    .filter(({ schema }) => isGiven(schema, 'default'));
}

/** A schema, and those that apply to the value whenever the schema applies, except perhaps for their conditions. */
function* always(node: SchemaNode, files: SchemaFiles, seen = new Set<JsonObject>()): Generator<SchemaNode> {
  if (seen.has(node.schema)) return;
  seen.add(node.schema);
  yield node;
  for (const each of inPlaceOf(node, files))
    if (!BRANCHES.has(each.keyword)) yield* always(each.node, files, seen);
}

function faultOf(keyword: string, schema: JsonObject, role: Role): string | undefined {
  if (keyword.startsWith('x-') && !KEYWORDS.includes(keyword))
    return `unknown keyword: "${keyword}"${nearest(keyword, KEYWORDS)}`;
  if (!MEANINGFUL.has(keyword) || EFFECTIVE[role].has(keyword)) return undefined;
  if (!isGiven(schema, keyword)) return undefined;
  if (keyword === 'x-collection')
    return 'has no effect here: it belongs at the top of the file of a collection';
  if (keyword === 'default')
    return 'has no effect here: only members of objects that are always validated get a default';
  const items = EFFECTIVE.items.has(keyword) ? ', in the items of one' : '';
  const several =
    keyword === 'x-unique' && role === 'record'
      ? '. A key of several fields belongs to /x-collection/unique'
      : '';
  return `has no effect here: it belongs to a field of the record, in /properties/<field>${items}, or in what that refers to by $ref or allOf${several}`;
}

function roleIn(role: Role, keyword: string): Role {
  if (role === 'branch' || BRANCHES.has(keyword)) return 'branch';
  if (keyword === 'properties') return role === 'record' ? 'field' : 'member';
  const isField = role === 'field' && (keyword === '$ref' || keyword === 'allOf');
  if (role === 'field' && keyword === 'items') return 'items';
  return isField ? 'field' : 'value';
}

/** Keywords whose schemas apply to the value that their own schema applies to. */
const IN_PLACE: ReadonlySet<string> = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
  'dependencies',
]);

/** The schemas that apply to a value together with a schema, each with the keyword that names or contains it. */
export const inPlaceOf = (node: SchemaNode, files: SchemaFiles) => [
  ...files.referred(node),
  ...[...subschemas(node)].filter(({ keyword }) => IN_PLACE.has(keyword)),
];

/** Finds schemas that apply to a value again while they are applied to it, which would never end. */
class Cycles {
  readonly #open = new Set<JsonObject>();
  readonly #done = new Set<JsonObject>();

  constructor(readonly files: SchemaFiles) {}

  has(node: SchemaNode): boolean {
    const { schema } = node;
    if (this.#open.has(schema)) return true;
    if (this.#done.has(schema)) return false;
    this.#open.add(schema);
    const isCyclic = inPlaceOf(node, this.files).some((each) => this.has(each.node));
    this.#open.delete(schema);
    this.#done.add(schema);
    return isCyclic;
  }
}
