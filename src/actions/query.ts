import { JSON_TYPE } from '../collection/representation.js';
import type { Resource } from '../collection/resource.js';
import { invalidBody, invalidQuery, payloadTooLarge } from '../errors/input-errors.js';
import type { Action } from '../http/router.js';
import { MAX_TARGET, requireParameters } from '../http/router.js';
import { escapeToken, isObject, type Json } from '../json.js';
import { LIST_OPERATORS } from '../list/condition.js';
import { MAX_VALUES } from '../list/filter-values.js';
import { isSingleSort } from '../list/order.js';
import { COMBINATIONS, escapeName, filterName, MAX_NESTING, splitNames } from '../list/query-names.js';
import { keysetParameters, listParameters } from '../list/read-list.js';

/** Max bytes of a query in a body, and characters of one text of a filter: its conditions become parameters of an address. */
export const MAX_QUERY = 65_536;

/**
 * Lists what a query in the body selects, as `list` does for one in the address (QUERY, RFC 10008): 200, 400, 406, 413,
 * 415, 503. `Location` is the address of the same query by GET, unless there is none, or it would be longer than a request may
 * have it.
 */
export function queryBy(list: Action, resource: Resource): Action {
  const offer = { parameters: listParameters(resource), keysetParameters: keysetParameters(resource) };
  return {
    run: async (request) => {
      if ((request.body?.bytes.length ?? 0) > MAX_QUERY) throw payloadTooLarge(MAX_QUERY);
      const parameters = parametersOf(request.body?.value, resource);
      requireParameters(offer, parameters, request.version);
      const reply = await list.run({ ...request, body: undefined, method: 'GET', parameters });
      const query = String(parameters);
      const location = `${request.prefix}${request.path}${query === '' ? '' : `?${query}`}`;
      const isEqual =
        !resource.hasOneSort ||
        request.version.lists === 'keyset' ||
        isSingleSort(splitNames(parameters.get('sort') ?? 'created_at'));
      const address = isEqual && location.length <= MAX_TARGET ? ['Location', location] : [];
      return { ...reply, headers: [...reply.headers, ...address, 'Accept-Query', JSON_TYPE] };
    },
  };
}

/** Members whose lists consist of names, which are in a body as they are. */
const NAMES: readonly string[] = ['sort', 'include', 'group', 'aggregate'];

/** The parameters of the address for a query: {"filter": {"price": {"gte": 10}}, "sort": ["-price"], ...}. */
function parametersOf(value: Json | undefined, resource: Resource): URLSearchParams {
  if (!isObject(value)) throw invalidBody('must be an object', 'type');
  const parameters = new URLSearchParams();
  for (const [name, given] of Object.entries(value)) {
    const path = `/${escapeToken(name)}`;
    if (name === 'filter') addFilter(parameters, given);
    else if (name === 'fields' && Array.isArray(given)) addFields(parameters, given);
    else if (!Array.isArray(given) || !NAMES.includes(name)) parameters.append(name, textOf(given, path));
    // Without a key, the order is the default.
    else if (name !== 'sort' || given.length > 0) {
      const escaped = name === 'sort' ? (key: string) => escapeKey(key, resource) : escapeName;
      parameters.append(name, given.map((each) => escaped(textOf(each, path))).join(','));
    }
  }
  return parameters;
}

/** Adds a list of fields in JSON to the parameters of an address: ["title", {"project.team": ["name"]}]. Throws 400. */
export function addFields(parameters: URLSearchParams, given: readonly Json[]): void {
  const listed = (names: readonly Json[], pointer: string) =>
    names.map((each) => escapeName(textOf(each, pointer))).join(',');
  const own = given.filter((each) => !isObject(each));
  const related = given.filter(isObject).flatMap((each) => Object.entries(each));
  if (own.length > 0 || related.length === 0) parameters.append('fields', listed(own, '/fields'));
  for (const [path, names] of related) {
    const pointer = `/fields/${escapeToken(path)}`;
    if (!Array.isArray(names)) throw invalidBody('must be a list of fields', 'type', pointer);
    parameters.append(`fields[${escapeName(path)}]`, listed(names, pointer));
  }
}

/** A field, or with a minus its descending order. A field whose own name begins with a minus is found if there is none without it. */
function escapeKey(key: string, { sortable }: Resource): string {
  const field = key.replace(/^-/, '');
  const isDescending = key !== field && (!sortable.includes(key) || sortable.includes(field));
  return isDescending ? `-${escapeName(field)}` : escapeName(key);
}

/** Adds a filter in JSON to the parameters of an address. Throws 400. */
function addFilter(parameters: URLSearchParams, filter: Json): void {
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
      throw invalidBody('must have an operator, as in {"eq": 1}', 'minProperties', pointer);
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

function textOf(value: Json, path: string): string {
  if (typeof value === 'object') throw invalidBody('must be a text, a number or true or false', 'type', path);
  const text = String(value);
  if (text.length > MAX_QUERY)
    throw invalidBody(`must have at most ${MAX_QUERY} characters`, 'maxLength', path);
  return text;
}
