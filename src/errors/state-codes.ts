import type { ErrorDescription } from './error-description.js';

/** Errors that depend on what is stored, and on the state of the service. */
export const STATE_CODES = {
  CURSOR_GONE: {
    status: 410,
    message: 'Events after this cursor are no longer retained.',
    cause: 'The reader was away for longer than events are retained, or the cursor is of another database.',
    remedy: 'Read the collections again, and continue from details.oldest or from after=now.',
  },
  DELIVERY_PENDING: {
    status: 409,
    message: 'The delivery is in flight, or waits for an earlier delivery of its record.',
    cause: 'A delivery can be repeated after it was delivered or has failed finally.',
    remedy: 'Wait for the end of its attempts.',
  },
  DUPLICATE: {
    status: 409,
    message: 'Another record has this value.',
    cause: 'A field that the collection declares as unique has the value of another record.',
    remedy: 'Send another value of the field in details.field, or change the other record.',
  },
  GONE: {
    status: 410,
    message: 'The record has been deleted.',
    cause: 'The service remembers deleted ids (TOMBSTONES), and this is one of them.',
    remedy: 'Remove references to the record. Its id is not used again.',
  },
  IDEMPOTENCY_KEY_IN_USE: {
    status: 409,
    message: 'A request with this Idempotency-Key is in progress.',
    cause: 'The first request with the key has not ended.',
    remedy: 'Repeat the request after the seconds in Retry-After.',
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    message: 'This Idempotency-Key was used for a different request.',
    cause: 'The method, path or body differs from that of the first request with the key.',
    remedy: 'Use a new key for each request; repeat a request unchanged.',
  },
  INSUFFICIENT_STORAGE: {
    status: 507,
    message: 'The database is full.',
    cause: 'The disk of the database has no room. Nothing was written.',
    remedy: 'Repeat the request when the operator has made room.',
  },
  INTERNAL_ERROR: {
    status: 500,
    message: 'The server failed to process this request.',
    cause: 'A fault of the service, which its log describes below the request id.',
    remedy: 'Report the request id to the operator.',
  },
  NOT_FOUND: {
    status: 404,
    shapes: ['envelope', 'simple', 'empty'],
    message: 'There is no such resource.',
    cause: 'The path is unknown, or no record has this id.',
    remedy: 'Check the path; details.nearest is a known one that is similar.',
  },
  PATCH_TEST_FAILED: {
    status: 409,
    message: 'A test of the patch failed; nothing was changed.',
    cause: 'The record does not have the value of a `test` operation.',
    remedy: 'Read the record again, and make the patch for its present state.',
  },
  PRECONDITION_FAILED: {
    status: 412,
    message: 'The record is not in the state that the request requires.',
    cause: 'If-Match, If-None-Match or If-Unmodified-Since does not apply to the present record.',
    remedy: 'Apply the change to details.current, and repeat it with the ETag of this response.',
  },
  PRECONDITION_REQUIRED: {
    status: 428,
    message: 'This write requires an If-Match field with the ETag of the record.',
    cause: 'The operator permits changes of records only with a precondition.',
    remedy: 'Read the record, and send its ETag in If-Match.',
  },
  QUERY_TIMEOUT: {
    status: 503,
    message: 'The query took too long.',
    cause: 'The query examines more records than it can within QUERY_TIMEOUT_MS.',
    remedy: 'Filter by a field with few matches, or send count=none.',
  },
  REFERENCED: {
    status: 409,
    message: 'Other records refer to this one.',
    cause: 'A reference to the record is declared with x-on-delete: restrict.',
    remedy: 'Delete or change the records of details.collection first.',
  },
  RESPONSE_TOO_LARGE: {
    status: 413,
    message: 'The response is too large.',
    cause: 'The records of a page, or the responses of a batch, exceed details.limit bytes.',
    remedy: 'Request fewer records or fields, or divide the batch.',
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    message: 'The service cannot process the request now.',
    cause: 'The database is unavailable, too much work is in flight, or the service is stopping.',
    remedy: 'Repeat the request after the seconds in Retry-After.',
  },
  STORED_RESPONSE_TOO_LARGE: {
    status: 413,
    message: 'The response is too large to be stored.',
    cause: 'A batch with an Idempotency-Key reads pages, HTML or CSV of more than details.limit bytes.',
    remedy: 'Read them in a request of their own. Nothing was written.',
  },
  TOO_MANY_MATCHES: {
    status: 413,
    message: 'Too many records match. Nothing was written.',
    cause: 'A write to a filtered list changes at most details.limit records.',
    remedy: 'Filter for fewer records, and repeat the request for the others.',
  },
  TOO_MANY_WEBHOOKS: {
    status: 409,
    message: 'There are too many webhooks.',
    cause: 'The service has the maximum number of webhooks.',
    remedy: 'Delete webhooks that are not in use.',
  },
  UNPROCESSABLE_PATCH: {
    status: 422,
    message: 'The patch cannot be applied to the record.',
    cause: 'An operation of the patch names a path that the record does not have.',
    remedy: 'Read the record again, and correct the operation in details.operation.',
  },
  VERSION_CONFLICT: {
    status: 409,
    message: 'The record has changed: the _version sent is not the current one.',
    cause: 'Another request changed the record after it was read.',
    remedy: 'Apply the change to details.current, and send its _version.',
  },
  VERSION_SUNSET: {
    status: 410,
    message: 'This version of the API has been retired.',
    cause: 'The date in the field Sunset has passed.',
    remedy: 'Use a later version.',
  },
  WEBHOOK_DISABLED: {
    status: 409,
    message: 'The webhook is disabled: enable it first.',
    cause: 'Deliveries of a disabled webhook cannot be requested.',
    remedy: 'Change `enabled` to true.',
  },
} as const satisfies Readonly<Record<string, ErrorDescription>>;
