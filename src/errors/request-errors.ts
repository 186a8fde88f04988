import { Problem } from './problem.js';

export const badRequest = (message: string) => new Problem(400, 'BAD_REQUEST', message);

/** A request without TLS on the port for TLS. */
export const plainHttp = () => badRequest('This port speaks HTTPS: the address begins with https://.');

export const uriTooLong = (limit: number) =>
  new Problem(414, 'URI_TOO_LONG', `The request target may have at most ${limit} bytes.`, {
    details: { limit },
  });

export const headersTooLarge = (limit: number) =>
  new Problem(431, 'HEADERS_TOO_LARGE', `The header fields may have at most ${limit} bytes.`, {
    details: { limit },
  });

const NO_SUCH_PATH = new Problem(404, 'NOT_FOUND', 'There is no such resource.');

/** An unknown path; `nearest` is a known one like it. */
export const noSuchPath = (nearest?: string) =>
  nearest === undefined
    ? NO_SUCH_PATH
    : new Problem(404, 'NOT_FOUND', `There is no such resource. Did you mean ${nearest}?`, {
        details: { nearest },
      });

export const noSuchErrorCode = () => new Problem(404, 'NOT_FOUND', 'There is no such error code.');

/** Keys and certificates are managed only where they are accepted. */
export const noKeysAccepted = () =>
  new Problem(
    404,
    'NOT_FOUND',
    'This service accepts no keys: AUTH names neither api-key nor mtls. `plinth keys` manages keys in any case.',
  );

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

/** RFC 9110 section 15.6.6. */
export const httpVersionNotSupported = () =>
  new Problem(505, 'VERSION_NOT_SUPPORTED', 'The server supports HTTP/1.1 and HTTP/1.0.');

/** RFC 9110 section 15.5.20: a Host that may come from DNS rebinding. */
export const misdirectedRequest = () =>
  new Problem(421, 'MISDIRECTED_REQUEST', 'The service does not respond for this host.');

/** A web page of an origin that may not send this request. */
export const originNotAllowed = () =>
  new Problem(403, 'ORIGIN_NOT_ALLOWED', 'Pages of this origin may not send this request.');

export const expectationFailed = () =>
  new Problem(417, 'EXPECTATION_FAILED', 'The only supported expectation is 100-continue.');

export const requestTimeout = () =>
  new Problem(408, 'REQUEST_TIMEOUT', 'The request did not arrive in time.');

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
