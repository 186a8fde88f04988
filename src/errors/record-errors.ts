import { type Code, Problem } from './problem.js';

/** A missing record; `shape` as the collection declares it. */
export const absent = (singular: string, shape: 'simple' | 'empty', code: Code = 'NOT_FOUND') =>
  new Problem(404, code, `No such ${singular}.`, { shape });

/** The code for a missing record: USER_NOT_FOUND for `user`. */
export const notFoundCode = (singular: string): Code =>
  `${singular.toUpperCase().replaceAll(' ', '_')}_NOT_FOUND`;

/** The path of a nested collection names a parent that does not exist. */
export const noSuchParent = (singular: string) =>
  new Problem(404, notFoundCode(singular), `No such ${singular}.`, { shape: 'envelope' });

/** A record that was deleted, if the service stores tombstones. */
export const gone = (singular: string) => new Problem(410, 'GONE', `The ${singular} has been deleted.`);

/** RFC 9110 section 15.5.13, with the current ETag and, if there is one, the current record. */
export const preconditionFailed = (etag?: string, current?: unknown) =>
  new Problem(412, 'PRECONDITION_FAILED', 'The record is not in the state that the request requires.', {
    ...(current === undefined ? {} : { details: { current } }),
    ...(etag === undefined ? {} : { headers: ['ETag', etag] }),
  });

/** RFC 6585 section 3. */
export const preconditionRequired = () =>
  new Problem(
    428,
    'PRECONDITION_REQUIRED',
    'This write requires an If-Match field with the ETag of the record, or If-Match: * if it is about all that match a filter.',
  );

/** The first request with the key is still in flight. */
export const keyInUse = () =>
  new Problem(409, 'IDEMPOTENCY_KEY_IN_USE', 'A request with this Idempotency-Key is in progress.', {
    headers: ['Retry-After', '1'],
  });

export const keyReused = () =>
  new Problem(422, 'IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used for a different request.');

/** The response to a batch with an Idempotency-Key repeats too much that no stored record stands for. */
export const storedResponseTooLarge = (limit: number) =>
  new Problem(
    413,
    'STORED_RESPONSE_TOO_LARGE',
    'With an Idempotency-Key, the pages, HTML and CSV in the response to a batch may have at most ' +
      `${limit} bytes. Nothing was written.`,
    { details: { limit } },
  );

/** A unique field whose value another record has. */
export const duplicate = (field: string, code: Code = 'DUPLICATE') =>
  new Problem(409, code, `Another record has this ${field}.`, { details: { field } });

/** A deletion that records of another collection prevent, since they refer to the record. */
export const referenced = (singular: string, collection: string) =>
  new Problem(409, 'REFERENCED', `Records of ${collection} refer to this ${singular}.`, {
    details: { collection },
  });

/** The `_version` in a body is not the current one; with the current ETag and record, as a 412. */
export const versionConflict = (etag: string, current: unknown) =>
  new Problem(409, 'VERSION_CONFLICT', 'The record has changed: the _version sent is not the current one.', {
    details: { current },
    headers: ['ETag', etag],
  });

/** A field that refers to a missing record. */
export const unknownReference = (field: string, singular: string) =>
  new Problem(422, notFoundCode(singular), `No such ${singular} exists.`, { details: { path: `/${field}` } });
