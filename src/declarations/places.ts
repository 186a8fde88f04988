import type { JsonObject } from '../json.js';
import type { createAjv } from '../validation/ajv.js';
import { DEFINITIONS, type SchemaFiles, type SchemaNode, subschemas } from './schema-files.js';

/**
 * The subject of a schema, which decides the keywords that have an effect in it: the record, also where only a part or a branch of
 * its schema is about it; a field of it; the items of a field; a member of an object; another value; or a value to which the schema
 * may not apply.
 */
export type Role =
  | 'field'
  | 'items'
  | 'member'
  | 'value'
  | 'branch'
  | 'record'
  | 'record-part'
  | 'record-branch';

/** A schema where a walk through the declarations finds it. */
export interface Place extends SchemaNode {
  readonly role: Role;
  /** Whether the schema may be meant to have no value, below `not` or `if`. */
  readonly isNegated: boolean;
  /** The reference that leads to the schema. */
  readonly from: string | undefined;
  /** Whether the schema applies to a value again while it is applied to it. */
  readonly isEndless: boolean;
  /** The schema of the collection from which the walk comes. */
  readonly root: SchemaNode;
  readonly files: SchemaFiles;
  /** Validators of all files: a strict one, and one that leaves out what it does not know. Absent: rules that need none are checked. */
  readonly validators?: Validators | undefined;
}

export type Validators = Readonly<Record<'strict' | 'lenient', ReturnType<typeof createAjv>>>;

/** Keywords whose schemas apply only sometimes, or only to some values. */
const BRANCHES: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'contains']);
const NEGATED: ReadonlySet<string> = new Set(['not', 'if']);
/** Keywords whose schemas apply to the value that their own schema applies to. */
const IN_PLACE: ReadonlySet<string> = new Set([
  '$ref',
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

/** Every schema that applies to records of collections, once for each of its roles. */
export function* placesIn(files: SchemaFiles, collections: readonly string[]): Generator<Place> {
  const seen = new Set<string>();
  const isEndless = cycleFinder(files);
  function* visit(
    node: SchemaNode,
    way: Pick<Place, 'role' | 'isNegated' | 'from' | 'root'>,
  ): Generator<Place> {
    const { role, isNegated } = way;
    // Another collection may have other write-only fields.
    const state = `${role} ${isNegated} ${role.startsWith('record') ? way.root.file : ''} ${node.file}#${node.pointer}`;
    if (seen.has(state)) return;
    seen.add(state);
    yield { ...node, ...way, isEndless: isEndless(node), files };
    for (const { keyword, node: each } of subschemas(node))
      if (!DEFINITIONS.has(keyword))
        yield* visit(each, {
          ...way,
          role: roleIn(role, keyword),
          isNegated: isNegated || NEGATED.has(keyword),
        });
    const target = files.referred(node);
    const from = `${files.pathOf(node.file)}#${node.pointer}/$ref`;
    if (target) yield* visit(target, { ...way, role: roleIn(role, '$ref'), from });
  }
  for (const name of collections) {
    const root = files.root(name);
    yield* visit(root, { role: 'record', isNegated: false, from: undefined, root });
  }
}

function roleIn(role: Role, keyword: string): Role {
  if (role.startsWith('record') && IN_PLACE.has(keyword) && keyword !== 'not')
    return role === 'record-branch' || BRANCHES.has(keyword) ? 'record-branch' : 'record-part';
  if (role === 'record-branch' || role === 'branch' || BRANCHES.has(keyword)) return 'branch';
  if (keyword === 'properties') return role === 'record' ? 'field' : 'member';
  if (role !== 'field') return 'value';
  if (keyword === 'items') return 'items';
  return keyword === '$ref' || keyword === 'allOf' ? 'field' : 'value';
}

/** Finds schemas that apply to a value again while they are applied to it, which would never end. */
function cycleFinder(files: SchemaFiles): (node: SchemaNode) => boolean {
  const [open, done] = [new Set<JsonObject>(), new Set<JsonObject>()];
  return function isCyclic(node) {
    const { schema } = node;
    if (open.has(schema)) return true;
    if (done.has(schema)) return false;
    open.add(schema);
    const target = files.referred(node);
    const inPlace = [...subschemas(node)].flatMap((each) => (IN_PLACE.has(each.keyword) ? each.node : []));
    const result = [...(target ? [target] : []), ...inPlace].some(isCyclic);
    open.delete(schema);
    done.add(schema);
    return result;
  };
}
