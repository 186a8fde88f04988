import type { Resource } from '../collection/resource.js';
import { invalidBody, payloadTooLarge } from '../errors/input-errors.js';
import { JSON_TYPE } from '../http/media-types.js';
import type { Request } from '../http/request.js';
import { type Action, MAX_TARGET, requireParameters } from '../http/router.js';
import { escapeToken, isObject, type Json } from '../json.js';
import { addFilter, MAX_QUERY, textOf } from '../list/json-filter.js';
import { escapeName, splitNames } from '../list/query-names.js';
import { keysetParameters, listParameters } from '../list/read-list.js';
import { isSingleSort, sortNames } from '../list/read-sort.js';

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

/** The parameters of the address for a request that lists records, which QUERY has in its body. Throws 400. */
export const parametersIn = ({ method, query, body }: Request, resource: Resource): URLSearchParams =>
  method === 'QUERY' ? parametersOf(body?.value, resource) : new URLSearchParams(query);

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
function escapeKey(key: string, resource: Resource): string {
  const sortable = sortNames(resource);
  const field = key.replace(/^-/, '');
  const isDescending = key !== field && (!sortable.includes(key) || sortable.includes(field));
  return isDescending ? `-${escapeName(field)}` : escapeName(key);
}
