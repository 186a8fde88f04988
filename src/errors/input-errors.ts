import { type Failure, Problem } from './problem.js';

/** Failures that one response reports. */
export const MAX_FAILURES = 100;

/** Characters of a failure's path. */
const MAX_PATH = 1000;

/** The failures of a body, the first ones if there are very many. A very long path ends at the nearest ancestor that fits. */
export const invalid = (failures: readonly Failure[]) =>
  new Problem(400, 'VALIDATION_ERROR', 'The request body is not valid.', {
    details: failures.slice(0, MAX_FAILURES).map(withShortPath),
    shape: 'validation',
  });

/** The failure with a path of limited length. */
export function withShortPath(failure: Failure): Failure {
  const { path } = failure;
  if (path.length <= MAX_PATH) return failure;
  return { ...failure, path: path.slice(0, Math.max(0, path.lastIndexOf('/', MAX_PATH))) };
}

/** A body that is not a usable JSON document, reported as a validation failure. */
export const invalidBody = (message: string, keyword: string, path = '') =>
  invalid([{ path, message, keyword }]);

/** A patch document that is not well-formed (RFC 5789 section 2.2). */
export const invalidPatch = (message: string, operation: number, member?: string) =>
  invalid([
    {
      path: `${operation < 0 ? '' : `/${operation}`}${member === undefined ? '' : `/${member}`}`,
      message,
      keyword: 'json-patch',
    },
  ]);

/** A well-formed patch that cannot be applied to the current record (RFC 5789 section 2.2). */
export const unprocessablePatch = (message: string, operation: number) =>
  new Problem(422, 'UNPROCESSABLE_PATCH', message, { details: { operation } });

export const patchTestFailed = (operation: number) =>
  new Problem(409, 'PATCH_TEST_FAILED', 'A test of the patch failed; nothing was changed.', {
    details: { operation },
  });

export const payloadTooLarge = (limit: number) =>
  new Problem(413, 'PAYLOAD_TOO_LARGE', `The body may have at most ${limit} bytes.`, { details: { limit } });

export const unsupportedMediaType = (
  field: 'Accept-Post' | 'Accept-Patch' | 'Accept-Query' | 'Accept',
  types: readonly string[],
) =>
  new Problem(415, 'UNSUPPORTED_MEDIA_TYPE', `The body's media type must be one of: ${types.join(', ')}.`, {
    details: { supported: types },
    headers: [field, types.join(', ')],
  });

/** RFC 9110 section 15.5.16: Accept-Encoding names the supported content codings. */
export const unsupportedEncoding = (codings: readonly string[]) =>
  new Problem(
    415,
    'UNSUPPORTED_MEDIA_TYPE',
    `The body's content coding must be one of: ${codings.join(', ')}. A body can have one coding.`,
    { details: { supported: codings }, headers: ['Accept-Encoding', codings.join(', ')] },
  );

/** A part of a query that is not valid; `parameter` names it. */
export const invalidQuery = (parameter: string, message: string) =>
  new Problem(400, 'INVALID_QUERY', `\`${parameter.slice(0, 100)}\` ${message}.`, {
    details: { parameter: parameter.slice(0, 100) },
  });

/** A query that scans more than it may. */
export const queryTimeout = () =>
  new Problem(
    503,
    'QUERY_TIMEOUT',
    'The query took longer than QUERY_TIMEOUT_MS. Filter by a field with few matches, or send count=none.',
    { headers: ['Retry-After', '1'] },
  );

/** A list does not have this query parameter. */
export const unknownParameter = (parameter: string, supported: readonly string[]) =>
  new Problem(
    400,
    'UNKNOWN_PARAMETER',
    `There is no query parameter \`${parameter.slice(0, 100)}\` here. Supported: ${supported.length === 0 ? 'none' : supported.join(', ')}.`,
    { details: { parameter: parameter.slice(0, 100), supported } },
  );

export const invalidCursor = () =>
  new Problem(400, 'INVALID_CURSOR', 'The cursor is not one of this service.');

/** A cursor of a list that is not one, or that belongs to other records or another order. */
export const foreignCursor = () =>
  new Problem(400, 'INVALID_CURSOR', 'The cursor is not one of this list with this filter and this order.');

/** Events after the cursor have been deleted. The oldest that are retained come after `oldest`. */
export const cursorGone = (oldest: string) =>
  new Problem(410, 'CURSOR_GONE', 'Events after this cursor are no longer retained.', {
    details: { oldest },
  });

/** A write to all records that match a filter matches too many. Nothing was written. */
export const tooManyMatches = (limit: number) =>
  new Problem(413, 'TOO_MANY_MATCHES', `More than ${limit} records match. Nothing was written.`, {
    details: { limit },
  });

/** The records of a page with what is included, or of a query, exceed the limit in bytes. */
export const pageExceeds = (limit: number) =>
  new Problem(
    413,
    'RESPONSE_TOO_LARGE',
    `The page has more than ${limit} bytes: send a smaller limit or fields.`,
    {
      details: { limit },
    },
  );

/** A batch whose responses exceed their limit in bytes; nothing of the batch took place. */
export const batchResponseTooLarge = (limit: number) =>
  new Problem(413, 'RESPONSE_TOO_LARGE', `The responses of a batch may have at most ${limit} bytes.`, {
    details: { limit },
  });

/** A page that a batch cannot hold: on its own it would be streamed. */
export const pageTooLarge = (limit: number) =>
  new Problem(
    413,
    'RESPONSE_TOO_LARGE',
    `In a batch, the records of a page may have at most ${limit} bytes.`,
    {
      details: { limit },
    },
  );
