import { hash as digest } from 'node:crypto';
import { createBatcher } from '../db/batcher.js';
import { AUTH_SQL } from '../db/core-statements.js';
import type { Db } from '../db/db.js';
import { sharing } from '../telemetry/instruments.js';

/** Values from one tick share a statement and its commit. */
const BATCHES = { max: 256, inFlight: 2, waiting: 20_000 };

/**
 * `first`: no process that shares the database has accepted the value before. `expired`: its time is over by the
 * database's clock, so it may have been deleted.
 */
type Use = 'first' | 'repeated' | 'expired';

/** Stores the SHA-256 of `value` until `until`, in seconds since 1970, for all processes that share the database. */
export type CheckReplay = (value: string, until: number) => Promise<Use>;

interface Entry {
  readonly hash: string;
  readonly until: number;
}

export function createReplayGuard(db: Db): CheckReplay {
  const shared = sharing(db.metrics, 'take', 'credentials');
  const take = createBatcher<Entry, Use>({ ...BATCHES, sharing: shared }, async (entries) => {
    const rows = await db.run(AUTH_SQL.take, [JSON.stringify(entries)]);
    const uses = new Map(rows.map(({ hash, use }) => [hash as string, use as Use]));
    return entries.map(({ hash }) => {
      const use = uses.get(hash) ?? 'repeated';
      // For a value that is twice in one statement, the first entry wins.
      if (use === 'first') uses.set(hash, 'repeated');
      return use;
    });
  });
  return (value, until) => take({ hash: digest('sha256', value, 'base64'), until });
}
