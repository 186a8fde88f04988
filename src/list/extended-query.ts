import type { Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/query-errors.js';
import { writeOnlyNames } from '../validation/validation.js';
import { type Condition, readFilter } from './filter.js';
import type { Direction } from './list-orders.js';
import { splitNames, unescapeName } from './query-names.js';

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

/** A query that selects everything, as a list without it does. */
export const PLAIN_QUERY: ExtendedQuery = {
  conditions: [],
  sorts: undefined,
  fields: undefined,
  include: [],
  count: 'exact',
};

const MAX_SORTS = 5;
const MAX_FIELDS = 50;
const MAX_INCLUDES = 5;

/** The parameters besides those of the specification. */
export const EXTENDED_PARAMETERS = ['filter', 'fields', 'include', 'count'] as const;

/** Undefined: the query uses the parameters of the specification alone. `sorts`: the keys of its order. Throws 400. */
export function readExtended(
  given: URLSearchParams,
  resource: Resource,
  sorts: readonly SortKey[] | undefined,
): ExtendedQuery | undefined {
  const names = [...given.keys()];
  const isExtended =
    sorts !== undefined ||
    names.some((name) => (EXTENDED_PARAMETERS as readonly string[]).includes(name.split('[', 1)[0]!));
  if (!isExtended) return undefined;
  return {
    conditions: readFilter(given, resource),
    sorts,
    fields: readFields(listIn(given, 'fields'), resource),
    include: readInclude(listIn(given, 'include'), resource),
    count: readCount(given.get('count')),
  };
}

/**
 * The names in a parameter that is a list, as they are escaped: separated by commas, or repeated, as many clients write it.
 * Undefined: the parameter is absent.
 */
export function listIn(given: URLSearchParams, name: string): readonly string[] | undefined {
  return given.has(name) ? given.getAll(name).flatMap(splitNames) : undefined;
}

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

const OWN_FIELDS = ['id', 'created_at', 'updated_at', '_version'];

/** Declared fields, unless others are permitted as well. */
export function readFields(given: readonly string[] | undefined, { schema }: Resource): string[] | undefined {
  if (given === undefined) return undefined;
  const names = given.filter((name) => name !== '').map(unescapeName);
  if (names.length > MAX_FIELDS) throw invalidQuery('fields', `has more than ${MAX_FIELDS} fields`);
  const hidden = new Set(writeOnlyNames(schema));
  const valid = [...OWN_FIELDS, ...Object.keys(schema.properties).filter((name) => !hidden.has(name))];
  const unknown = names.find((name) => !valid.includes(name));
  if (unknown !== undefined && (schema.additionalProperties === false || hidden.has(unknown)))
    throw invalidQuery('fields', `names an unknown field, ${unknown}: there are ${valid.join(', ')}`);
  return names;
}

/** Records that are related to those of a collection. */
export interface Related {
  readonly name: string;
  readonly collection: string;
  /** The field that refers to the other collection; undefined: fields of the other one refer to this one. */
  readonly field: string | undefined;
  /** The fields of the other collection that refer to this one; empty: `field` refers to the other one. */
  readonly referring: readonly string[];
}

/** The name of a reference: its field without `Id`. */
export const relationName = (field: string): string => field.replace(/(?<=.)(Id|_id)$/, '');

/**
 * The relations of a collection. A reference is called as its field without `Id`, or as a whole if another relation has that
 * name. Records that refer to one are called as their collection, or if a field has that name, also as their references.
 */
export function relatedOf({ references, referredBy }: Resource): Related[] {
  const collections = [...new Set(referredBy.map(({ collection }) => collection))];
  const short = references.map(({ field }) => relationName(field));
  const isFree = (name: string) =>
    !collections.includes(name) && short.filter((each) => each === name).length === 1;
  const own = references.map(({ field, to }, index): Related => {
    const name = isFree(short[index]!) ? short[index]! : field;
    return { name, collection: to, field, referring: [] };
  });
  const others = collections.map((collection): Related => {
    const referring = referredBy.filter((each) => each.collection === collection).map(({ field }) => field);
    const isInUse = own.some(({ name }) => name === collection);
    const name = isInUse ? `${collection} by ${referring.join(', ')}` : collection;
    return { name, collection, field: undefined, referring };
  });
  return [...own, ...others];
}

export const relationsOf = (resource: Resource): string[] => relatedOf(resource).map(({ name }) => name);

export function readInclude(given: readonly string[] | undefined, resource: Resource): string[] {
  if (given === undefined) return [];
  const names = [...new Set(given.filter((name) => name !== '').map(unescapeName))];
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
