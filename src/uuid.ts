import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** The id of a new record and the time in it, its created_at, in milliseconds since 1970. */
export interface Identity {
  readonly id: string;
  readonly ms: number;
}

/** How far the ids of a process may be ahead of its clock: a clock that was wrong by more is followed back. */
const MAX_AHEAD_MS = 10_000;

/**
 * A new UUIDv7 (RFC 9562 section 5.7). Within a process each id is greater than the one before, also within a
 * millisecond and after the clock is set back by up to ten seconds.
 */
export function nextIdentity(): Identity {
  const random = nextRandom();
  const now = Date.now();
  if (now > ms || ms - now > MAX_AHEAD_MS) {
    ms = now;
    sequence = random.readInt32BE(6) & 0x7fffffff;
  } else {
    sequence = (sequence + 1) | 0;
    if (sequence === 0) ms++;
  }
  return { id: v7({ random, msecs: ms, seq: sequence }), ms };
}

/** The time and the sequence number (RFC 9562 section 6.2, method 1) of the last id. */
let ms = 0;
let sequence = 0;

/** Random bytes for many ids: a call for each id would take longer than the rest of it. */
const pool = Buffer.alloc(16_384);
let used = pool.length;

function nextRandom(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += 16;
  return pool.subarray(used - 16, used);
}

/** The canonical (lower-case) form of a UUID of any version, or undefined for any other text. */
export function parseUuid(text: string): string | undefined {
  return UUID.test(text) ? text.toLowerCase() : undefined;
}

/** The end of the year 9999, the last that RFC 3339 can write. */
const LAST_MS = 253_402_300_799_999;

/** The time in a UUIDv7, in milliseconds since 1970. An id of another version gives a time that RFC 3339 can write. */
export function createdAt(id: string): number {
  return Math.min(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16), LAST_MS);
}

/** `validate` of the uuid package accepts only versions that exist; a client's id may have any. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
