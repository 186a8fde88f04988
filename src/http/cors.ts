import type { IncomingHttpHeaders } from 'node:http';

/** Access for pages of other origins (CORS protocol: Fetch standard, section 3.2). */
export type Cors = NonNullable<ReturnType<typeof corsFor>>;

/** Names of header fields of requests and of responses. */
export interface FieldNames {
  readonly request?: readonly string[];
  readonly response?: readonly string[];
}

/** Request fields that pages may set, besides those that the standard always allows. */
const ALLOWED = [
  'Authorization',
  'Content-Type',
  'Content-Encoding',
  'If-Match',
  'If-None-Match',
  'If-Modified-Since',
  'If-Unmodified-Since',
  'Cache-Control',
  'Idempotency-Key',
  'Prefer',
  'Last-Event-ID',
  'API-Version',
  'X-API-Key',
  'X-Request-Id',
  'X-Timestamp',
  'X-Signature',
  'X-Key-Id',
  'DPoP',
  'Traceparent',
  'Tracestate',
];

/** Response fields that pages may read, besides those that the standard always allows. */
const EXPOSED = [
  'ETag',
  'Location',
  'Link',
  'Allow',
  'Accept-Patch',
  'Accept-Post',
  'Accept-Query',
  'Accept-Encoding',
  'X-Total-Count',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'API-Version',
  'Deprecation',
  'Sunset',
  'X-Request-Id',
  'WWW-Authenticate',
  'Idempotency-Replayed',
  'Preference-Applied',
  'Events-Cursor',
];

/** Seconds for which a browser may cache the response to a preflight. */
const MAX_AGE = '600';

const OTHER_ORIGIN = ['Vary', 'Origin'];

/**
 * Allows pages of these exact origins, with the fields of features as well; undefined: none are allowed. Other origins get the usual response, which
 * browsers withhold from their pages. There is no Access-Control-Allow-Credentials, since a cookie identifies the callers
 * of pages alone.
 */
export function corsFor(origins: readonly string[], ofFeatures: readonly FieldNames[]) {
  if (origins.length === 0) return undefined;
  const allowed = [...ALLOWED, ...ofFeatures.flatMap(({ request = [] }) => request)].join(', ');
  const exposed = [...EXPOSED, ...ofFeatures.flatMap(({ response = [] }) => response)].join(', ');
  const permitted = ['Access-Control-Allow-Headers', allowed, 'Access-Control-Max-Age', MAX_AGE];
  const known = new Map(
    origins.map((origin) => [
      origin,
      [...OTHER_ORIGIN, 'Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', exposed],
    ]),
  );
  const isPreflight = (headers: IncomingHttpHeaders): boolean =>
    known.has(headers.origin ?? '') && headers['access-control-request-method'] !== undefined;
  return {
    /** Whether a request with the method OPTIONS is a preflight of an allowed origin. */
    isPreflight,
    /** The fields of every response, also of errors. */
    fields: (origin: string | undefined): readonly string[] => known.get(origin ?? '') ?? OTHER_ORIGIN,
    /** Further fields of the response to a preflight of an allowed origin; empty for any other OPTIONS. */
    preflight: (headers: IncomingHttpHeaders, allow: string): readonly string[] =>
      isPreflight(headers) ? ['Access-Control-Allow-Methods', allow, ...permitted] : [],
  };
}
