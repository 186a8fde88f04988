import type { Log } from '../telemetry/log.js';
import { singleFlight } from '../work/shared-runs.js';
import { AUTH_SQL, EVENTS_SQL, IDEMPOTENCY_SQL } from './core-statements.js';
import type { Db, Value } from './db.js';
import type { Database } from './open-database.js';
import { compact, uncompacted } from './row-counts.js';

/** A statement that deletes a batch of expired rows, and returns no row when none is left. */
export interface PruneTask {
  readonly text: string;
  readonly args: readonly Value[];
}

export interface MaintenanceOptions extends EventLimits {
  readonly idempotencyTtlSeconds: number;
  readonly idempotencyMaxBytes: number;
  readonly tombstoneTtlSeconds: number;
  readonly historyRetentionSeconds: number;
  /** The expired rows of features. */
  readonly prunes?: readonly PruneTask[];
}

const COMPACT_MS = 2000;
const PRUNE_MS = 30_000;
/** The events can exceed their byte limit by what is written in this time. */
const PRUNE_EVENTS_MS = 2000;
/** Batches of a thousand rows that one run deletes per statement. */
const MAX_BATCHES = 50;

/** Compacts the row counts and deletes expired rows at intervals; returns the function that stops this. */
export function startMaintenance(
  { db, schema }: Pick<Database, 'db' | 'schema'>,
  log: Log,
  options: MaintenanceOptions,
): () => void {
  const stops = [
    every(COMPACT_MS, log, compaction(db, schema)),
    every(PRUNE_EVENTS_MS, log, () => pruneEvents(db, options)),
    every(PRUNE_MS, log, () => prune(db, options)),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** Compacts what has changed, and continues what the last run left unfinished. */
function compaction(db: Db, schema: string): () => Promise<void> {
  const unfinished = new Set<string>();
  return async () => {
    for (const collection of new Set([...unfinished, ...(await uncompacted(db.run))])) {
      if (await compact(db, schema, collection)) unfinished.add(collection);
      else unfinished.delete(collection);
    }
  };
}

/** Deletes expired rows, in batches small enough not to delay other statements. */
export async function prune(db: Db, options: MaintenanceOptions): Promise<void> {
  const tasks: readonly PruneTask[] = [
    { text: IDEMPOTENCY_SQL.prune_keys, args: [options.idempotencyTtlSeconds] },
    { text: IDEMPOTENCY_SQL.prune_key_bytes, args: [options.idempotencyMaxBytes] },
    { text: IDEMPOTENCY_SQL.prune_tombstones, args: [options.tombstoneTtlSeconds] },
    { text: AUTH_SQL.prune_taken, args: [] },
    { text: AUTH_SQL.prune_limits, args: [] },
    { text: EVENTS_SQL.prune_tickets, args: [] },
    { text: EVENTS_SQL.prune_history, args: [options.historyRetentionSeconds] },
    ...(options.prunes ?? []),
    { text: EVENTS_SQL.truncate_expired, args: [] },
    {
      text: EVENTS_SQL.change_segment,
      args: [options.eventsRetentionSeconds, options.eventsMax, options.eventsMaxBytes],
    },
  ];
  await pruneEvents(db, options);
  for (const { text, args } of tasks) {
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      if ((await db.run(text, args)).length === 0) break;
    }
  }
}

/**
 * Runs work at intervals, skipping those during which it still runs. The next run repeats what one failed to do. Returns the
 * function that ends this: a run that the closing database interrupts then is no failure.
 */
function every(ms: number, log: Log, work: () => Promise<unknown>): () => void {
  let isStopped = false;
  const run = singleFlight(() =>
    work().catch((err) => {
      if (!isStopped) log.warn({ err }, 'maintenance failed and will be repeated');
    }),
  );
  const timer = setInterval(run, ms).unref();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}

/** How many events are stored. */
interface EventLimits {
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
function pruneEvents(db: Db, limits: EventLimits): Promise<void> {
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
