import type { Log } from '../telemetry/log.js';
import { singleFlight } from '../work/shared-runs.js';
import { AUTH_SQL, EVENTS_SQL, IDEMPOTENCY_SQL } from './core-statements.js';
import type { Db, Value } from './db.js';
import { type EventLimits, pruneEvents } from './event-pruning.js';
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
