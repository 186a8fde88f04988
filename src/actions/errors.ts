import { STATUS_CODES } from 'node:http';
import { hashedReply, JSON_TYPE } from '../collection/representation.js';
import { CORE_TYPES, entriesOf, entryOf, typeOf } from '../errors/catalogue.js';
import type { ProblemType } from '../errors/problem.js';
import { noSuchErrorCode } from '../errors/request-errors.js';
import { readConditions } from '../http/preconditions.js';
import { type DocumentForm, EXAMPLE_REQUEST_ID, type Rendered, render } from '../http/problem-body.js';
import { type Action, type Route, requiring } from '../http/router.js';
import type { Json } from '../json.js';
import type { Version } from '../versions/version.js';

export const ERRORS_PATH = '/errors';

/** The routes that explain the codes of the core, and of these types that features have. */
export function errorRoutes(ofFeatures: readonly ProblemType[]): Route[] {
  const types = [...CORE_TYPES, ...ofFeatures];
  const explaining = (action: Action) => ({
    GET: { ...requiring('nothing', action), outlivesVersion: true },
  });
  return [
    { path: ERRORS_PATH, actions: explaining(listErrors(types)) },
    { path: `${ERRORS_PATH}/:code`, actions: explaining(showError(types)) },
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
  run: ({ params, headers, version, prefix }) => {
    const { code = '' } = params;
    const type = typeOf(types, code);
    if (!type) throw noSuchErrorCode();
    const list = prefix + ERRORS_PATH;
    const body = JSON.stringify({
      ...entryOf(type, code),
      title: STATUS_CODES[type.status],
      examples: examplesOf(type, code, version, list),
      links: { self: `${list}/${code}`, errors: list },
    });
    return hashedReply(JSON_TYPE, body, readConditions(headers));
  },
});

/** A body with the code in each form that the version has, by its media type. */
function examplesOf(
  type: ProblemType,
  code: string,
  { errors: { isAlwaysProblem, ...members } }: Version,
  errorsPath: string,
): Record<string, Json> {
  const document: DocumentForm = { ...members, errorsPath };
  const bodies = (isAlwaysProblem ? [document] : [undefined, document]).map((form) =>
    exampleOf(render(type.example(code), EXAMPLE_REQUEST_ID, form)),
  );
  return Object.fromEntries(bodies);
}

function exampleOf({ headers, body }: Rendered): [type: string, body: Json] {
  const type = headers[headers.indexOf('Content-Type') + 1]!;
  return [type, type.startsWith('text/') ? body : (JSON.parse(body) as Json)];
}
