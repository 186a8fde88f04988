import { hashedReply, JSON_TYPE } from '../collection/representation.js';
import { CORE_TYPES, entriesOf, entryOf, typeOf } from '../errors/catalogue.js';
import type { ProblemType } from '../errors/problem.js';
import { noSuchErrorCode } from '../errors/request-errors.js';
import { readConditions } from '../http/preconditions.js';
import { type Action, type Route, requiring } from '../http/router.js';

export const ERRORS_PATH = '/errors';

/** The routes that explain the codes of the core, and of these types that features have. */
export function errorRoutes(ofFeatures: readonly ProblemType[]): Route[] {
  const types = [...CORE_TYPES, ...ofFeatures];
  return [
    { path: ERRORS_PATH, actions: { GET: requiring('nothing', listErrors(types)) } },
    { path: `${ERRORS_PATH}/:code`, actions: { GET: requiring('nothing', showError(types)) } },
  ];
}

/** Lists the codes of error responses, with what they mean: 200, 304, 406, 412. */
const listErrors = (types: readonly ProblemType[]): Action => ({
  offers: [JSON_TYPE],
  run: ({ version, prefix, headers }) => {
    const data = entriesOf(types);
    const self = prefix + ERRORS_PATH;
    // The list has one page.
    const [meta, links] =
      version.lists === 'keyset'
        ? [{ limit: data.length }, { self, next: null, prev: null, first: self }]
        : [{ total: data.length }, { self }];
    return hashedReply(JSON_TYPE, JSON.stringify({ data, meta, links }), readConditions(headers));
  },
});

/**
 * Explains one code: 200, 304, 404, 406, 412. `type` of application/problem+json refers to it (RFC 9457 section 3.1.1).
 */
const showError = (types: readonly ProblemType[]): Action => ({
  offers: [JSON_TYPE],
  run: ({ params, headers }) => {
    const { code = '' } = params;
    const type = typeOf(types, code);
    if (!type) throw noSuchErrorCode();
    return hashedReply(JSON_TYPE, JSON.stringify(entryOf(type, code)), readConditions(headers));
  },
});
