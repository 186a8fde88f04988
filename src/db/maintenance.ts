import type { Log } from '../telemetry/log.js';
import type { Db, Value } from './db.js';
import { type EventLimits, pruneEvents } from './event-pruning.js';
import { compact, uncompacted } from './row-counts.js';
import { readStatements } from './statements.js';

export interface MaintenanceOptions extends EventLimits {
  readonly idempotencyTtlSeconds: number;
  readonly idempotencyMaxBytes: number;
  readonly tombstoneTtlSeconds: number;
  readonly webhookRetentionSeconds: number;
}

const FOLD_MS = 2000;
const PRUNE_MS = 30_000;
/** Writers can exceed the byte limit of events by what they write in this time. */
const PRUNE_EVENTS_MS = 2000;
/** Batches of a thousand that one turn prunes at the most. */
const MAX_BATCHES = 50;

/** Adds up the totals' deltas and prunes what is past its time, now and then; gives the function that ends it. */
export function startMaintenance(db: Db, log: Log, options: MaintenanceOptions): () => void {
  const ends = [
    every(FOLD_MS, log, folding(db)),
    every(PRUNE_EVENTS_MS, log, () => pruneEvents(db, options)),
    every(PRUNE_MS, log, () => prune(db, options)),
  ];
  return () => {
    for (const end of ends) end();
  };
}

const KEPT = readStatements('idempotency.sql');
const TAKEN = readStatements('auth.sql');
const DELIVERIES = readStatements('webhooks.sql');

/** Adds up what there is, and goes on with what the last turn left. */
function folding(db: Db): () => Promise<void> {
  const left = new Set<string>();
  return async () => {
    for (const collection of new Set([...left, ...(await uncompacted(db.run))])) {
      if (await compact(db, collection)) left.add(collection);
      else left.delete(collection);
    }
  };
}

/** Deletes what is past its time, in batches small enough not to hold anybody up. */
export async function prune(db: Db, options: MaintenanceOptions): Promise<void> {
  const work: [statement: string, args: Value[]][] = [
    [KEPT.get('prune_keys')!, [options.idempotencyTtlSeconds]],
    [KEPT.get('prune_key_bytes')!, [options.idempotencyMaxBytes]],
    [KEPT.get('prune_tombstones')!, [options.tombstoneTtlSeconds]],
    [TAKEN.get('prune_taken')!, []],
    [TAKEN.get('prune_limits')!, []],
    [DELIVERIES.get('prune_deliveries')!, [options.webhookRetentionSeconds]],
    [DELIVERIES.get('prune_left')!, [options.webhookRetentionSeconds]],
  ];
  for (const [statement, args] of work) {
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      if ((await db.run(statement, args)).length === 0) break;
    }
  }
  await pruneEvents(db, options);
}

/** Runs work again and again, one run at a time. Nothing depends on a single run: the next one does what it left. */
function every(ms: number, log: Log, work: () => Promise<void>): () => void {
  let busy = false;
  const timer = setInterval(async () => {
    if (busy) return;
    busy = true;
    try {
      await work();
    } catch (error) {
      log.warn({ err: error }, 'housekeeping has to wait for the database');
    } finally {
      busy = false;
    }
  }, ms);
  timer.unref();
  return () => clearInterval(timer);
}
