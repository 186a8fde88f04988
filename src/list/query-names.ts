import type { Problem } from '../errors/problem.js';

/**
 * Names of fields in the query of an address. A backslash precedes each of their characters that would be syntax: brackets,
 * commas, backslashes, and a minus at the beginning.
 */
export const escapeName = (name: string): string => name.replace(/[\\[\],]/g, '\\$&').replace(/^-/, '\\-');

export const unescapeName = (text: string): string => text.replace(/\\(.)/gs, '$1');

/** The names in a list that commas separate, escaped as they are there. */
export const splitNames = (text: string): string[] => splitAt(',', text);

/** The names between separators without a backslash before them, escaped as they are there. */
export function splitAt(separator: ',' | '.', text: string): string[] {
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

/** A place in the parameters of a filter, which are a tree: `filter[a][b]` is below `filter[a]`. */
export interface Node {
  /** The parameter of the place. */
  readonly name: string;
  readonly values: readonly string[];
  /** The places below it, by their escaped names. */
  readonly members: ReadonlyMap<string, Node>;
}

/** The parameters of a filter as a tree. `invalid` makes the error for a parameter of another form. */
export function filterTree(
  names: readonly string[],
  given: URLSearchParams,
  invalid: (name: string) => Problem,
): ReadonlyMap<string, Node> {
  interface Growing extends Node {
    values: readonly string[];
    readonly members: Map<string, Growing>;
  }
  const root = new Map<string, Growing>();
  for (const name of names) {
    const segments = filterSegments(name);
    if (!segments) throw invalid(name);
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

/**
 * The names in a parameter that is a list, as they are escaped: separated by commas, or repeated, as many clients write it.
 * Undefined: the parameter is absent.
 */
export function listIn(given: URLSearchParams, name: string): readonly string[] | undefined {
  return given.has(name) ? given.getAll(name).flatMap(splitNames) : undefined;
}
