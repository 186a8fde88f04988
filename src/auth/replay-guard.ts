import { hash as digest } from 'node:crypto';
import { createBatcher } from '../db/batcher.js';
import type { Db } from '../db/db.js';
import { readStatements } from '../db/statements.js';
import { sharing } from '../telemetry/metrics.js';

const TAKE = readStatements('auth.sql').get('take')!;

/** Those that come in one turn of the event loop share a statement, and a commit: 6 x the signed requests. */
const TAKES = { max: 256, inFlight: 2, waiting: 20_000 };

/**
 * `first`: no process that shares the database has accepted the value before. `expired`: by the database's clock its
 * time is over, so that it may have been forgotten.
 */
export type Use = 'first' | 'repeated' | 'expired';

/**
 * Remembers `value` until then, in seconds since 1970, for all processes that share the database; only its SHA-256 is
 * stored.
 */
export type TakeOnce = (value: string, until: number) => Promise<Use>;

interface Taken {
  readonly hash: string;
  readonly until: number;
}

export function createTakeOnce(db: Db): TakeOnce {
  const shared = sharing(db.metrics, 'take', 'credentials');
  const take = createBatcher<Taken, Use>({ ...TAKES, sharing: shared }, async (asked) => {
    const rows = await db.run(TAKE, [JSON.stringify(asked)]);
    const uses = new Map(rows.map(({ hash, use }) => [hash as string, use as Use]));
    return asked.map(({ hash }) => {
      const use = uses.get(hash) ?? 'repeated';
      // Of the same value twice in one statement, the first has it.
      if (use === 'first') uses.set(hash, 'repeated');
      return use;
    });
  });
  return (value, until) => take({ hash: digest('sha256', value, 'base64'), until });
}
