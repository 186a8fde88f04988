import { type Code, type Failure, Problem } from './problem.js';

export const badRequest = (message: string) => new Problem(400, 'BAD_REQUEST', message);

/** Failures that one response reports. */
export const MAX_FAILURES = 100;

/** The failures of a body, the first ones if there are very many. */
export const invalid = (failures: readonly Failure[]) =>
  new Problem(400, 'VALIDATION_ERROR', 'The request body is not valid.', {
    details: failures.slice(0, MAX_FAILURES),
    shape: 'validation',
  });

/** A body that is not a usable JSON document, reported as a validation failure. */
export const invalidBody = (message: string, keyword: string, path = '') =>
  invalid([{ path, message, keyword }]);

export const unsupportedVersion = (versions: readonly string[]) =>
  new Problem(400, 'UNSUPPORTED_VERSION', 'API-Version names no version of this API.', {
    details: { versions },
  });

export const versionMismatch = (inPath: string, inHeader: string) =>
  new Problem(400, 'VERSION_MISMATCH', 'API-Version contradicts the version in the path.', {
    details: { path: inPath, header: inHeader.slice(0, 20) },
  });

export const versionSunset = (version: string) =>
  new Problem(410, 'VERSION_SUNSET', `Version ${version} of this API has been retired.`);

/** RFC 6585 section 4. `fields` describe the limit, as a flat list of names and values. */
export const rateLimited = (retryAfterSeconds: number, fields: readonly string[] = []) =>
  new Problem(429, 'RATE_LIMITED', 'Too many requests.', {
    headers: ['Retry-After', String(Math.max(1, Math.ceil(retryAfterSeconds))), ...fields],
  });

const NO_SUCH_PATH = new Problem(404, 'NOT_FOUND', 'There is no such resource.');
export const noSuchPath = () => NO_SUCH_PATH;

/** A missing record; `shape` as the collection declares it. */
export const absent = (singular: string, shape: 'simple' | 'empty', code: Code = 'NOT_FOUND') =>
  new Problem(404, code, `No such ${singular}.`, { shape });

/** The code for a missing record of a kind: USER_NOT_FOUND for `user`. */
export const notFoundCode = (singular: string): Code => `${singular.toUpperCase()}_NOT_FOUND`;

/** The path of a nested collection names a parent that does not exist. */
export const noSuchParent = (singular: string) =>
  new Problem(404, notFoundCode(singular), `No such ${singular}.`);

/** A record that was deleted, if the service stores tombstones. */
export const gone = (singular: string) => new Problem(410, 'GONE', `The ${singular} has been deleted.`);

export const invalidCursor = () =>
  new Problem(400, 'INVALID_CURSOR', 'The cursor is not one of this service.');

/** Events after the cursor have been deleted. The oldest that are retained come after `oldest`. */
export const cursorGone = (oldest: string) =>
  new Problem(410, 'CURSOR_GONE', 'Events after this cursor are no longer retained.', {
    details: { oldest },
  });

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
    'This write requires an If-Match field with the ETag of the record.',
  );

/** The first request with the key is still in flight. */
export const keyInUse = () =>
  new Problem(409, 'IDEMPOTENCY_KEY_IN_USE', 'A request with this Idempotency-Key is in progress.', {
    headers: ['Retry-After', '1'],
  });

export const keyReused = () =>
  new Problem(422, 'IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used for a different request.');

/** The problem of one operation of a batch, with its index. Nothing of the batch took place. */
export const batchFailed = (operation: number, problem: Problem) =>
  new Problem(problem.status, problem.code, `Operation ${operation}: ${problem.message}`, {
    details: { operation, ...(problem.more.details === undefined ? {} : { details: problem.more.details }) },
    headers: problem.more.headers ?? [],
    ...(problem.more.scope !== undefined && { scope: problem.more.scope }),
  });

/** RFC 9110 section 15.5.6: Allow lists the supported methods. */
export const methodNotAllowed = (allow: string) =>
  new Problem(405, 'METHOD_NOT_ALLOWED', 'The resource does not support this method.', {
    headers: ['Allow', allow],
  });

