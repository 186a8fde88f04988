import { invalidQuery } from '../errors/input-errors.js';

/** The places of a filter, by their escaped names. */
export type FilterTree = ReadonlyMap<string, FilterPlace>;

/** A place in a filter: `filter[a][b]` is below `filter[a]`. */
export interface FilterPlace {
  /** The parameter of the place. */
  readonly name: string;
  /** Several values are a list. One may be a text with several, which commas separate. */
  values: readonly string[];
  readonly members: Map<string, FilterPlace>;
}

/**
 * Names of fields in the query of an address. A backslash precedes each of their characters that would be syntax: brackets,
 * commas, backslashes, and a minus at the beginning.
 */
export const escapeName = (name: string): string => name.replace(/[\\[\],]/g, '\\$&').replace(/^-/, '\\-');

export const unescapeName = (text: string): string => text.replace(/\\(.)/gs, '$1');

/** The names of a path, which dots separate. */
export const stepsOf = (path: string): readonly string[] => splitAt('.', path).map(unescapeName);

/** The escaped names in a value of a parameter that is a list. */
export const namesOf = (value: string): string[] => splitAt(',', value);

/** The escaped names in a parameter that is a list, or repeated, as many clients write it. Undefined: the parameter is absent. */
export function listIn(given: URLSearchParams, name: string): readonly string[] | undefined {
  const values = given.getAll(name);
  return values.length === 0 ? undefined : values.flatMap(namesOf);
}

/** The integer from 1 to a maximum that a parameter gives. Throws 400. */
export function readInteger<Fallback>(
  name: string,
  given: string | null,
  fallback: Fallback,
  max: number,
): number | Fallback {
  if (given === null) return fallback;
  const value = /^\d+$/.test(given) && given.length <= String(max).length ? Number(given) : 0;
  const most = max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`;
  if (value < 1 || value > max) throw invalidQuery(name, `must be an integer from 1${most}`);
  return value;
}

/** The value of a parameter with two; undefined: the parameter is absent. Throws 400. */
export function readChoice<Value extends string>(
  name: string,
  given: string | null,
  [one, other]: readonly [Value, Value],
): Value | undefined {
  if (given === null || given === one || given === other) return (given as Value | null) ?? undefined;
  throw invalidQuery(name, `must be ${one} or ${other}`);
}

export const FLAGS = ['true', 'false'] as const;

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

/** The conditions of a query as a tree. Throws 400 for too many, and for a name that has another form. */
export function filterIn(given: URLSearchParams): FilterTree {
  const names = [...new Set(given.keys())].filter(isCondition);
  if (names.length > MAX_CONDITIONS)
    throw invalidQuery('filter', `has more than ${MAX_CONDITIONS} conditions`);
  const root = new Map<string, FilterPlace>();
  for (const name of names) {
    const segments = filterSegments(name);
    if (!segments)
      throw invalidQuery(
        name,
        `must be like filter[field] or filter[field][operator], with at most ${MAX_NESTING} names in brackets`,
      );
    let members = root;
    for (const [at, segment] of segments.entries()) {
      const place = filterName(segments.slice(0, at + 1));
      const node = members.get(segment) ?? { name: place, values: [], members: new Map() };
      members.set(segment, node);
      if (at === segments.length - 1) node.values = given.getAll(name);
      members = node.members;
    }
  }
  return root;
}

/** Whether a parameter is a condition, in whatever form. */
export const isCondition = (name: string): boolean => /^filter(\[|$)/.test(name);
