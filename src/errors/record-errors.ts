import { define, limited, type Problem } from './problem.js';
import { notFound } from './request-errors.js';

/** A missing record; `shape` as the collection declares it. */
export const absent = (singular: string, shape: 'simple' | 'empty', code?: string) =>
  notFound.variant({ message: `No such ${singular}.`, shape }, code);

/** The code for a missing record: USER_NOT_FOUND for `user`. */
export const notFoundCode = (singular: string): string =>
  `${singular.toUpperCase().replaceAll(' ', '_')}_NOT_FOUND`;

export const recordNotFound = define('PARENT_NOT_FOUND', 404, {
  suffix: '_NOT_FOUND',
  message: 'There is no such record.',
  cause: 'The path names a parent that does not exist (404), or a field refers to a missing record (422).',
  remedy: 'Use the id of an existing record; details.path is the field.',
  example: (code) => noSuchParent(nameIn(code)),
});

/** The path of a nested collection names a parent that does not exist. */
export const noSuchParent = (singular: string): Problem =>
  recordNotFound.variant({ message: `No such ${singular}.`, shape: 'envelope' }, notFoundCode(singular));

/** A field that refers to a missing record. `index`: the place of its id in an array. */
export const unknownReference = (field: string, singular: string, index?: number) =>
  recordNotFound.variant(
    {
      message: `No such ${singular} exists.`,
      details: { path: index === undefined ? `/${field}` : `/${field}/${index}` },
    },
    notFoundCode(singular),
    422,
  );

/** The name at the beginning of a code: `order line` in ORDER_LINE_NOT_FOUND. */
const nameIn = (code: string): string =>
  code
    .replace(/_(NOT_FOUND|TAKEN)$/, '')
    .toLowerCase()
    .replaceAll('_', ' ');

/** A record that was deleted, if the service stores tombstones. */
export const gone = define('GONE', 410, {
  message: 'The record has been deleted.',
  cause: 'The service remembers deleted ids (TOMBSTONES), and this is one of them.',
  remedy: 'Remove references to the record. Its id is not used again.',
  example: ['item'],
  make: (singular: string) => ({ message: `The ${singular} has been deleted.` }),
});

/** An id that a client has chosen and that a new record cannot have. */
export const invalidId = define('INVALID_ID', 400, {
  message: 'No new record can have this id.',
  cause:
    'The id in the path is no UUID of version 7 in its canonical form, or the time in it is more than a day before or five minutes after that of the service.',
  remedy: 'Make a UUID of version 7 with the present time.',
  example: ['must be a UUID of version 7'],
  make: (reason: string) => ({ message: `The id of a new record ${reason}.` }),
});

/** RFC 9110 section 15.5.13, with the current ETag and, if there is one, the current record. */
export const preconditionFailed = define('PRECONDITION_FAILED', 412, {
  message: 'The record is not in the state that the request requires.',
  cause: 'If-Match, If-None-Match or If-Unmodified-Since does not apply to the present record.',
  remedy: 'Apply the change to details.current, and repeat it with the ETag of this response.',
  example: ['"7"', { id: '0198c0de-0000-7000-8000-000000000001', _version: 7 }],
  make: (etag?: string, current?: unknown) => ({
    details: current === undefined ? undefined : { current },
    headers: etag === undefined ? undefined : ['ETag', etag],
  }),
});

/** RFC 6585 section 3. */
export const preconditionRequired = define('PRECONDITION_REQUIRED', 428, {
  message: 'This write requires an If-Match field with the ETag of the record.',
  cause: 'The operator permits changes of records only with a precondition.',
  remedy: 'Read the record, and send its ETag in If-Match.',
  example: [],
  make: () => ({
    message:
      'This write requires an If-Match field with the ETag of the record, or If-Match: * if it is about all that match a filter.',
  }),
});

/** The `_version` in a body is not the current one; with the current ETag and record, as a 412. */
export const versionConflict = define('VERSION_CONFLICT', 409, {
  message: 'The record has changed: the _version sent is not the current one.',
  cause: 'Another request changed the record after it was read.',
  remedy: 'Apply the change to details.current, and send its _version.',
  example: ['"7"', { id: '0198c0de-0000-7000-8000-000000000001', _version: 7 }],
  make: (etag: string, current: unknown) => ({ details: { current }, headers: ['ETag', etag] }),
});

export const sameValue = define('DUPLICATE', 409, {
  message: 'Another record has this value.',
  cause:
    'A field, or several together, that the collection declares as unique have the values of another record.',
  remedy: 'Send another value of details.field, or of one of details.fields, or change the other record.',
  example: () => duplicate(['isbn']),
});

export const taken = define('FIELD_TAKEN', 409, {
  suffix: '_TAKEN',
  message: 'Another record has this value.',
  cause: 'A field or certificate that must be unique is that of another record.',
  remedy: 'Send another value, or change the other record.',
  example: (code) => duplicate([nameIn(code)], code),
});

/** Unique fields whose values another record has. `code`: the one that its collection declares. */
export const duplicate = (fields: readonly string[], code?: string): Problem =>
  (code === undefined || code === sameValue.type.code ? sameValue : taken).variant(
    {
      message: `Another record has this ${fields.join(' and ')}.`,
      details: fields.length === 1 ? { field: fields[0]! } : { fields },
    },
    code,
  );

/** A deletion that records of another collection prevent, since they refer to the record. */
export const referenced = define('REFERENCED', 409, {
  message: 'Other records refer to this one.',
  cause: 'A reference to the record is declared with x-on-delete: restrict.',
  remedy: 'Delete or change the records of details.collection first.',
  example: ['author', 'books'],
  make: (singular: string, collection: string) => ({
    message: `Records of ${collection} refer to this ${singular}.`,
    details: { collection },
  }),
});

/** The first request with the key is still in flight. */
export const keyInUse = define('IDEMPOTENCY_KEY_IN_USE', 409, {
  message: 'A request with this Idempotency-Key is in progress.',
  cause: 'The first request with the key has not ended.',
  remedy: 'Repeat the request after the seconds in Retry-After.',
  example: [],
  make: () => ({ headers: ['Retry-After', '1'] }),
});

export const keyReused = define('IDEMPOTENCY_KEY_REUSED', 422, {
  message: 'This Idempotency-Key was used for a different request.',
  cause: 'The method, path or body differs from that of the first request with the key.',
  remedy: 'Use a new key for each request; repeat a request unchanged.',
});

/** The response to a batch with an Idempotency-Key repeats too much that no stored record stands for. */
export const storedResponseTooLarge = define('STORED_RESPONSE_TOO_LARGE', 413, {
  message: 'The response is too large to be stored.',
  cause: 'A batch with an Idempotency-Key reads pages, HTML or CSV of more than details.limit bytes.',
  remedy: 'Read them in a request of their own. Nothing was written.',
  example: [65_536],
  make: limited(
    (limit) =>
      `With an Idempotency-Key, the pages, HTML and CSV in the response to a batch may have at most ${limit} bytes. Nothing was written.`,
  ),
});

/** RFC 9110 section 15.5.4. The caller may read the record, or there is none yet. */
export const accessDenied = define('ACCESS_DENIED', 403, {
  message: 'The access rules do not permit this.',
  cause:
    'No grant of the collection permits the caller to write this record, or the record as it would be; or to read all records of an export any more.',
  remedy: 'Ask an operator: `plinth access explain` says which grants there are, and why none applies.',
  example: ['No access rule permits you to change this record.'],
  make: (message: string) => ({ message }),
});
