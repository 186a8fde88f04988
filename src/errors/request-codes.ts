import type { ErrorDescription } from './error-description.js';

/** Errors of requests that cannot be read, are not permitted, or exceed a limit, whatever is stored. */
export const REQUEST_CODES = {
  BAD_REQUEST: {
    status: 400,
    message: 'The request is malformed.',
    cause: 'The request line, a header field, the path or a query parameter cannot be read.',
    remedy: 'Correct the part that the message names.',
  },
  CURRENT_PASSWORD_REQUIRED: {
    status: 403,
    message: 'A change of your own password or email requires current_password.',
    cause:
      'A user changes its own password or email with a token, a key or an old session, which others may hold.',
    remedy: 'Send current_password in the body.',
  },
  CURRENT_PASSWORD_WRONG: {
    status: 403,
    message: 'The current password is wrong.',
    cause: 'current_password is not the present password of the user.',
    remedy: 'Send the present password. After several failures the account must wait (429).',
  },
  EXPECTATION_FAILED: {
    status: 417,
    message: 'The only supported expectation is 100-continue.',
    cause: 'The field Expect has another value.',
    remedy: 'Omit Expect.',
  },
  HEADERS_TOO_LARGE: {
    status: 431,
    message: 'The header fields are too large.',
    cause: 'All header fields together exceed details.limit bytes. Cookies are often the reason.',
    remedy: 'Send fewer or shorter fields.',
  },
  INSUFFICIENT_SCOPE: {
    status: 403,
    message: 'The credential does not permit this.',
    cause: 'The principal lacks every scope in details.scope, or `self` does not apply to the record.',
    remedy: 'Use a credential with one of the scopes. GET /whoami shows those of the present one.',
  },
  INVALID_CURSOR: {
    status: 400,
    message: 'The cursor is not one of this service.',
    cause: 'A cursor was changed, cut off, made up, or is one of a list with another filter or order.',
    remedy: 'Send a cursor as a response contains it.',
  },
  INVALID_FORM: {
    status: 403,
    message: 'The form is not from this page, or it has expired.',
    cause:
      'A form was submitted by a page of another origin, or without the token and the cookie of its page.',
    remedy: 'Open the page again, and submit its form. Programs send JSON instead.',
  },
  INVALID_QUERY: {
    status: 400,
    message: 'A part of the query is not valid.',
    cause: 'A filter, sort key, field or include is unknown, or its value has the wrong form.',
    remedy: 'Correct the parameter in details.parameter; the message names what is valid.',
  },
  INVALID_TICKET: {
    status: 403,
    message: 'The ticket has expired or was used.',
    cause: 'A ticket opens one event stream within 30 seconds.',
    remedy: 'Create another one: POST /events/tickets.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    message: 'The resource does not support this method.',
    cause: 'The path exists, with other methods. A write to a whole list requires a filter.',
    remedy: 'Use a method that the field Allow lists.',
  },
  MISDIRECTED_REQUEST: {
    status: 421,
    message: 'The service does not respond for this host.',
    cause: 'The field Host names neither a loopback address nor a name in ALLOWED_HOSTS.',
    remedy: 'Use the public name of the service, or add the name to ALLOWED_HOSTS.',
  },
  NOT_ACCEPTABLE: {
    status: 406,
    shapes: ['text'],
    message: 'None of the acceptable media types or codings is available.',
    cause: 'The field Accept excludes every representation of the resource, or Accept-Encoding every coding.',
    remedy: 'Accept one of the types or codings that the response lists.',
  },
  NOT_IMPLEMENTED: {
    status: 501,
    message: 'The server does not implement this.',
    cause: 'The method or the transfer coding is unknown.',
    remedy: 'Use a method of RFC 9110, PATCH or QUERY, and no transfer coding but chunked.',
  },
  ORIGIN_NOT_ALLOWED: {
    status: 403,
    message: 'Pages of this origin may not send this request.',
    cause:
      'Sec-Fetch-Site or Origin names a page of another site, and the request writes without a token or a key, or is for /mcp.',
    remedy: 'Add the origin to CORS_ORIGINS, or connect with a client that is not a web page.',
  },
  PASSWORD_NOT_SET: {
    status: 403,
    message: 'The user has no password that could confirm this change. An operator can set the first one.',
    cause: 'A user without a password changes its email or sets a password with a token or a key.',
    remedy: 'Use a credential with users:write, or the command `plinth users set-password`.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    message: 'The body is too large.',
    cause: 'The body exceeds details.limit bytes.',
    remedy: 'Send a smaller body, or several requests.',
  },
  RATE_LIMITED: {
    status: 429,
    message: 'Too many requests.',
    cause: 'The client has exceeded a limit of requests, of failed credentials or of incomplete bodies.',
    remedy: 'Wait for the seconds in Retry-After.',
  },
  REQUEST_TIMEOUT: {
    status: 408,
    message: 'The request did not arrive in time.',
    cause: 'The head or the body of the request arrived too slowly.',
    remedy: 'Repeat the request on a new connection.',
  },
  TOO_MANY_STREAMS: {
    status: 429,
    message: 'Too many event streams are open.',
    cause: 'A principal may have at most details.limit event streams open.',
    remedy: 'Close other streams, or read several types of events in one.',
  },
  UNAUTHORIZED: {
    status: 401,
    message: 'The request requires a valid credential.',
    cause: 'The credential is missing, malformed, expired or revoked.',
    remedy: 'Send a credential of a scheme in WWW-Authenticate.',
  },
  UNKNOWN_PARAMETER: {
    status: 400,
    message: 'There is no such query parameter here.',
    cause: 'A query parameter of a list is misspelled or not supported.',
    remedy: 'Use a parameter in details.supported. Names that begin with _ are ignored.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    message: 'The media type or the coding of the body is not supported.',
    cause: 'Content-Type or Content-Encoding is not one of details.supported.',
    remedy: 'Send one of the types or codings that the response lists, in one coding or in none.',
  },
  UNSUPPORTED_VERSION: {
    status: 400,
    message: 'API-Version names no version of this API.',
    cause: 'The version in the field API-Version does not exist.',
    remedy: 'Use a version in details.versions, or omit the field.',
  },
  URI_TOO_LONG: {
    status: 414,
    message: 'The request target is too long.',
    cause: 'Path and query exceed details.limit bytes.',
    remedy: 'Send a long query as the body of a QUERY request.',
  },
  VALIDATION_ERROR: {
    status: 400,
    shapes: ['validation'],
    message: 'The request body is not valid.',
    cause: 'The body is not JSON, or breaks the rules of the collection.',
    remedy: 'Correct each member that `errors` lists with its path and reason.',
  },
  VERSION_MISMATCH: {
    status: 400,
    message: 'API-Version contradicts the version in the path.',
    cause: 'Path and field name different versions, or an operation another one than its batch.',
    remedy: 'Omit one of the two.',
  },
  VERSION_NOT_SUPPORTED: {
    status: 505,
    message: 'The server supports HTTP/1.1 and HTTP/1.0.',
    cause: 'The request line names another version of HTTP.',
    remedy: 'Use HTTP/1.1.',
  },
} as const satisfies Readonly<Record<string, ErrorDescription>>;
