import { setTimeout as sleep } from 'node:timers/promises';
import { databaseErrorOf } from './database-errors.js';
import type { Db } from './db.js';
import { newestMigration } from './migrations.js';

/** Why the service cannot work now, as a word for machines; undefined: it can. */
export type NotReadyReason = 'draining' | 'maintenance' | 'database' | 'schema' | 'read-only' | undefined;

/** How long a result is reused, and how long the database may take; milliseconds. */
const FRESH_MS = 1000;
const PATIENCE_MS = 1000;
/** How long a search and a transaction are waited for: a refused connection fails at once, and busy ones are no fault. */
const REFUSAL_MS = 200;

const STATE = `select max(name) as name,
  pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as read_only
  from migrations`;

/** Returns a check that queries the database at most once a second. */
export function databaseReadiness(db: Db): () => Promise<NotReadyReason> {
  const newest = newestMigration();
  let last: { readonly at: number; readonly result: Promise<NotReadyReason> } | undefined;
  return () => {
    const now = performance.now();
    if (!last || now - last.at >= FRESH_MS) {
      const timeout = sleep<NotReadyReason>(PATIENCE_MS, 'database', { ref: false });
      last = { at: now, result: Promise.race([check(db, newest), timeout]) };
    }
    return last.result;
  };
}

/** Whether the server refuses the connections of searches or of transactions: the limit of the role or its own is reached. */
function isRefused(db: Db): Promise<boolean> {
  const works = Promise.all([db.search('select 1', []), db.transaction(async () => undefined)]);
  const refused = works.then(
    () => false,
    (error) => databaseErrorOf(error)?.code.startsWith('53') === true,
  );
  return Promise.race([refused, sleep(REFUSAL_MS, false, { ref: false })]);
}

async function check(db: Db, newest: string): Promise<NotReadyReason> {
  try {
    const [row] = await db.run(STATE, []);
    if (row?.read_only === true) {
      // A balancer may lead new connections to the primary.
      db.noteReadOnly();
      return 'read-only';
    }
    if (await isRefused(db)) return 'database';
    // A newer schema is that of the next version, during a rolling deployment.
    return typeof row?.name === 'string' && row.name >= newest ? undefined : 'schema';
  } catch {
    // The requests that need the database report the error.
    return 'database';
  }
}
