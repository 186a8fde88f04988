import { type Failure, Problem } from './problem.js';

export const badRequest = (message: string) => new Problem(400, 'BAD_REQUEST', message);

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

function withShortPath(failure: Failure): Failure {
  const { path } = failure;
  if (path.length <= MAX_PATH) return failure;
  return { ...failure, path: path.slice(0, Math.max(0, path.lastIndexOf('/', MAX_PATH))) };
}

/** The arguments of an MCP tool. */
export const invalidArguments = (failures: readonly Failure[]) =>
  new Problem(400, 'VALIDATION_ERROR', 'The arguments of the tool are not valid.', {
    details: failures.slice(0, MAX_FAILURES).map(withShortPath),
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

/** An operation names another version than the batch that it is part of. */
export const otherVersion = (ofBatch: string, ofOperation: string) =>
  new Problem(400, 'VERSION_MISMATCH', 'An operation has the version of its batch.', {
    details: { batch: ofBatch, operation: ofOperation },
  });

export const versionSunset = (version: string) =>
  new Problem(410, 'VERSION_SUNSET', `Version ${version} of this API has been retired.`);

/** A request without TLS on the port for TLS. */
export const plainHttp = () => badRequest('This port speaks HTTPS: the address begins with https://.');

/** RFC 6585 section 4. `fields` describe the limit, as a flat list of names and values. */
export const rateLimited = (retryAfterSeconds: number, fields: readonly string[] = []) =>
  new Problem(429, 'RATE_LIMITED', 'Too many requests.', {
    headers: ['Retry-After', String(Math.max(1, Math.ceil(retryAfterSeconds))), ...fields],
  });

const NO_SUCH_PATH = new Problem(404, 'NOT_FOUND', 'There is no such resource.');

/** An unknown path; `nearest` is a known one like it. */
export const noSuchPath = (nearest?: string) =>
  nearest === undefined
    ? NO_SUCH_PATH
    : new Problem(404, 'NOT_FOUND', `There is no such resource. Did you mean ${nearest}?`, {
        details: { nearest },
      });

/** The optional package of a page is not installed. */
export const noDocsPage = (name: string) =>
  new Problem(404, 'NOT_FOUND', `This page needs the package ${name}: npm install ${name}.`);

export const noSuchErrorCode = () => new Problem(404, 'NOT_FOUND', 'There is no such error code.');

/** Keys and certificates are managed only where they are accepted. */
export const noKeysAccepted = () =>
  new Problem(
    404,
    'NOT_FOUND',
    'This service accepts no keys: AUTH names neither api-key nor mtls. `plinth keys` manages keys in any case.',
  );

export const invalidCursor = () =>
  new Problem(400, 'INVALID_CURSOR', 'The cursor is not one of this service.');

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

/** A write to several records needs a filter: without one the resource is another, which does not support the method. */
export const filterRequired = (allow: string) =>
  new Problem(405, 'METHOD_NOT_ALLOWED', 'To write to several records, select them: ?filter[field]=value.', {
    headers: ['Allow', allow],
  });

/** RFC 9110 section 15.6.2. */
export const notImplemented = (what: string) =>
  new Problem(501, 'NOT_IMPLEMENTED', `The server does not implement this ${what}.`);

/** RFC 9110 section 15.5.20: a Host that may come from DNS rebinding. */
export const misdirectedRequest = () =>
  new Problem(421, 'MISDIRECTED_REQUEST', 'The service does not respond for this host.');

/** A web page of an origin that may not send this request. */
export const originNotAllowed = () =>
  new Problem(403, 'ORIGIN_NOT_ALLOWED', 'Pages of this origin may not send this request.');

export const notAcceptable = (offers: readonly string[]) =>
  new Problem(406, 'NOT_ACCEPTABLE', `Not acceptable. Available: ${offers.join(', ')}.`, {
    details: { available: offers },
    shape: 'text',
  });

/** Accept-Encoding excludes a response without a coding, and names none of these. */
export const codingNotAcceptable = (codings: readonly string[]) =>
  new Problem(406, 'NOT_ACCEPTABLE', `Not acceptable. Available codings: ${codings.join(', ')}, identity.`, {
    details: { available: [...codings, 'identity'] },
    shape: 'text',
  });

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

export const expectationFailed = () =>
  new Problem(417, 'EXPECTATION_FAILED', 'The only supported expectation is 100-continue.');

/** RFC 9110 section 15.6.6. */
export const httpVersionNotSupported = () =>
  new Problem(505, 'VERSION_NOT_SUPPORTED', 'The server supports HTTP/1.1 and HTTP/1.0.');

/** RFC 9110 section 15.6.4. */
export const unavailable = (message: string, retryAfterSeconds = 1) =>
  new Problem(503, 'SERVICE_UNAVAILABLE', message, { headers: ['Retry-After', String(retryAfterSeconds)] });

export const internal = () =>
  new Problem(500, 'INTERNAL_ERROR', 'The server failed to process this request.');