/** RFC 9110 section 15.6.2. */
export const notImplemented = (what: string) =>
  new Problem(501, 'NOT_IMPLEMENTED', `The server does not implement this ${what}.`);

/** RFC 9110 section 15.5.20: a Host that may come from DNS rebinding. */
export const misdirectedRequest = () =>
  new Problem(421, 'MISDIRECTED_REQUEST', 'The service does not respond for this host.');

export const notAcceptable = (offers: readonly string[]) =>
  new Problem(406, 'NOT_ACCEPTABLE', `Not acceptable. Available: ${offers.join(', ')}.`, {
    details: { available: offers },
    shape: 'text',
  });

export const unsupportedMediaType = (
  field: 'Accept-Post' | 'Accept-Patch' | 'Accept',
  types: readonly string[],
) =>
  new Problem(415, 'UNSUPPORTED_MEDIA_TYPE', `The body's media type must be one of: ${types.join(', ')}.`, {
    details: { supported: types },
    headers: [field, types.join(', ')],
  });

/** RFC 9110 section 15.5.16: Accept-Encoding names the supported content codings. */
export const unsupportedEncoding = () =>
  new Problem(415, 'UNSUPPORTED_MEDIA_TYPE', 'The body must not be compressed.', {
    headers: ['Accept-Encoding', 'identity'],
  });

export const expectationFailed = () =>
  new Problem(417, 'EXPECTATION_FAILED', 'The only supported expectation is 100-continue.');

/** RFC 9110 section 15.6.6. */
export const httpVersionNotSupported = () =>
  new Problem(505, 'VERSION_NOT_SUPPORTED', 'The server supports HTTP/1.1 and HTTP/1.0.');

/** A unique field whose value another record has. */
export const duplicate = (
  field: string,
  code: 'DUPLICATE' | 'EMAIL_TAKEN' | 'CERTIFICATE_TAKEN' = 'DUPLICATE',
) => new Problem(409, code, `Another record has this ${field}.`, { details: { field } });

export const tooManyWebhooks = (max: number) =>
  new Problem(409, 'TOO_MANY_WEBHOOKS', `There may be at most ${max} webhooks.`);

export const webhookDisabled = () =>
  new Problem(409, 'WEBHOOK_DISABLED', 'The webhook is disabled: enable it first.');

export const deliveryPending = () =>
  new Problem(
    409,
    'DELIVERY_PENDING',
    'The delivery is in flight, or waits for an earlier delivery of its record.',
  );

export const versionConflict = (current: number) =>
  new Problem(409, 'VERSION_CONFLICT', 'The record has changed: the _version sent is not the current one.', {
    details: { current },
  });

/** A field that refers to a missing record. */
export const unknownReference = (field: string, singular: string) =>
  new Problem(422, notFoundCode(singular), `No such ${singular} exists.`, { details: { path: `/${field}` } });

/** A patch document that is not well-formed (RFC 5789 section 2.2). */
export const invalidPatch = (message: string, operation: number) =>
  invalid([{ path: operation < 0 ? '' : `/${operation}`, message, keyword: 'json-patch' }]);

/** A well-formed patch that cannot be applied to the current record (RFC 5789 section 2.2). */
export const unprocessablePatch = (message: string, operation: number) =>
  new Problem(422, 'UNPROCESSABLE_PATCH', message, { details: { operation } });

export const patchTestFailed = (operation: number) =>
  new Problem(409, 'PATCH_TEST_FAILED', 'A test of the patch failed; nothing was changed.', {
    details: { operation },
  });

/** RFC 9110 section 15.6.4. */
export const unavailable = (message: string, retryAfterSeconds = 1) =>
  new Problem(503, 'SERVICE_UNAVAILABLE', message, { headers: ['Retry-After', String(retryAfterSeconds)] });

export const internal = () =>
  new Problem(500, 'INTERNAL_ERROR', 'The server failed to process this request.');
