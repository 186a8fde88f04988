import { invalidBody, invalidQuery } from '../errors/input-errors.js';
import { escapeToken, isObject, type Json } from '../json.js';
import { LIST_OPERATORS } from './condition.js';
import { MAX_VALUES } from './filter-values.js';
import { COMBINATIONS, escapeName, filterName, MAX_NESTING } from './query-names.js';

/** Max bytes of a query in a body, and characters of one text of a filter: its conditions become parameters of an address. */
export const MAX_QUERY = 65_536;

/** Adds a filter in JSON to the parameters of an address. Throws 400. */
export function addFilter(parameters: URLSearchParams, filter: Json): void {
  if (!isObject(filter)) throw invalidBody('must be an object', 'type', '/filter');
  for (const [name, given] of Object.entries(filter))
    addConditions(parameters, [bodySegment(name)], given, `/filter/${escapeToken(name)}`);
}

/** A name of a body in brackets: `or` combines conditions, and `\or` is a field. */
const bodySegment = (name: string): string =>
  COMBINATIONS.has(name) || COMBINATIONS.has(name.replace(/^\\/, '')) ? name : escapeName(name);

/** Adds what is at a place of a filter: a value, a list of values, numbered alternatives, or more places. */
function addConditions(
  parameters: URLSearchParams,
  segments: readonly string[],
  given: Json,
  pointer: string,
): void {
  if (segments.length > MAX_NESTING)
    throw invalidBody(`must have at most ${MAX_NESTING} names within one another`, 'maxItems', pointer);
  const last = segments.at(-1)!;
  const name = filterName(segments.length === 2 && last === 'eq' ? segments.slice(0, 1) : segments);
  if (given === null || typeof given !== 'object') return parameters.append(name, textOf(given, pointer));
  if (Array.isArray(given) && !(last === 'and' || last === 'or'))
    return addValues(parameters, name, last, given, pointer);
  const members = isObject(given) ? Object.entries(given) : [...given.entries()];
  if (members.length === 0) {
    if (last !== 'some' && last !== 'none')
      throw invalidBody('must have a condition, or an operator, as in {"eq": 1}', 'minProperties', pointer);
    return parameters.append(name, 'true');
  }
  for (const [key, member] of members)
    addConditions(
      parameters,
      [...segments, typeof key === 'number' ? String(key) : bodySegment(key)],
      member as Json,
      `${pointer}/${escapeToken(String(key))}`,
    );
}

function addValues(
  parameters: URLSearchParams,
  name: string,
  operator: string,
  operand: readonly Json[],
  pointer: string,
): void {
  if (!LIST_OPERATORS.has(operator)) textOf(operand as Json, pointer);
  if (operand.length === 0) throw invalidBody('must have at least one value', 'minItems', pointer);
  if (operand.length > MAX_VALUES) throw invalidQuery(name, `has more than ${MAX_VALUES} values`);
  const values = operand.map((each) => textOf(each, pointer));
  for (const text of values) parameters.append(name, text);
  // One value alone is split at its commas.
  if (values.length === 1 && values[0]!.includes(',')) parameters.append(name, values[0]!);
}

/** A text, a number or a boolean as text. Throws 400 for another value at a JSON Pointer. */
export function textOf(value: Json, path: string): string {
  if (typeof value === 'object') throw invalidBody('must be a text, a number or true or false', 'type', path);
  const text = String(value);
  if (text.length > MAX_QUERY)
    throw invalidBody(`must have at most ${MAX_QUERY} characters`, 'maxLength', path);
  return text;
}
