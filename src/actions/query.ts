import { JSON_TYPE } from '../collection/representation.js';
import { invalidBody } from '../errors/errors.js';
import type { Action } from '../http/router.js';
import { requireParameters } from '../http/router.js';
import { isObject, type Json } from '../json.js';

/**
 * Lists what a query in the body selects, as `list` does for one in the address (QUERY, RFC 10008): 200, 400, 406, 413,
 * 415, 503. `Location` is the address of the same query by GET.
 */
export function queryBy(list: Action): Action {
  return {
    ...list,
    accepts: [JSON_TYPE],
    run: async (request) => {
      const query = String(parametersOf(request.body?.value));
      requireParameters(list, query, request.version);
      const { body: _, ...rest } = request;
      const reply = await list.run({ ...rest, body: undefined, method: 'GET', query });
      const location = `${request.prefix}${request.path}${query === '' ? '' : `?${query}`}`;
      return { ...reply, headers: [...reply.headers, 'Location', location, 'Accept-Query', JSON_TYPE] };
    },
  };
}

/** The parameters of the address for a query: {"filter": {"price": {"gte": 10}}, "sort": ["-price"], ...}. */
function parametersOf(value: Json | undefined): URLSearchParams {
  if (!isObject(value)) throw invalidBody('must be an object', 'type');
  const parameters = new URLSearchParams();
  for (const [name, given] of Object.entries(value)) {
    if (name === 'filter') addFilter(parameters, given);
    else if (Array.isArray(given))
      parameters.append(name, given.map((each) => textOf(each, `/${name}`)).join(','));
    else parameters.append(name, textOf(given, `/${name}`));
  }
  return parameters;
}

function addFilter(parameters: URLSearchParams, filter: Json): void {
  if (!isObject(filter)) throw invalidBody('must be an object', 'type', '/filter');
  for (const [field, given] of Object.entries(filter)) {
    if (!isObject(given)) {
      parameters.append(`filter[${field}]`, textOf(given, `/filter/${field}`));
      continue;
    }
    for (const [operator, operand] of Object.entries(given)) {
      const name = `filter[${field}]${operator === 'eq' ? '' : `[${operator}]`}`;
      const path = `/filter/${field}/${operator}`;
      const values = Array.isArray(operand)
        ? operand.map((each) => textOf(each, path))
        : [textOf(operand, path)];
      for (const text of values) parameters.append(name, text);
      // One value alone is split at its commas.
      if (Array.isArray(operand) && values.length === 1 && values[0]!.includes(','))
        parameters.append(name, values[0]!);
    }
  }
}

function textOf(value: Json, path: string): string {
  if (typeof value === 'object') throw invalidBody('must be a text, a number or true or false', 'type', path);
  return String(value);
}
