import { singleFlight } from '../single-flight.js';
import type { Log } from '../telemetry/log.js';
import type { Db, Value } from './db.js';
import { type EventLimits, pruneEvents } from './event-pruning.js';
import type { Database } from './open.js';
import { compact, uncompacted } from './row-counts.js';
import { readStatements } from './statements.js';

export interface MaintenanceOptions extends EventLimits {
  readonly idempotencyTtlSeconds: number;
  readonly idempotencyMaxBytes: number;
  readonly tombstoneTtlSeconds: number;
  readonly webhookRetentionSeconds: number;
  /** Saves what features have counted in this process. */
  readonly save?: () => Promise<unknown>;
}

const COMPACT_MS = 2000;
const PRUNE_MS = 30_000;
const SAVE_MS = 5000;
/** Days for which calls of versions are retained. */
const CALL_DAYS = 30;
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
  const { save } = options;
  const timers = [
    every(COMPACT_MS, log, compaction(db, schema)),
    every(PRUNE_EVENTS_MS, log, () => pruneEvents(db, options)),
    every(PRUNE_MS, log, () => prune(db, options)),
    ...(save ? [every(SAVE_MS, log, save)] : []),
  ];
  return () => timers.forEach(clearInterval);
}

const IDEMPOTENCY = readStatements('idempotency.sql');
const AUTH = readStatements('auth.sql');
const CALLS = readStatements('features/version-calls/version-calls.sql');
const EVENTS = readStatements('events.sql');
const ISSUER = readStatements('features/issuer/issuer.sql');
const WEBHOOKS = readStatements('features/webhooks/webhooks.sql');

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
  const work: [statement: string, args: Value[]][] = [
    [IDEMPOTENCY.get('prune_keys')!, [options.idempotencyTtlSeconds]],
    [IDEMPOTENCY.get('prune_key_bytes')!, [options.idempotencyMaxBytes]],
    [IDEMPOTENCY.get('prune_tombstones')!, [options.tombstoneTtlSeconds]],
    [AUTH.get('prune_taken')!, []],
    [AUTH.get('prune_limits')!, []],
    [CALLS.get('prune')!, [CALL_DAYS]],
    [EVENTS.get('prune_tickets')!, []],
    [ISSUER.get('prune_records')!, []],
    [WEBHOOKS.get('truncate_expired')!, [options.webhookRetentionSeconds]],
    [WEBHOOKS.get('change_segment')!, [options.webhookRetentionSeconds]],
    [WEBHOOKS.get('prune_deliveries')!, [options.webhookRetentionSeconds]],
    [WEBHOOKS.get('prune_left')!, [options.webhookRetentionSeconds]],
    [EVENTS.get('truncate_expired')!, []],
    [
      EVENTS.get('change_segment')!,
      [options.eventsRetentionSeconds, options.eventsMax, options.eventsMaxBytes],
    ],
  ];
  await pruneEvents(db, options);
  for (const [statement, args] of work) {
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      if ((await db.run(statement, args)).length === 0) break;
    }
  }
}

/** Runs work at intervals, skipping those during which it still runs. The next run repeats what one failed to do. */
function every(ms: number, log: Log, work: () => Promise<unknown>): NodeJS.Timeout {
  const run = singleFlight(() =>
    work().catch((err) => log.warn({ err }, 'maintenance failed and will be repeated')),
  );
  return setInterval(run, ms).unref();
}
