import type { JsonObject } from '../json.js';
import { DEFINITIONS, REFERENCES, type SchemaFiles, type SchemaNode, subschemas } from './schema-files.js';

/**
 * The subject of a schema, which decides the keywords that have an effect in it: the record, also where only a part or a branch of
 * its schema is about it; a field of it; the items of a field; a member of an object; a further schema of a write-only field; another value; a value to which the schema
 * may not apply; or nothing yet. `unused`: in a file with definitions, where no collection's schema leads.
 */
export type Role =
  | 'record'
  | 'record-part'
  | 'record-branch'
  | 'field'
  | 'items'
  | 'member'
  | 'secret'
  | 'value'
  | 'branch'
  | 'definition'
  | 'unused';

/** A schema where a walk through the declarations finds it. */
export interface Place extends SchemaNode {
  readonly role: Role;
  /** Whether the schema may be meant to have no value, below `not` or `if`. */
  readonly isNegated: boolean;
  /** The reference that leads to the schema. */
  readonly from: string | undefined;
  /** Whether the schema applies to a value again while it is applied to it. */
  readonly isEndless: boolean;
  readonly files: SchemaFiles;
}

/** Keywords whose schemas apply only sometimes, or only to some values. */
const BRANCHES: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'contains']);
const NEGATED: ReadonlySet<string> = new Set(['not', 'if']);
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

type Visit = Pick<Place, 'role' | 'isNegated' | 'from'>;

/** Every schema of collections and of files with definitions, once for each of its roles. */
export function* placesIn(
  files: SchemaFiles,
  collections: readonly string[],
  definitions: readonly string[],
): Generator<Place> {
  const seen = new Map<JsonObject, Set<string>>();
  const cycles = new Cycles(files);
  let secrets: ReadonlySet<string> = new Set();
  function* visit(node: SchemaNode, { role, isNegated, from }: Visit): Generator<Place> {
    const states = seen.get(node.schema) ?? new Set();
    // Another record may have other secrets.
    const state = `${role} ${isNegated} ${role.startsWith('record') ? [...secrets].join(' ') : ''}`;
    if (states.has(state) || (role === 'unused' && states.size > 0)) return;
    seen.set(node.schema, states.add(state));
    const isEndless = role !== 'unused' && role !== 'definition' && cycles.has(node);
    yield { ...node, role, isNegated, from, isEndless, files };
    for (const { keyword, node: each } of subschemas(node)) {
      const isSecret = keyword === 'properties' && secrets.has(each.pointer.split('/').at(-1)!);
      const below = isSecret && role === 'record-part' ? 'secret' : roleIn(role, keyword);
      yield* visit(each, { role: below, isNegated: isNegated || NEGATED.has(keyword), from });
    }
    if (role === 'unused') return;
    for (const { keyword, node: target } of files.referred(node)) {
      const place = `${files.pathOf(node.file)}#${node.pointer}/${keyword}`;
      yield* visit(target, { role: roleIn(role, keyword), isNegated, from: place });
    }
  }
  for (const name of [...collections, ...definitions]) {
    const root = files.root(name);
    secrets = secretsOf(root);
    const role = collections.includes(name) ? 'record' : 'unused';
    yield* visit(root, { role, isNegated: false, from: undefined });
  }
}

/** The last tokens of JSON Pointers to the write-only fields of a record. */
const secretsOf = (record: SchemaNode): ReadonlySet<string> =>
  new Set(
    [...subschemas(record)]
      .filter(({ keyword, node }) => keyword === 'properties' && node.schema.writeOnly === true)
      .map(({ node }) => node.pointer.split('/').at(-1)!),
  );

function roleIn(role: Role, keyword: string): Role {
  if (role === 'unused' || role === 'definition') return role;
  if (DEFINITIONS.has(keyword)) return 'definition';
  const isInPlace = IN_PLACE.has(keyword) || REFERENCES.includes(keyword);
  const isOfRecord = role.startsWith('record') && isInPlace && keyword !== 'not';
  if (isOfRecord) return role === 'record-branch' || BRANCHES.has(keyword) ? 'record-branch' : 'record-part';
  if (role === 'record-branch' || role === 'branch' || BRANCHES.has(keyword)) return 'branch';
  if (keyword === 'properties') return role === 'record' ? 'field' : 'member';
  if (role === 'field' && keyword === 'items') return 'items';
  const isSame = keyword === '$ref' || keyword === 'allOf';
  return isSame && (role === 'field' || role === 'secret') ? role : 'value';
}

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
    const inPlace = [...subschemas(node)].filter(({ keyword }) => IN_PLACE.has(keyword));
    const isCyclic = [...this.files.referred(node), ...inPlace].some((each) => this.has(each.node));
    this.#open.delete(schema);
    this.#done.add(schema);
    return isCyclic;
  }
}
