import type { Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import { type ComparedColumn, comparedColumn, operatorsOf, type Selection } from './condition.js';
import { isCondition, listIn, readInteger, unescapeName } from './query-names.js';
import { type ListContext, readSelection } from './read-list.js';
import type { Direction } from './read-sort.js';
import { type Accessible, requireFieldAccess } from './relations.js';

/** The most keys and aggregates of a request. */
export const MAX_KEYS = 4;
export const MAX_AGGREGATES = 10;
/** The most groups of a response. */
export const MAX_GROUPS = 1000;

const PERIODS = ['hour', 'day', 'week', 'month', 'year'] as const;
export type Period = (typeof PERIODS)[number];
const FUNCTIONS = ['sum', 'avg', 'min', 'max'] as const;
type AggregateFunction = (typeof FUNCTIONS)[number];

/** A value that the records of a group have in common: that of a field, or the hour or day at which a period of a time begins. */
export interface GroupKey {
  /** As requests and responses have it: `status`, `month(created_at)`. */
  readonly name: string;
  readonly field: string;
  readonly column: ComparedColumn;
  readonly period: Period | undefined;
}

/** A value that is computed from the records of a group. */
export interface Aggregate {
  /** As requests and responses have it: `count`, `sum(estimate)`. */
  readonly name: string;
  readonly of:
    | { readonly apply: AggregateFunction; readonly field: string; readonly column: ComparedColumn }
    | undefined;
}

/** The groups of a list as a client requested them. */
export interface GroupRequest {
  readonly selection: Selection;
  readonly keys: readonly GroupKey[];
  readonly aggregates: readonly Aggregate[];
  /** The places of keys and aggregates, those of the keys first. */
  readonly sorts: readonly { readonly place: number; readonly direction: Direction }[];
  /** The most groups, of which the others are left out; undefined: more than MAX_GROUPS are an error. */
  readonly limit: number | undefined;
}

/** Whether a request asks for the groups of a list. */
export const hasGroups = (given: URLSearchParams): boolean => given.has('group') || given.has('aggregate');

const PARAMETERS = ['group', 'aggregate', 'search', 'sort', 'limit'];

/** Reads `group=status,month(created_at)&aggregate=count,sum(estimate)&sort=-count&limit=10`. Throws 400, 403. */
export function readGroups(given: URLSearchParams, records: Accessible, context: ListContext): GroupRequest {
  const { resource } = records;
  const foreign = [...given.keys()].find(
    (name) => !PARAMETERS.includes(name) && !isCondition(name) && !name.startsWith('_'),
  );
  if (foreign !== undefined) throw invalidQuery(foreign, 'cannot be combined with group or aggregate');
  const keys = knownIn(given, 'group', MAX_KEYS, groupKeys(resource));
  const isKey = (name: string) => keys.some((key) => key.name === name);
  const named = knownIn(given, 'aggregate', MAX_AGGREGATES, aggregatesOf(resource));
  const count: Aggregate = { name: isKey('count') ? 'count(*)' : 'count', of: undefined };
  const aggregates = named.length === 0 ? [count] : named;
  for (const { field } of [...keys, ...aggregates.flatMap(({ of }) => of ?? [])])
    requireFieldAccess(records, field);
  const taken = aggregates.find(({ name }) => isKey(name));
  if (taken) throw invalidQuery('aggregate', `has the name of a group, ${taken.name}: send count(*)`);
  const selection = readSelection(given, records, context);
  const names = [...keys, ...aggregates].map(({ name }) => name);
  const sorts = namesIn(given, 'sort', MAX_KEYS + MAX_AGGREGATES).map((key) => {
    const place = names.indexOf(key.replace(/^-/, ''));
    if (place < 0)
      throw invalidQuery('sort', `must be one of ${names.join(', ')}, or have a minus before it`);
    if (keys[place]?.column.isUnordered)
      throw invalidQuery(
        'sort',
        `names ${names[place]}, of which the texts have another order than the values`,
      );
    return { place, direction: key.startsWith('-') ? ('desc' as const) : ('asc' as const) };
  });
  return {
    selection,
    keys,
    aggregates,
    sorts,
    limit: readInteger('limit', given.get('limit'), undefined, MAX_GROUPS),
  };
}

function namesIn(given: URLSearchParams, parameter: string, most: number): string[] {
  const names = [
    ...new Set((listIn(given, parameter) ?? []).map(unescapeName).filter((name) => name !== '')),
  ];
  if (names.length > most) throw invalidQuery(parameter, `has more than ${most} names`);
  return names;
}

/** The keys or aggregates that a parameter names. Throws 400. */
const knownIn = <Value extends { readonly name: string }>(
  given: URLSearchParams,
  parameter: 'group' | 'aggregate',
  most: number,
  values: readonly Value[],
): Value[] =>
  namesIn(given, parameter, most).map((name) => {
    const value = values.find((each) => each.name === name);
    if (value) return value;
    const valid = values.map((each) => each.name).join(', ');
    throw invalidQuery(parameter, `names an unknown ${parameter}, ${name}: there are ${valid}`);
  });

/** The keys by which the records of a collection can be grouped. */
export function groupKeys(resource: Resource): GroupKey[] {
  return [...operatorsOf(resource).keys()].flatMap((field): GroupKey[] => {
    const column = comparedColumn(resource, field)!;
    const isTime =
      column.type === 'timestamptz' ||
      (column.type === 'text' && (column.format === 'date-time' || column.format === 'date'));
    const known = PERIODS.filter((each) => isTime && (each !== 'hour' || column.format !== 'date'));
    const periods = known.map((period) => ({ name: `${period}(${field})`, field, column, period }));
    // Each record has another id, and nearly each another time of its own.
    const isAlone = field === 'id' || column.type === 'timestamptz' || column.type.endsWith('[]');
    const isWhole = field === '_version' || resource.filterable.includes(field);
    return isAlone || !isWhole ? periods : [{ name: field, field, column, period: undefined }, ...periods];
  });
}

/** The values that can be computed from groups of a collection's records. */
export function aggregatesOf(resource: Resource): Aggregate[] {
  const fields = [...operatorsOf(resource).keys()].flatMap((field): Aggregate[] => {
    const column = comparedColumn(resource, field)!;
    const isNumber = column.type === 'double precision' && field !== '_version';
    const isOrdered =
      isNumber ||
      column.type === 'timestamptz' ||
      (column.type === 'text' && !column.isUnordered && resource.filterable.includes(field));
    return FUNCTIONS.filter((each) => (each === 'sum' || each === 'avg' ? isNumber : isOrdered)).map(
      (apply) => ({ name: `${apply}(${field})`, of: { apply, field, column } }),
    );
  });
  return [{ name: 'count', of: undefined }, { name: 'count(*)', of: undefined }, ...fields];
}
