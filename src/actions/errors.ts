import { hashedReply, JSON_TYPE } from '../collection/representation.js';
import { noSuchErrorCode } from '../errors/request-errors.js';
import { readConditions } from '../http/preconditions.js';
import type { Action } from '../http/router.js';

export const ERRORS_PATH = '/errors';

/** Loaded on first use, since few clients need it. */
const catalogue = () => import('../errors/catalogue.js');

/** Lists the codes of error responses, with what they mean: 200, 304, 406, 412. */
export const listErrors: Action = {
  offers: [JSON_TYPE],
  run: async ({ version, prefix, headers }) => {
    const data = (await catalogue()).listErrorCodes();
    const self = prefix + ERRORS_PATH;
    // The list has one page.
    const [meta, links] =
      version.lists === 'keyset'
        ? [{ limit: data.length }, { self, next: null, prev: null, first: self }]
        : [{ total: data.length }, { self }];
    return hashedReply(JSON_TYPE, JSON.stringify({ data, meta, links }), readConditions(headers));
  },
};

/**
 * Explains one code: 200, 304, 404, 406, 412. `type` of application/problem+json refers to it (RFC 9457 section 3.1.1).
 */
export const showError: Action = {
  offers: [JSON_TYPE],
  run: async ({ params, headers }) => {
    const description = (await catalogue()).describeError(params.code ?? '');
    if (!description) throw noSuchErrorCode();
    return hashedReply(JSON_TYPE, JSON.stringify(description), readConditions(headers));
  },
};
