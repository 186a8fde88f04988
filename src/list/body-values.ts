import type { Resource } from '../collection/resource.js';
import { invalidBody, invalidQuery } from '../errors/input-errors.js';
import { escapeToken, isObject, type Json } from '../json.js';
import { LIST_OPERATORS } from './condition.js';
import { COMBINATIONS, escapeName, filterName, isCondition, MAX_NESTING } from './query-names.js';
import { sortNames } from './read-sort.js';

/** Max bytes of a query in a body, and characters of one text of a filter, which are part of an address as well. */
export const MAX_QUERY = 65_536;

/** Members whose lists consist of names. */
const NAMES: readonly string[] = ['sort', 'include', 'group', 'aggregate'];

/**
 * The parameters of an address for those in JSON:
 * {"filter": {"price": {"gte": 10}}, "fields": ["title", {"project.team": ["name"]}], "sort": ["-price"]}. Throws 400.
 */
export function parametersOfBody(value: Json | undefined, resource: Resource): URLSearchParams {
  if (!isObject(value)) throw invalidBody('must be an object', 'type');
  const found = new URLSearchParams();
  const escaped = (name: string) => (key: string) =>
    name === 'sort' ? keyOf(key, resource) : escapeName(key);
  for (const [name, given] of Object.entries(value)) {
    const path = `/${escapeToken(name)}`;
    if (name === 'filter') addFilter(found, given);
    else if (name === 'fields' && Array.isArray(given)) addFields(found, given);
    else if (isCondition(name) || !Array.isArray(given) || !NAMES.includes(name))
      found.append(name, scalarOf(given, path));
    // Without a key, the order is the default.
    else if (name !== 'sort' || given.length > 0) found.append(name, namesIn(given, path, escaped(name)));
  }
  return found;
}

/** The parameters for a filter in JSON. Throws 400. */
export function filterOfBody(filter: Json): URLSearchParams {
  const found = new URLSearchParams();
  addFilter(found, filter);
  return found;
}

function addFields(found: URLSearchParams, given: readonly Json[]): void {
  const own = given.filter((each) => !isObject(each));
  const related = given.filter(isObject).flatMap((each) => Object.entries(each));
  if (own.length > 0 || related.length === 0) found.append('fields', namesIn(own, '/fields'));
  for (const [path, names] of related) {
    const pointer = `/fields/${escapeToken(path)}`;
    if (!Array.isArray(names)) throw invalidBody('must be a list of fields', 'type', pointer);
    found.append(`fields[${escapeName(path)}]`, namesIn(names, pointer));
  }
}

function addFilter(found: URLSearchParams, filter: Json): void {
  if (!isObject(filter)) throw invalidBody('must be an object', 'type', '/filter');
  for (const [name, given] of Object.entries(filter))
    addPlace(found, [bodySegment(name)], given, `/filter/${escapeToken(name)}`);
}

/** Adds what is at a place of a filter: a value, a list of values, numbered alternatives, or more places. */
function addPlace(found: URLSearchParams, segments: readonly string[], given: Json, pointer: string): void {
  if (segments.length > MAX_NESTING)
    throw invalidBody(`must have at most ${MAX_NESTING} names within one another`, 'maxItems', pointer);
  const last = segments.at(-1)!;
  const name = filterName(segments.length === 2 && last === 'eq' ? segments.slice(0, 1) : segments);
  if (given === null || typeof given !== 'object') return found.append(name, scalarOf(given, pointer));
  if (Array.isArray(given) && !(last === 'and' || last === 'or')) {
    const values = listOf(name, last, given, pointer);
    for (const value of values) found.append(name, value);
    // One value alone would be split at its commas.
    if (values.length === 1 && values[0]!.includes(',')) found.append(name, values[0]!);
    return;
  }
  const members = isObject(given) ? Object.entries(given) : [...given.entries()];
  if (members.length === 0) {
    if (last !== 'some' && last !== 'none')
      throw invalidBody('must have a condition, or an operator, as in {"eq": 1}', 'minProperties', pointer);
    found.append(name, 'true');
  }
  for (const [key, member] of members)
    addPlace(
      found,
      [...segments, typeof key === 'number' ? String(key) : bodySegment(key)],
      member as Json,
      `${pointer}/${escapeToken(String(key))}`,
    );
}

/** A name of a body in brackets: `or` combines conditions, and `\or` is a field. */
const bodySegment = (name: string): string =>
  COMBINATIONS.has(name) || COMBINATIONS.has(name.replace(/^\\/, '')) ? name : escapeName(name);

/** A key of an order. A field whose own name begins with a minus is found if there is none without it. */
function keyOf(key: string, resource: Resource): string {
  if (!key.startsWith('-')) return escapeName(key);
  const sortable = sortNames(resource);
  const isName = sortable.includes(key) && !sortable.includes(key.slice(1));
  return isName ? escapeName(key) : `-${escapeName(key.slice(1))}`;
}

function listOf(name: string, operator: string, operand: readonly Json[], pointer: string): string[] {
  if (!LIST_OPERATORS.has(operator)) throw noValue(pointer);
  if (operand.length === 0) throw invalidBody('must have at least one value', 'minItems', pointer);
  if (operator === 'between' && operand.length !== 2)
    throw invalidQuery(name, 'must have two values, the least and the greatest');
  return operand.map((each) => scalarOf(each, pointer));
}

/** Names as one text. */
const namesIn = (given: readonly Json[], pointer: string, escaped = escapeName): string =>
  given.map((each) => escaped(scalarOf(each, pointer))).join(',');

/** A text, a number or a boolean as a text. Throws 400 for another value at a JSON Pointer. */
function scalarOf(value: Json, pointer: string): string {
  if (typeof value === 'object') throw noValue(pointer);
  if (typeof value === 'string' && value.length > MAX_QUERY)
    throw invalidBody(`must have at most ${MAX_QUERY} characters`, 'maxLength', pointer);
  return String(value);
}

const noValue = (pointer: string) =>
  invalidBody('must be a text, a number or true or false', 'type', pointer);
