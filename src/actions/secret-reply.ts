import { JSON_TYPE } from '../http/media-types.js';
import type { Reply } from '../http/reply.js';

/** Nothing may store the response. */
const HEADERS = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'];

/** A response about a secret. */
export function secretReply(status: number, value: unknown, headers: readonly string[] = []): Reply {
  return { status, headers: [...HEADERS, ...headers], body: JSON.stringify(value) };
}

/** A time (milliseconds since 1970) in the format of RFC 3339; null if there is none. */
export function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
