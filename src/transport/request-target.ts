import type { IncomingMessage } from 'node:http';
import {
  badRequest,
  headersTooLarge,
  httpVersionNotSupported,
  notImplemented,
  uriTooLong,
} from '../errors/request-errors.js';
import { NO_QUERY, Query } from '../http/query-parameters.js';
import { MAX_TARGET, METHODS } from '../http/router.js';

/** Bytes of the header fields with their separators. */
export const MAX_HEADERS = 16_384;

export const ALL_METHODS = METHODS.join(', ');
/** Further methods of RFC 9110 section 9.3 are 405 for every resource. Others are 501. */
const KNOWN_METHODS = new Set([...METHODS, 'TRACE', 'CONNECT']);

/** uri-host and an optional port (RFC 9110 section 7.2). */
const AUTHORITY = /^(?:\[[0-9a-f:.]+\]|[a-z0-9\-._~!$&'()*+,;=%]+)(?::\d*)?$/i;

/**
 * Fields that a request may have once: Host, and those of a credential. Node drops or joins repeated ones, so another
 * reader of the same request could see another credential.
 */
const SINGLE_FIELDS = ['host', 'authorization', 'x-api-key', 'x-signature', 'x-timestamp', 'x-key-id'];
const SINGLE_FIELD_LENGTHS = new Set(SINGLE_FIELDS.map(({ length }) => length));

/** A request target without its scheme and authority; path `*` is the server as a whole. */
export interface Target {
  readonly path: string;
  readonly query: Query;
}

/**
 * Reads the request target, and rejects what Node's parser accepts and RFC 9112 does not: throws 400 for a missing, repeated or malformed Host
 * (section 3.2), for a repeated credential, for Transfer-Encoding from an HTTP/1.0 client (6.1) and for a malformed target; 414; 431;
 * 501 for unknown methods and transfer codings; 505 for HTTP/2.0 and HTTP/0.9 in a request line.
 */
export function readTarget(req: IncomingMessage): Target {
  const { url = '', method = '', rawHeaders } = req;
  if (req.httpVersionMajor !== 1) throw httpVersionNotSupported();
  if (url.length > MAX_TARGET) throw uriTooLong(MAX_TARGET);
  /** One bit per field of SINGLE_FIELDS. */
  let seen = 0;
  let bytes = 0;
  let repeated: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    bytes += name.length + rawHeaders[at + 1]!.length + 4;
    if (!SINGLE_FIELD_LENGTHS.has(name.length)) continue;
    const index = SINGLE_FIELDS.indexOf(name.toLowerCase());
    if (index < 0) continue;
    if (seen & (1 << index)) repeated = SINGLE_FIELDS[index];
    seen |= 1 << index;
  }
  if (bytes > MAX_HEADERS) throw headersTooLarge(MAX_HEADERS);
  if (!KNOWN_METHODS.has(method)) throw notImplemented('method');
  requireHost(req, (seen & 1) === 1);
  if (repeated !== undefined) throw badRequest(`The field ${repeated} was repeated.`);
  if (req.headers['transfer-encoding'] !== undefined) requireFraming(req, req.headers['transfer-encoding']);
  return splitTarget(url, method);
}

function requireHost(req: IncomingMessage, hasHost: boolean): void {
  if (!hasHost && req.httpVersionMinor === 0) return;
  if (!hasHost || !AUTHORITY.test(req.headers.host ?? ''))
    throw badRequest('A request has one valid Host field.');
}

function requireFraming(req: IncomingMessage, coding: string): void {
  if (req.httpVersionMinor === 0) throw badRequest('HTTP/1.0 has no Transfer-Encoding.');
  if (coding.toLowerCase() !== 'chunked') throw notImplemented('transfer coding');
}

function splitTarget(url: string, method: string): Target {
  if (url === '*' && method === 'OPTIONS') return { path: '*', query: NO_QUERY };
  const origin = url[0] === '/' ? url : originOf(url);
  // A target has no fragment (section 3.2); the router would leave it out.
  if (origin.includes('#')) throw badRequest('The request target is malformed.');
  const mark = origin.indexOf('?');
  return mark < 0
    ? { path: origin, query: NO_QUERY }
    : { path: origin.slice(0, mark), query: new Query(origin.slice(mark + 1)) };
}

/** The path and query of a target in absolute-form (RFC 9112 section 3.2.2). */
function originOf(url: string): string {
  const scheme = /^https?:\/\//i.exec(url)?.[0] ?? '';
  const rest = url.slice(scheme.length);
  const end = rest.search(/[/?]/);
  const authority = end < 0 ? rest : rest.slice(0, end);
  if (scheme === '' || !AUTHORITY.test(authority)) throw badRequest('The request target is malformed.');
  const path = end < 0 ? '' : rest.slice(end);
  return path[0] === '/' ? path : `/${path}`;
}
