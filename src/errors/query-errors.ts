import { Problem } from './problem.js';

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

/** A list does not have this query parameter. */
export const unknownParameter = (parameter: string, supported: readonly string[]) =>
  new Problem(
    400,
    'UNKNOWN_PARAMETER',
    `There is no query parameter \`${parameter.slice(0, 100)}\` here. Supported: ${supported.length === 0 ? 'none' : supported.join(', ')}.`,
    { details: { parameter: parameter.slice(0, 100), supported } },
  );

/** A cursor of a list that is not one, or that belongs to other records or another order. */
export const foreignCursor = () =>
  new Problem(400, 'INVALID_CURSOR', 'The cursor is not one of this list with this filter and this order.');
