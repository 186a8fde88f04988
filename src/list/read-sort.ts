import { perResource, RANK, type Resource, type SortColumn } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import { type Access, hides, OWN_COLUMNS } from './condition.js';
import { unescapeName } from './query-names.js';
import { type Accessible, type Others, type Related, relatedOf, requireFieldAccess } from './relations.js';

export type Direction = 'asc' | 'desc';

export interface SortKey {
  /** The name of a member, after that of a relation and a dot if it is one of the related record: `project.name`. */
  readonly field: string;
  readonly direction: Direction;
  /** The related record whose member it is. */
  readonly related?: RelatedRecord;
}

/** The record to which a field refers. */
export interface RelatedRecord {
  readonly other: Resource;
  /** The column that refers to it, and whether records may have none. */
  readonly own: SortColumn;
  /** The column of the other record. */
  readonly column: SortColumn;
}

const MAX_SORTS = 5;
/** The most characters of an unknown name in a message. */
const MAX_SHOWN = 100;

/** Whether a name in an order means the relevance. */
export const isRelevance = (resource: Resource, name: string): boolean => resource.sorts.get(name) === RANK;

export const isByRelevance = (resource: Resource, sorts: readonly SortKey[]): boolean =>
  sorts.some(({ field }) => isRelevance(resource, field));

/** A member by which a list can be sorted: its own name, and the relation if it is one of a related record. */
interface Sortable {
  readonly name: string;
  readonly relation?: Related;
}

/** The members by which a list can be sorted: those of its records, and those of the records to which these refer. */
const sortablesOf = perResource((resource): ReadonlyMap<string, Sortable> => {
  const related = relatedOf(resource).flatMap((relation): [string, Sortable][] => {
    const reference = resource.references.find(({ field }) => field === relation.field);
    return (reference?.sorts ?? []).map((name) => [`${relation.name}.${name}`, { name, relation }]);
  });
  const own = [...resource.sorts.keys()].map((name): [string, Sortable] => [name, { name }]);
  // The own members come first, and have their names.
  return new Map([...own, ...related.filter(([name]) => !resource.sorts.has(name))]);
});

/** Whether a caller may read a field of all records. */
const showsOfAll = (access: Access | undefined, field: string): boolean =>
  !access ||
  access.grants.some(
    ({ conditions, fields }) =>
      conditions.length === 0 && (!fields || OWN_COLUMNS.has(field) || fields.includes(field)),
  );

/** The names by which a list can be sorted, its own members first. */
export const sortNames = (resource: Resource): readonly string[] => [...sortablesOf(resource).keys()];

/** The keys that an order can have, and with a minus those of descending orders. */
export const sortKeysOf = (resource: Resource, nameOf = (field: string) => field): string[] =>
  sortNames(resource).flatMap((field) =>
    isRelevance(resource, field) ? [field] : [nameOf(field), `-${nameOf(field)}`],
  );

/** `-price` and `project.name`: descending prices, and for equal prices ascending names. Throws 400, 403. */
export function readSorts(names: readonly string[], records: Accessible, others?: Others): SortKey[] {
  if (names.length > MAX_SORTS) throw invalidQuery('sort', `has more than ${MAX_SORTS} fields`);
  return names.map((name) => {
    const key = sortKeyOf(name, records, others);
    if (key) return key;
    const needed = /^-?updated_at$/.test(name)
      ? 'needs an index: "index": ["updated_at"] in x-collection of the declaration'
      : `names ${unescapeName(name).slice(0, MAX_SHOWN)}, which is no field that can be sorted by`;
    throw invalidQuery('sort', `${needed}: there are ${sortNames(records.resource).join(', ')}`);
  });
}

/** The key of a name; undefined: the list cannot be sorted by it. Without `others`, no relation is followed. Throws 400, 403. */
export function sortKeyOf(name: string, records: Accessible, others?: Others): SortKey | undefined {
  const { resource } = records;
  const isDescending = name.startsWith('-');
  const field = unescapeName(isDescending ? name.slice(1) : name);
  // The most relevant records are first: that order has no other direction.
  if (isRelevance(resource, field)) return isDescending ? undefined : { field, direction: 'desc' };
  const sortable = sortablesOf(resource).get(field);
  if (sortable) requireFieldAccess(records, sortable.relation?.field ?? field);
  const key = { field, direction: isDescending ? 'desc' : 'asc' } as const;
  if (!sortable?.relation) return sortable && key;
  if (!others) return undefined;
  const { resource: other, access } = others(sortable.relation.collection);
  // The order would say something of records and fields that the caller may not read.
  if (!showsOfAll(access, sortable.name))
    throw invalidQuery('sort', `names ${field}, which your access rules do not show of all records`);
  const own = resource.sorts.get(sortable.relation.field!)!;
  const isNullable = own.isNullable || hides(records.access, sortable.relation.field!);
  return { ...key, related: { other, own: { ...own, isNullable }, column: other.sorts.get(sortable.name)! } };
}
