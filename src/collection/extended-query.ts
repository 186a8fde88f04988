import { invalidQuery } from '../errors/query-errors.js';
import { writeOnlyNames } from '../validation/validation.js';
import { type Condition, readFilter } from './filter.js';
import type { Direction } from './list-orders.js';
import type { Resource } from './resource.js';

export interface SortKey {
  readonly field: string;
  readonly direction: Direction;
}

/** What a list can be queried for besides the five parameters of the specification. */
export interface ExtendedQuery {
  readonly conditions: readonly Condition[];
  /** Undefined: the order that `sort` and `order` name. */
  readonly sorts: readonly SortKey[] | undefined;
  /** The fields of each record; undefined: all. */
  readonly fields: readonly string[] | undefined;
  /** The related records of each record, by name. */
  readonly include: readonly string[];
  readonly count: 'exact' | 'none';
}

const MAX_SORTS = 5;
const MAX_FIELDS = 50;
const MAX_INCLUDES = 5;

/** The parameters besides those of the specification. */
export const EXTENDED_PARAMETERS = ['filter', 'fields', 'include', 'count'] as const;

/** Undefined: the query uses the parameters of the specification alone. Throws 400. */
export function readExtended(given: URLSearchParams, resource: Resource): ExtendedQuery | undefined {
  const names = [...given.keys()];
  const sort = given.get('sort') ?? '';
  const isExtended =
    names.some((name) => (EXTENDED_PARAMETERS as readonly string[]).includes(name.split('[', 1)[0]!)) ||
    /^-|,/.test(sort);
  if (!isExtended) return undefined;
  return {
    conditions: readFilter(given, resource),
    sorts: /^-|,/.test(sort) ? readSorts(sort, resource) : undefined,
    fields: readFields(given.get('fields'), resource),
    include: readInclude(given.get('include'), resource),
    count: readCount(given.get('count')),
  };
}

/** `-price,title`: descending prices, and for equal prices ascending titles. */
export function readSorts(text: string, { sortable }: Resource): SortKey[] {
  const keys = text.split(',');
  if (keys.length > MAX_SORTS) throw invalidQuery('sort', `has more than ${MAX_SORTS} fields`);
  const valid = ['created_at', ...sortable];
  return keys.map((key) => {
    const field = key.replace(/^-/, '');
    if (!valid.includes(field))
      throw invalidQuery('sort', `names no field that can be sorted by: there are ${valid.join(', ')}`);
    return { field, direction: key.startsWith('-') ? 'desc' : 'asc' };
  });
}

const OWN_FIELDS = ['id', 'created_at', 'updated_at', '_version'];

/** Declared fields, unless others are permitted as well. */
export function readFields(text: string | null, { schema }: Resource): string[] | undefined {
  if (text === null) return undefined;
  const names = text.split(',').filter((name) => name !== '');
  if (names.length > MAX_FIELDS) throw invalidQuery('fields', `has more than ${MAX_FIELDS} fields`);
  const hidden = new Set(writeOnlyNames(schema));
  const valid = [...OWN_FIELDS, ...Object.keys(schema.properties).filter((name) => !hidden.has(name))];
  const unknown = names.find((name) => !valid.includes(name));
  if (unknown !== undefined && (schema.additionalProperties === false || hidden.has(unknown)))
    throw invalidQuery('fields', `names an unknown field, ${unknown}: there are ${valid.join(', ')}`);
  return names;
}

/** Names of references without their `Id`, and of collections that refer to this one. */
export function relationsOf({ references, referredBy }: Resource): string[] {
  return [
    ...references.map(({ field }) => relationName(field)),
    ...referredBy.map(({ collection }) => collection),
  ];
}

export const relationName = (field: string) => field.replace(/(?<=.)(Id|_id)$/, '');

export function readInclude(text: string | null, resource: Resource): string[] {
  if (text === null) return [];
  const names = [...new Set(text.split(',').filter((name) => name !== ''))];
  if (names.length > MAX_INCLUDES) throw invalidQuery('include', `has more than ${MAX_INCLUDES} names`);
  const valid = relationsOf(resource);
  const unknown = names.find((name) => !valid.includes(name));
  if (unknown !== undefined)
    throw invalidQuery(
      'include',
      `names no relation, ${unknown}: there are ${valid.length === 0 ? 'none' : valid.join(', ')}`,
    );
  return names;
}

function readCount(text: string | null): 'exact' | 'none' {
  if (text === null || text === 'exact') return 'exact';
  if (text === 'none') return 'none';
  throw invalidQuery('count', 'must be exact or none');
}
