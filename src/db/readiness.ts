import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from './db.js';
import { newestMigration } from './migrate.js';

/** Why the service cannot work now, as a word for machines; undefined: it can. */
export type NotReadyReason = 'draining' | 'maintenance' | 'database' | 'schema' | undefined;

/** How long a result is reused, and how long the database may take; milliseconds. */
const FRESH_MS = 1000;
const PATIENCE_MS = 1000;

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

async function check(db: Db, newest: string): Promise<NotReadyReason> {
  try {
    const [row] = await db.run('select max(name) as name from migrations', []);
    // A newer schema is that of the next version, during a rolling deployment.
    return typeof row?.name === 'string' && row.name >= newest ? undefined : 'schema';
  } catch {
    // The requests that need the database report the error.
    return 'database';
  }
}
