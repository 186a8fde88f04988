import { define, limited } from './problem.js';

export const badRequest = define('BAD_REQUEST', 400, {
  message: 'The request is malformed.',
  cause: 'The request line, a header field, the path or a query parameter cannot be read.',
  remedy: 'Correct the part that the message names.',
  example: ['The path has an invalid percent-encoding.'],
  make: (message: string) => ({ message }),
});

/** A request without TLS on the port for TLS. */
export const plainHttp = () => badRequest('This port speaks HTTPS: the address begins with https://.');

export const uriTooLong = define('URI_TOO_LONG', 414, {
  message: 'The request target is too long.',
  cause: 'Path and query exceed details.limit bytes.',
  remedy: 'Send a long query as the body of a QUERY request.',
  example: [8192],
  make: limited((limit) => `The request target may have at most ${limit} bytes.`),
});

export const headersTooLarge = define('HEADERS_TOO_LARGE', 431, {
  message: 'The header fields are too large.',
  cause: 'All header fields together exceed details.limit bytes. Cookies are often the reason.',
  remedy: 'Send fewer or shorter fields.',
  example: [16_384],
  make: limited((limit) => `The header fields may have at most ${limit} bytes.`),
});

export const notFound = define('NOT_FOUND', 404, {
  shapes: ['envelope', 'simple', 'empty'],
  message: 'There is no such resource.',
  cause: 'The path is unknown, or no record has this id.',
  remedy: 'Check the path; details.nearest is a known one that is similar.',
  example: ['/books'],
  make: (nearest: string) => ({
    message: `There is no such resource. Did you mean ${nearest}?`,
    details: { nearest },
  }),
});

const NO_SUCH_PATH = notFound.variant({});

/** An unknown path; `nearest` is a known one like it. */
export const noSuchPath = (nearest?: string) => (nearest === undefined ? NO_SUCH_PATH : notFound(nearest));

export const noSuchErrorCode = () => notFound.variant({ message: 'There is no such error code.' });

/** RFC 9110 section 15.5.6: Allow lists the supported methods. */
export const methodNotAllowed = define('METHOD_NOT_ALLOWED', 405, {
  message: 'The resource does not support this method.',
  cause: 'The path exists, with other methods. A write to a whole list requires a filter.',
  remedy: 'Use a method that the field Allow lists.',
  example: ['GET, HEAD, OPTIONS'],
  make: (allow: string) => ({ headers: ['Allow', allow] }),
});

/** A write to several records needs a filter: without one the resource is another, which does not support the method. */
export const filterRequired = (allow: string) =>
  methodNotAllowed.variant({
    message: 'This method needs a filter: ?filter[field]=value.',
    headers: ['Allow', allow],
  });

/** RFC 9110 section 15.6.2. */
export const notImplemented = define('NOT_IMPLEMENTED', 501, {
  message: 'The server does not implement this.',
  cause: 'The method or the transfer coding is unknown.',
  remedy: 'Use a method of RFC 9110, PATCH or QUERY, and no transfer coding but chunked.',
  example: ['method'],
  make: (what: string) => ({ message: `The server does not implement this ${what}.` }),
});

/** RFC 9110 section 15.6.6. */
export const httpVersionNotSupported = define('VERSION_NOT_SUPPORTED', 505, {
  message: 'The server supports HTTP/1.1 and HTTP/1.0.',
  cause: 'The request line names another version of HTTP.',
  remedy: 'Use HTTP/1.1.',
});

/** RFC 9110 section 15.5.20: a Host that may come from DNS rebinding. */
export const misdirectedRequest = define('MISDIRECTED_REQUEST', 421, {
  message: 'The service does not respond for this host.',
  cause: 'The field Host names neither a loopback address nor a name in ALLOWED_HOSTS.',
  remedy: 'Use the public name of the service, or add the name to ALLOWED_HOSTS.',
});

/** A web page of an origin that may not send this request. */
export const originNotAllowed = define('ORIGIN_NOT_ALLOWED', 403, {
  message: 'Pages of this origin may not send this request.',
  cause:
    'Sec-Fetch-Site or Origin names a page of another site, and the request writes without a token or a key, or is for /mcp.',
  remedy: 'Add the origin to CORS_ORIGINS, or connect with a client that is not a web page.',
});

export const expectationFailed = define('EXPECTATION_FAILED', 417, {
  message: 'The only supported expectation is 100-continue.',
  cause: 'The field Expect has another value.',
  remedy: 'Omit Expect.',
});

export const requestTimeout = define('REQUEST_TIMEOUT', 408, {
  message: 'The request did not arrive in time.',
  cause: 'The head or the body of the request arrived too slowly.',
  remedy: 'Repeat the request on a new connection.',
});

export const unsupportedVersion = define('UNSUPPORTED_VERSION', 400, {
  message: 'API-Version names no version of this API.',
  cause: 'The version in the field API-Version does not exist.',
  remedy: 'Use a version in details.versions, or omit the field.',
  example: [['1', '2']],
  make: (versions: readonly string[]) => ({ details: { versions } }),
});

export const versionMismatch = define('VERSION_MISMATCH', 400, {
  message: 'API-Version contradicts the version in the path.',
  cause: 'Path and field name different versions, or an operation another one than its batch.',
  remedy: 'Omit one of the two.',
  example: ['1', '2'],
  make: (inPath: string, inHeader: string) => ({ details: { path: inPath, header: inHeader.slice(0, 20) } }),
});

/** An operation names another version than the batch that it is part of. */
export const otherVersion = (ofBatch: string, ofOperation: string) =>
  versionMismatch.variant({
    message: 'An operation has the version of its batch.',
    details: { batch: ofBatch, operation: ofOperation },
  });

export const versionSunset = define('VERSION_SUNSET', 410, {
  message: 'This version of the API has been retired.',
  cause: 'The date in the field Sunset has passed.',
  remedy: 'Use a later version.',
  example: ['1'],
  make: (version: string) => ({ message: `Version ${version} of this API has been retired.` }),
});

export const notAcceptable = define('NOT_ACCEPTABLE', 406, {
  shapes: ['text'],
  message: 'None of the acceptable media types or codings is available.',
  cause: 'The field Accept excludes every representation of the resource, or Accept-Encoding every coding.',
  remedy: 'Accept one of the types or codings that the response lists.',
  example: [['application/json', 'text/html']],
  make: (offers: readonly string[]) => ({
    message: `Not acceptable. Available: ${offers.join(', ')}.`,
    details: { available: offers },
    shape: 'text',
  }),
});

/** Accept-Encoding excludes a response without a coding, and names none of these. */
export const codingNotAcceptable = (codings: readonly string[]) =>
  notAcceptable.variant({
    message: `Not acceptable. Available codings: ${codings.join(', ')}, identity.`,
    details: { available: [...codings, 'identity'] },
    shape: 'text',
  });
