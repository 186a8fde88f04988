import type { Resource } from '../collection/resource.js';
import { payloadTooLarge } from '../errors/input-errors.js';
import { JSON_TYPE } from '../http/media-types.js';
import { Query, requireParameters } from '../http/query-parameters.js';
import { type Action, MAX_TARGET } from '../http/router.js';
import { isObject } from '../json.js';
import { MAX_QUERY, parametersOfBody } from '../list/body-values.js';
import { listParameters } from '../list/read-list.js';

/**
 * Lists what a query in the body selects, as `list` does for one in the address (QUERY, RFC 10008): 200, 400, 406, 413,
 * 415, 503. `Location` is the address of the same query by GET, unless there is none, or it would be longer than a request may
 * have it.
 */
export function queryBy(list: Action, resource: Resource): Action {
  const offer = {
    parameters: listParameters(resource),
    keysetParameters: listParameters(resource, 'keyset'),
  };
  return {
    run: async (request) => {
      if ((request.body?.bytes.length ?? 0) > MAX_QUERY) throw payloadTooLarge(MAX_QUERY);
      const given = request.body?.value;
      // Before the values are read, so that a misspelt member is named and not its value.
      if (isObject(given)) requireParameters(offer, Object.keys(given), request.version);
      const query = new Query(String(parametersOfBody(given, resource)), true);
      const reply = await list.run({ ...request, body: undefined, method: 'GET', query });
      const location = `${request.prefix}${request.path}${query.text === '' ? '' : `?${query.text}`}`;
      // In the address of a tolerant list, these parameters have another meaning, and without a page an array.
      const isEqual =
        !resource.hasTolerantLists ||
        request.version.lists === 'keyset' ||
        !['sort', 'order', 'search'].some((name) => query.parameters.has(name));
      const address = isEqual && location.length <= MAX_TARGET ? ['Location', location] : [];
      return { ...reply, headers: [...reply.headers, ...address, 'Accept-Query', JSON_TYPE] };
    },
  };
}
