import { JSON_TYPE } from '../http/media-types.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { pageFields } from './list-lines.js';

/** Nothing may store the response. */
const HEADERS = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'];

/** A JSON response that nothing may store, as about a secret. */
export function secretReply(status: number, value: unknown, headers: readonly string[] = []): Reply {
  return { status, headers: [...HEADERS, ...headers], body: JSON.stringify(value) };
}

/** A time (milliseconds since 1970) in the format of RFC 3339; null if there is none. */
export function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

/** A page of a list of the service's own, which is read from its first entry on. */
export interface ForwardPage {
  readonly data: readonly unknown[];
  /** Maximum entries of a page. */
  readonly limit: number;
  /** The path of the next page, without the version's prefix; null: there is none. */
  readonly next: string | null;
}

/** The response with a page, in the form that the version has. */
export function forwardReply(
  { version, prefix, path, query }: Request,
  { data, limit, next }: ForwardPage,
): Reply {
  const self = `${prefix}${path}${query.text === '' ? '' : `?${query.text}`}`;
  const isNumbered = version.lists === 'numbered';
  const following = next === null ? null : prefix + next;
  const links = { self, next: following, ...(!isNumbered && { prev: null }), first: prefix + path };
  if (isNumbered) return secretReply(200, { data, meta: { limit, count: data.length }, links });
  return secretReply(200, { data, meta: { limit }, links }, pageFields({ ...links, self: null }));
}
