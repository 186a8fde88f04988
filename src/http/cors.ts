import type { IncomingHttpHeaders } from 'node:http';

/** What pages of other origins may do with the answers (the CORS protocol of the Fetch standard, section 3.2). */
export interface Cors {
  /** The fields that every answer to a request carries, also an error. */
  readonly fields: (origin: string | undefined) => readonly string[];
  /** The further fields of an answer to OPTIONS; none when it is no preflight of an origin that is let in. */
  readonly preflight: (headers: IncomingHttpHeaders, allow: string) => readonly string[];
}

/** The request fields that a page may set beyond those that it always may. */
const ALLOWED = [
  'Authorization',
  'Content-Type',
  'If-Match',
  'If-None-Match',
  'If-Modified-Since',
  'If-Unmodified-Since',
  'Idempotency-Key',
  'Prefer',
  'Last-Event-ID',
  'API-Version',
  'X-API-Key',
  'X-Request-Id',
  'X-Timestamp',
  'X-Signature',
  'X-Key-Id',
].join(', ');

/** The response fields that a page may read beyond those that it always may. */
const EXPOSED = [
  'ETag',
  'Location',
  'Link',
  'Allow',
  'Accept-Patch',
  'Accept-Post',
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
].join(', ');

/** Seconds that a browser may keep the answer to a preflight. */
const MAX_AGE = '600';

const FOREIGN = ['Vary', 'Origin'];

/**
 * Lets pages of these origins in, each by its exact name; undefined when there are none. Whoever else asks is answered
 * as without CORS, and a browser keeps the answer from its page. Credentials are not let in: nothing here is
 * authenticated by a cookie, and what a page itself puts into a field needs no leave.
 */
export function corsFor(origins: readonly string[]): Cors | undefined {
  if (origins.length === 0) return undefined;
  const known = new Map(
    origins.map((origin) => [
      origin,
      [...FOREIGN, 'Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED],
    ]),
  );
  return {
    fields: (origin) => known.get(origin ?? '') ?? FOREIGN,
    preflight: (headers, allow) =>
      known.has(headers.origin ?? '') && headers['access-control-request-method'] !== undefined
        ? [
            'Access-Control-Allow-Methods',
            allow,
            'Access-Control-Allow-Headers',
            ALLOWED,
            'Access-Control-Max-Age',
            MAX_AGE,
          ]
        : [],
  };
}
