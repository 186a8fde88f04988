import { JSON_TYPE } from '../collection/representation.js';
import type { Resource } from '../collection/resource.js';
import { invalidBody, invalidQuery, payloadTooLarge } from '../errors/input-errors.js';
import type { Action } from '../http/router.js';
import { MAX_TARGET, requireParameters } from '../http/router.js';
import { escapeToken, isObject, type Json } from '../json.js';
import { MAX_VALUES } from '../list/filter.js';
import { isSingleSort } from '../list/order.js';
import { conditionName, escapeName, splitNames } from '../list/query-names.js';
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

/** Members whose lists consist of names of fields or relations, which are in a body as they are. */
const NAMES: readonly string[] = ['sort', 'fields', 'include'];

/** The parameters of the address for a query: {"filter": {"price": {"gte": 10}}, "sort": ["-price"], ...}. */
function parametersOf(value: Json | undefined, resource: Resource): URLSearchParams {
  if (!isObject(value)) throw invalidBody('must be an object', 'type');
  const parameters = new URLSearchParams();
  for (const [name, given] of Object.entries(value)) {
    const path = `/${escapeToken(name)}`;
    if (name === 'filter') addFilter(parameters, given);
    else if (!Array.isArray(given) || !NAMES.includes(name)) parameters.append(name, textOf(given, path));
    // Without a key, the order is the default.
    else if (name !== 'sort' || given.length > 0) {
      const escaped = name === 'sort' ? (key: string) => escapeKey(key, resource) : escapeName;
      parameters.append(name, given.map((each) => escaped(textOf(each, path))).join(','));
    }
  }
  return parameters;
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
  for (const [field, given] of Object.entries(filter)) {
    const pointer = `/filter/${escapeToken(field)}`;
    if (!isObject(given)) {
      parameters.append(conditionName(field), textOf(given, pointer));
      continue;
    }
    const operators = Object.entries(given);
    if (operators.length === 0)
      throw invalidBody('must have an operator, as in {"eq": 1}', 'minProperties', pointer);
    for (const [operator, operand] of operators)
      addCondition(
        parameters,
        conditionName(field, operator),
        operator,
        operand,
        `${pointer}/${escapeToken(operator)}`,
      );
  }
}

function addCondition(
  parameters: URLSearchParams,
  name: string,
  operator: string,
  operand: Json,
  path: string,
): void {
  if (operator !== 'in' || !Array.isArray(operand)) return parameters.append(name, textOf(operand, path));
  if (operand.length === 0) throw invalidBody('must have at least one value', 'minItems', path);
  if (operand.length > MAX_VALUES) throw invalidQuery(name, `has more than ${MAX_VALUES} values`);
  const values = operand.map((each) => textOf(each, path));
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
