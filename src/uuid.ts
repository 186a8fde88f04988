import { randomFillSync } from 'node:crypto';

/** The id of a new record and the time in it, its created_at, in milliseconds since 1970. */
export interface Identity {
  readonly id: string;
  readonly ms: number;
}

/** Greater than every UUIDv7: the first id of lists with the newest first. */
export const ABOVE_IDS = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

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
  return { id: uuidOf(ms, sequence, random), ms };
}

/** The time and the sequence number (RFC 9562 section 6.2, method 1) of the last id. */
let ms = 0;
let sequence = 0;

/** A UUIDv7: 48 bits of time, then the sequence number in 32 bits around the version and the variant; the rest is random. */
export function uuidOf(time: number, number: number, random: Buffer): string {
  random.writeUIntBE(time, 0, 6);
  random[6] = 0x70 | ((number >>> 28) & 0x0f);
  random[7] = (number >>> 20) & 0xff;
  random[8] = 0x80 | ((number >>> 14) & 0x3f);
  random[9] = (number >>> 6) & 0xff;
  random[10] = ((number << 2) & 0xfc) | (random[10]! & 0x03);
  const hex = random.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

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

/** Whether a canonical UUID is one of version 7, whose beginning is a time. */
export const isVersion7 = (id: string): boolean => /^.{14}7.{4}[89ab]/.test(id);

/** The end of the year 9999, the last that RFC 3339 can write. */
const LAST_MS = 253_402_300_799_999;

/** The time in a UUIDv7, in milliseconds since 1970. An id of another version gives a time that RFC 3339 can write. */
export function createdAt(id: string): number {
  return Math.min(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16), LAST_MS);
}

/** Of any version: a client's id may have one that does not exist. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
