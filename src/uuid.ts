import { randomFillSync } from 'node:crypto';

const POOL = Buffer.allocUnsafe(4096);
let used = POOL.length;
let lastMs = 0;
let counter = 0;

/** A record's identity: the id, and the moment in it (milliseconds since 1970), which is its created_at. */
export interface Identity {
  readonly id: string;
  readonly ms: number;
}

/**
 * A new UUIDv7 (RFC 9562 section 5.7). Ids of one process grow strictly, also within a millisecond and when
 * the clock is set back: rand_a is a counter (section 6.2, method 1) that starts at random in its lower half.
 */
export function nextIdentity(now = Date.now()): Identity {
  if (used + 10 > POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  const random = POOL.subarray(used, used + 10);
  used += 10;
  if (now > lastMs) {
    lastMs = now;
    counter = random.readUInt16BE(0) & 0x7ff;
  } else if (++counter > 0xfff) {
    lastMs++;
    counter = random.readUInt16BE(0) & 0x7ff;
  }
  const time = lastMs.toString(16).padStart(12, '0');
  const a = (0x7000 | counter).toString(16);
  const b = (0x8000 | (random.readUInt16BE(2) & 0x3fff)).toString(16);
  return {
    id: `${time.slice(0, 8)}-${time.slice(8)}-${a}-${b}-${random.toString('hex', 4, 10)}`,
    ms: lastMs,
  };
}

/** The canonical (lower-case) form of a UUID, or undefined for any other text. */
export function parseUuid(text: string): string | undefined {
  return UUID.test(text) ? text.toLowerCase() : undefined;
}

/** The end of the year 9999, the last that RFC 3339 can write. */
const LAST_MS = 253_402_300_799_999;

/** created_at of a record, in milliseconds, from its id; for an id that no clock made, as late as can be. */
export function createdAt(id: string): number {
  return Math.min(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16), LAST_MS);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
