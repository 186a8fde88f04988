/**
 * Names of fields in the query of an address. A backslash precedes each of their characters that would be syntax: brackets,
 * commas, backslashes, and a minus at the beginning.
 */
export const escapeName = (name: string): string => name.replace(/[\\[\],]/g, '\\$&').replace(/^-/, '\\-');

export const unescapeName = (text: string): string => text.replace(/\\(.)/gs, '$1');

/** The names in a list that commas separate, escaped as they are there. */
export function splitNames(text: string): string[] {
  const names: string[] = [];
  let start = 0;
  for (let at = 0; at <= text.length; at++) {
    if (text[at] === '\\') at++;
    else if (at === text.length || text[at] === ',') {
      names.push(text.slice(start, at));
      start = at + 1;
    }
  }
  // A backslash at the end escapes nothing.
  return start <= text.length ? [...names, text.slice(start)] : names;
}

/** The parameter of a condition: `filter[price][gte]`. */
export const conditionName = (field: string, operator = 'eq'): string =>
  `filter[${escapeName(field)}]${operator === 'eq' ? '' : `[${operator}]`}`;

/** Undefined: the name is not like that of a condition. */
export function readConditionName(
  name: string,
): { readonly field: string; readonly operator: string } | undefined {
  const [, field, operator = 'eq'] = /^filter\[((?:\\.|[^\\\]])*)\](?:\[([^\]]*)\])?$/s.exec(name) ?? [];
  return field === undefined ? undefined : { field: unescapeName(field), operator };
}

/**
 * The names in a parameter that is a list, as they are escaped: separated by commas, or repeated, as many clients write it.
 * Undefined: the parameter is absent.
 */
export function listIn(given: URLSearchParams, name: string): readonly string[] | undefined {
  return given.has(name) ? given.getAll(name).flatMap(splitNames) : undefined;
}
