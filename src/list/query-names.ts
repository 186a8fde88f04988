import { invalidQuery } from '../errors/input-errors.js';
import type { FilterPlace, FilterTree, Given, QueryValues, Value } from '../http/query-values.js';

/**
 * Names of fields in the query of an address. A backslash precedes each of their characters that would be syntax: brackets,
 * commas, backslashes, and a minus at the beginning.
 */
export const escapeName = (name: string): string => name.replace(/[\\[\],]/g, '\\$&').replace(/^-/, '\\-');

export const unescapeName = (text: string): string => text.replace(/\\(.)/gs, '$1');

/** A name in a list: of an address or a text with its escapes, of a list in JSON as it is. */
export interface Name {
  readonly text: string;
  readonly isEscaped: boolean;
}

export const nameOf = ({ text, isEscaped }: Name): string => (isEscaped ? unescapeName(text) : text);

/** The names of a path, which dots separate. */
export const stepsOf = ({ text, isEscaped }: Name): readonly string[] =>
  isEscaped ? splitAt('.', text).map(unescapeName) : text.split('.');

/** The names in a value of a parameter that is a list. */
export const namesOf = (given: Given): Name[] =>
  typeof given === 'object'
    ? given.map((text) => ({ text, isEscaped: false }))
    : splitAt(',', String(given)).map((text) => ({ text, isEscaped: true }));

/** The names in a parameter that is a list, or repeated, as many clients write it. Undefined: the parameter is absent. */
export function listIn(given: QueryValues, name: string): readonly Name[] | undefined {
  const values = given.all(name);
  return values.length === 0 ? undefined : values.flatMap(namesOf);
}

/** The first value of a parameter as a text; null: the parameter is absent. */
export function textIn(given: QueryValues, name: string): string | null {
  const [value] = given.all(name);
  return value === undefined ? null : String(value);
}

/** An integer from 1 to a maximum, of which a text has at most as many digits; undefined: another value. */
function integerOf(given: Given, max: number): number | undefined {
  const isText = typeof given === 'string' && /^\d+$/.test(given) && given.length <= String(max).length;
  const number = isText ? Number(given) : given;
  return typeof number === 'number' && Number.isInteger(number) && number >= 1 && number <= max
    ? number
    : undefined;
}

/** The integer from 1 to a maximum that a parameter gives. Throws 400. */
export function readInteger<Fallback>(
  name: string,
  given: Given | undefined | null,
  fallback: Fallback,
  max: number,
): number | Fallback {
  if (given === undefined || given === null) return fallback;
  const value = integerOf(given, max);
  const most = max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`;
  if (value === undefined) throw invalidQuery(name, `must be an integer from 1${most}`);
  return value;
}

/** The names between separators without a backslash before them, escaped as they are there. */
function splitAt(separator: ',' | '.', text: string): string[] {
  const names: string[] = [];
  let start = 0;
  for (let at = 0; at <= text.length; at++) {
    if (text[at] === '\\') at++;
    else if (at === text.length || text[at] === separator) {
      names.push(text.slice(start, at));
      start = at + 1;
    }
  }
  // A backslash at the end escapes nothing.
  return start <= text.length ? [...names, text.slice(start)] : names;
}

/** Names in a filter that combine conditions. A backslash precedes one of them that is the name of a field. */
export const COMBINATIONS: ReadonlySet<string> = new Set(['and', 'or', 'not']);

/** A name in the brackets of a filter. */
export const filterSegment = (name: string): string =>
  COMBINATIONS.has(name) ? `\\${name}` : escapeName(name);

/** The parameter of names in brackets, which are escaped as filterSegment does. */
export const filterName = (segments: readonly string[]): string =>
  `filter${segments.map((segment) => `[${segment}]`).join('')}`;

/** The parameter of a condition: `filter[price][gte]`. */
export const conditionName = (field: string, operator = 'eq'): string =>
  filterName([filterSegment(field), ...(operator === 'eq' ? [] : [operator])]);

/** The most names in the brackets of one parameter. */
export const MAX_NESTING = 24;

/** The names in brackets of a parameter, escaped as they are there. Undefined: the parameter has another form. */
export function filterSegments(name: string): readonly string[] | undefined {
  const rest = name.slice('filter'.length);
  const segments = [...rest.matchAll(/\[((?:\\.|[^\\\]])*)\]/gsy)].map(([, segment]) => segment!);
  const length = segments.reduce((sum, segment) => sum + segment.length + 2, 0);
  return segments.length > 0 && length === rest.length && segments.length <= MAX_NESTING
    ? segments
    : undefined;
}

const MAX_CONDITIONS = 50;

/** A condition as a query names it. */
export interface NamedCondition {
  readonly name: string;
  /** Undefined: the name has another form. */
  readonly segments: readonly string[] | undefined;
  readonly values: readonly Value[];
  readonly isList: boolean;
}

/** The conditions of a query as a tree. Throws 400 for too many, and for a name that has another form. */
export function filterTree(conditions: readonly NamedCondition[]): FilterTree {
  interface Growing extends FilterPlace {
    values: readonly Value[];
    isList: boolean;
    readonly members: Map<string, Growing>;
  }
  if (conditions.length > MAX_CONDITIONS)
    throw invalidQuery('filter', `has more than ${MAX_CONDITIONS} conditions`);
  const root = new Map<string, Growing>();
  for (const { name, segments, values, isList } of conditions) {
    if (!segments)
      throw invalidQuery(
        name,
        `must be like filter[field] or filter[field][operator], with at most ${MAX_NESTING} names in brackets`,
      );
    let members = root;
    for (const [at, segment] of segments.entries()) {
      const place = filterName(segments.slice(0, at + 1));
      const node = members.get(segment) ?? { name: place, values: [], isList: false, members: new Map() };
      members.set(segment, node);
      if (at === segments.length - 1) Object.assign(node, { values, isList });
      members = node.members;
    }
  }
  return root;
}

/** The parameters in the query of an address. */
export function valuesOfAddress(query: string | URLSearchParams): QueryValues {
  const given = typeof query === 'string' ? new URLSearchParams(query) : query;
  const names = [...new Set(given.keys())];
  return {
    isBody: false,
    names,
    all: (name) => given.getAll(name),
    filter: () => filterIn(given, names),
    address: () => given,
  };
}

function filterIn(given: URLSearchParams, names: readonly string[]): FilterTree {
  return filterTree(
    names.filter(isCondition).map((name) => {
      const values = given.getAll(name);
      return { name, segments: filterSegments(name), values, isList: values.length > 1 };
    }),
  );
}

/** Whether a parameter is a condition, in whatever form. */
export const isCondition = (name: string): boolean => /^filter(\[|$)/.test(name);
