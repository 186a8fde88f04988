import { comparable, type Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import { unescapeName } from './query-names.js';

export type Direction = 'asc' | 'desc';

export interface SortKey {
  readonly field: string;
  readonly direction: Direction;
}

const MAX_SORTS = 5;

/** Whether a sort is the name of a field alone, whose direction is in `order`. */
export const isSingleSort = (names: readonly string[]): boolean =>
  names.length === 1 && !names[0]!.startsWith('-');

/** `-price` and `title`: descending prices, and for equal prices ascending titles. Throws 400. */
export function readSorts(names: readonly string[], resource: Resource): SortKey[] {
  const valid = sortableNames(resource);
  const keys = sortKeysIn(names);
  if (keys.length > MAX_SORTS) throw invalidQuery('sort', `has more than ${MAX_SORTS} fields`);
  if (!keys.every(({ field }) => valid.includes(field)))
    throw invalidQuery('sort', `names no field that can be sorted by: there are ${valid.join(', ')}`);
  return keys;
}

/** As readSorts; undefined: the names as a whole are not valid. */
export function findSorts(names: readonly string[], resource: Resource): SortKey[] | undefined {
  const valid = sortableNames(resource);
  const keys = sortKeysIn(names);
  return keys.length <= MAX_SORTS && keys.every(({ field }) => valid.includes(field)) ? keys : undefined;
}

const sortableNames = ({ sortable }: Resource): string[] => ['created_at', ...sortable];

const sortKeysIn = (names: readonly string[]): SortKey[] =>
  names.map((key) => ({
    field: unescapeName(key.replace(/^-/, '')),
    direction: key.startsWith('-') ? 'desc' : 'asc',
  }));

/** The SQL of an order by one field; `$.` stands for the relation. Records without the field are last in both directions. */
export function orderSql(resource: Resource, sort: string, direction: Direction): string | undefined {
  const column = resource.columns.get(sort);
  if (column === undefined) return undefined;
  const nulls = resource.schema.required.includes(sort) ? '' : ' nulls last';
  return `${comparable(column, '$.')} ${direction}${nulls}`;
}
