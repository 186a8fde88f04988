import { EVENTS_SQL } from './core-statements.js';
import type { Db } from './db.js';

/** How many events are stored. */
export interface EventLimits {
  readonly eventsRetentionSeconds: number;
  readonly eventsMax: number;
  readonly eventsMaxBytes: number;
  /** Up to which event this process knows the feed to be final; undefined: no process reads it here. */
  readonly horizon?: (() => number) | undefined;
  /** Called with the number of events that expired before webhooks received them. */
  readonly onDropped?: ((events: number) => void) | undefined;
}

/** The byte limit is measured in this many blocks of events; it is exceeded by at most one. */
const BLOCKS = 64;
/** By which factor events that wait to become deliveries may exceed the byte limit. */
const WAITING_FACTOR = 2;

/**
 * Lets the oldest events expire until their age, number and bytes are within the limits. Events that enabled webhooks have
 * still to receive are retained up to twice the bytes; beyond that the oldest are dropped and counted per webhook.
 */
export function pruneEvents(db: Db, limits: EventLimits): Promise<void> {
  const former = running.get(db)?.catch(() => undefined);
  const run = former ? former.then(() => pruneOnce(db, limits)) : pruneOnce(db, limits);
  running.set(db, run);
  return run;
}

/** The last run of each pool. A statement skips the floor while another one holds it, so that two runs would get in their way. */
const running = new WeakMap<Db, Promise<void>>();

async function pruneOnce(db: Db, limits: EventLimits): Promise<void> {
  const { eventsRetentionSeconds, eventsMax, eventsMaxBytes, horizon, onDropped } = limits;
  const final = horizon?.() ?? Number.MAX_SAFE_INTEGER;
  const blockBytes = Math.max(1, Math.floor(eventsMaxBytes / BLOCKS));
  await repeat(db, 'measure', [final, blockBytes]);
  const [waiting] = await db.run(EVENTS_SQL.fanned_out, []);
  const position = (waiting?.position ?? null) as string | null;
  // A position is a cursor: the number of an event in base 36.
  const fannedOut = position === null ? 0 : Number.parseInt(position, 36);
  const end = waiting ? Math.min(final, fannedOut) : final;
  const floor = await byteFloor(db, eventsMaxBytes - blockBytes);
  await repeat(db, 'expire', [eventsRetentionSeconds, eventsMax, end, floor]);
  if (waiting) {
    const dropFloor = await byteFloor(db, WAITING_FACTOR * eventsMaxBytes - blockBytes);
    const dropped = dropFloor > fannedOut ? await drop(db, dropFloor, position, fannedOut) : 0;
    if (dropped > 0) onDropped?.(dropped);
  }
  await db.run(EVENTS_SQL.forget_measured, []);
}

/** Runs a statement until it returns no row. */
async function repeat(
  db: Db,
  name: keyof typeof EVENTS_SQL,
  args: readonly (string | number)[],
): Promise<void> {
  while ((await db.run(EVENTS_SQL[name], args)).length > 0);
}

/** The last event that must expire so that the rest has at most `bytes`; 0: none. */
async function byteFloor(db: Db, bytes: number): Promise<number> {
  const [row] = await db.run(EVENTS_SQL.byte_floor, [bytes]);
  return Number(row?.until ?? 0);
}

async function drop(db: Db, floor: number, position: string | null, fannedOut: number): Promise<number> {
  let events = 0;
  for (;;) {
    const [row] = await db.run(EVENTS_SQL.drop, [floor, position, fannedOut]);
    if (!row) return events;
    events += row.dropped as number;
  }
}
