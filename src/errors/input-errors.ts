import { define, type Failure, limited } from './problem.js';

/** Failures that one response reports. */
export const MAX_FAILURES = 100;

/** Characters of a failure's path. */
const MAX_PATH = 1000;

/** The failures of a body, the first ones if there are very many. A very long path ends at the nearest ancestor that fits. */
export const invalid = define('VALIDATION_ERROR', 400, {
  shapes: ['validation'],
  message: 'The request body is not valid.',
  cause: 'The body is not JSON, or breaks the rules of the collection.',
  remedy: 'Correct each member that `errors` lists with its path and reason.',
  example: [[{ path: '/name', message: 'must be a string', keyword: 'type' }]],
  make: (failures: readonly Failure[], message?: string) => ({
    message,
    details: failures.slice(0, MAX_FAILURES).map(withShortPath),
    shape: 'validation',
  }),
});

function withShortPath(failure: Failure): Failure {
  const { path } = failure;
  if (path.length <= MAX_PATH) return failure;
  return { ...failure, path: path.slice(0, Math.max(0, path.lastIndexOf('/', MAX_PATH))) };
}

/** A body that is not a usable JSON document, reported as a validation failure. */
export const invalidBody = (message: string, keyword: string, path = '') =>
  invalid([{ path, message, keyword }]);

/** A patch document that is not well-formed (RFC 5789 section 2.2). */
export const invalidPatch = (message: string, operation: number, member?: string) =>
  invalidBody(
    message,
    'json-patch',
    `${operation < 0 ? '' : `/${operation}`}${member === undefined ? '' : `/${member}`}`,
  );

/** A well-formed patch that cannot be applied to the current record (RFC 5789 section 2.2). */
export const unprocessablePatch = define('UNPROCESSABLE_PATCH', 422, {
  message: 'The patch cannot be applied to the record.',
  cause: 'An operation of the patch names a path that the record does not have.',
  remedy: 'Read the record again, and correct the operation in details.operation.',
  example: ['There is nothing at /tags/3.', 0],
  make: (message: string, operation: number) => ({ message, details: { operation } }),
});

export const patchTestFailed = define('PATCH_TEST_FAILED', 409, {
  message: 'A test of the patch failed; nothing was changed.',
  cause: 'The record does not have the value of a `test` operation.',
  remedy: 'Read the record again, and make the patch for its present state.',
  example: [0],
  make: (operation: number) => ({ details: { operation } }),
});

export const payloadTooLarge = define('PAYLOAD_TOO_LARGE', 413, {
  message: 'The body is too large.',
  cause: 'The body exceeds details.limit bytes.',
  remedy: 'Send a smaller body, or several requests.',
  example: [1_048_576],
  make: limited((limit) => `The body may have at most ${limit} bytes.`),
});

export const unsupportedMediaType = define('UNSUPPORTED_MEDIA_TYPE', 415, {
  message: 'The media type or the coding of the body is not supported.',
  cause: 'Content-Type or Content-Encoding is not one of details.supported.',
  remedy: 'Send one of the types or codings that the response lists, in one coding or in none.',
  example: ['Accept-Post', ['application/json']],
  make: (field: 'Accept-Post' | 'Accept-Patch' | 'Accept-Query' | 'Accept', types: readonly string[]) => ({
    message: `The body's media type must be one of: ${types.join(', ')}.`,
    details: { supported: types },
    headers: [field, types.join(', ')],
  }),
});

/** RFC 9110 section 15.5.16: Accept-Encoding names the supported content codings. */
export const unsupportedEncoding = (codings: readonly string[]) =>
  unsupportedMediaType.variant({
    message: `The body's content coding must be one of: ${codings.join(', ')}. A body can have one coding.`,
    details: { supported: codings },
    headers: ['Accept-Encoding', codings.join(', ')],
  });

/** A part of a query that is not valid; `parameter` names it. */
export const invalidQuery = define('INVALID_QUERY', 400, {
  message: 'A part of the query is not valid.',
  cause: 'A filter, sort key, field or include is unknown, or its value has the wrong form.',
  remedy: 'Correct the parameter in details.parameter; the message names what is valid.',
  example: ['limit', 'must be an integer from 1 to 100'],
  make: (parameter: string, message: string) => ({
    message: `\`${parameter.slice(0, 100)}\` ${message}.`,
    details: { parameter: parameter.slice(0, 100) },
  }),
});

