import type { Db } from './db.js';
import { readStatements } from './statements.js';

/** How many events are stored. */
export interface EventLimits {
  readonly eventsRetentionSeconds: number;
  readonly eventsMax: number;
  readonly eventsMaxBytes: number;
  /** How far this process knows the events to be final; undefined: nobody reads them here. */
  readonly horizon?: (() => number) | undefined;
  /** Called when events were deleted that webhooks had still to receive. */
  readonly onDropped?: ((events: number) => void) | undefined;
}

const SQL = readStatements('events.sql');
/** Blocks of events that the byte limit is made of: as much as the limit may be missed by. */
const BLOCKS = 64;
/** How far events that wait to become deliveries may exceed the byte limit. */
const PATIENCE = 2;

/**
 * Deletes the oldest events until age, number and bytes are within their limits. What enabled webhooks have still to
 * receive stays, up to twice the bytes; beyond that the oldest is dropped, and each webhook has the number.
 */
export async function pruneEvents(db: Db, limits: EventLimits): Promise<void> {
  const { eventsRetentionSeconds, eventsMax, eventsMaxBytes, horizon, onDropped } = limits;
  const final = horizon?.() ?? Number.MAX_SAFE_INTEGER;
  const block = Math.max(1, Math.floor(eventsMaxBytes / BLOCKS));
  await untilNothing(db, 'measure', [final, block]);
  const [waiting] = await db.run(SQL.get('fanned_out')!, []);
  const position = (waiting?.position ?? null) as string | null;
  // A position is a cursor: its text is the number of an event, in base 36.
  const fannedOut = position === null ? 0 : Number.parseInt(position, 36);
  const end = waiting ? Math.min(final, fannedOut) : final;
  const floor = await byteFloor(db, eventsMaxBytes - block);
  await untilNothing(db, 'prune', [eventsRetentionSeconds, eventsMax, end, floor]);
  if (waiting) {
    const dropped = await drop(
      db,
      await byteFloor(db, PATIENCE * eventsMaxBytes - block),
      position,
      fannedOut,
    );
    if (dropped > 0) onDropped?.(dropped);
  }
  await db.run(SQL.get('forget_measured')!, []);
}

async function untilNothing(db: Db, name: string, args: readonly (string | number)[]): Promise<void> {
  while ((await db.run(SQL.get(name)!, args)).length > 0);
}

/** Up to where events must go for the rest to have at most so many bytes; 0: none must. */
async function byteFloor(db: Db, bytes: number): Promise<number> {
  const [row] = await db.run(SQL.get('byte_floor')!, [bytes]);
  return Number(row?.until ?? 0);
}

async function drop(db: Db, floor: number, position: string | null, fannedOut: number): Promise<number> {
  if (floor <= fannedOut) return 0;
  let events = 0;
  for (;;) {
    const [row] = await db.run(SQL.get('drop')!, [floor, position, fannedOut]);
    if (!row) return events;
    events += row.dropped as number;
  }
}