/** A query that scans more than it may. */
export const queryTimeout = define('QUERY_TIMEOUT', 503, {
  message: 'The query took too long.',
  cause: 'The query examines more records than it can within QUERY_TIMEOUT_MS.',
  remedy: 'Filter by a field with few matches, or send count=none.',
  example: [],
  make: () => ({
    message:
      'The query took longer than QUERY_TIMEOUT_MS. Filter by a field with few matches, or send count=none.',
    headers: ['Retry-After', '1'],
  }),
});

/** An endpoint does not have this query parameter. */
export const unknownParameter = define('UNKNOWN_PARAMETER', 400, {
  message: 'There is no such query parameter here.',
  cause: 'A query parameter is misspelled or not supported.',
  remedy: 'Use a parameter in details.supported. Names that begin with _ are ignored.',
  example: ['pages', ['limit', 'page']],
  make: (parameter: string, supported: readonly string[]) => ({
    message: `There is no query parameter \`${parameter.slice(0, 100)}\` here. Supported: ${supported.length === 0 ? 'none' : supported.join(', ')}.`,
    details: { parameter: parameter.slice(0, 100), supported },
  }),
});

export const invalidCursor = define('INVALID_CURSOR', 400, {
  message: 'The cursor is not one of this service.',
  cause: 'A cursor was changed, cut off, made up, or is one of a list with another filter or order.',
  remedy: 'Send a cursor as a response contains it.',
});

/** A cursor of a list that is not one, or that belongs to other records or another order. */
export const foreignCursor = () =>
  invalidCursor.variant({ message: 'The cursor is not one of this list with this filter and this order.' });

/** Events after the cursor have been deleted. The oldest that are retained come after `oldest`. */
export const cursorGone = define('CURSOR_GONE', 410, {
  message: 'Events after this cursor are no longer retained.',
  cause: 'The reader was away for longer than events are retained, or the cursor is of another database.',
  remedy: 'Read the collections again, and continue from details.oldest or from after=now.',
  example: ['eyJhIjoxfQ'],
  make: (oldest: string) => ({ details: { oldest } }),
});

/** A write to all records that match a filter matches too many, or takes too long. Nothing was written. */
export const tooManyMatches = define('TOO_MANY_MATCHES', 413, {
  message: 'Too many records match. Nothing was written.',
  cause:
    'A write to a filtered list changes at most 10,000 records, and those that it can in half of DB_TIMEOUT_MS: details.limit.',
  remedy:
    'Repeat the request with `filter[id][lte]` of details.last, the id of the last record within the limit, and then with `filter[id][gt]` of it for the others.',
  example: [10_000, '01890a5d-ac96-774b-bcce-b302099a8057'],
  make: (limit: number, last: string) => ({
    message: `More than ${limit} records match, or these take too long. Nothing was written. Add filter[id][lte]=${last}, and go on with filter[id][gt]=${last}.`,
    details: { limit, last },
  }),
});

/** More groups than a response has. */
export const tooManyGroups = define('TOO_MANY_GROUPS', 413, {
  message: 'The list has too many groups.',
  cause: 'A response has at most details.limit groups.',
  remedy: 'Send a limit for the first groups, group by a longer period or fewer fields, or filter.',
  example: [1000],
  make: limited((limit) => `There are more than ${limit} groups: send a limit, or group by less.`),
});

/** The records of a page with what is included, or of a query, exceed the limit in bytes. */
export const pageExceeds = define('RESPONSE_TOO_LARGE', 413, {
  message: 'The response is too large.',
  cause: 'The records of a page, or the responses of a batch, exceed details.limit bytes.',
  remedy: 'Request fewer records or fields, or divide the batch.',
  example: [1_048_576],
  make: limited((limit) => `The page has more than ${limit} bytes: send a smaller limit or fields.`),
});

/** A batch whose responses exceed their limit in bytes; nothing of the batch took place. */
export const batchResponseTooLarge = (limit: number) =>
  pageExceeds.variant({
    message: `The responses of a batch may have at most ${limit} bytes.`,
    details: { limit },
  });

/** A page that a batch cannot hold: on its own it would be streamed. */
export const pageTooLarge = (limit: number) =>
  pageExceeds.variant({
    message: `In a batch, the records of a page may have at most ${limit} bytes.`,
    details: { limit },
  });
