import { hash as digest } from 'node:crypto';
import type { Db } from '../db/connect.js';
import { group } from '../db/group.js';
import { readStatements } from '../db/queries.js';
import { sharing } from '../observe/metrics.js';

const TAKE = readStatements('auth.sql').get('take')!;

/** Those that come in one turn of the event loop share a statement, and a commit: 6 x the signed requests. */
const TAKES = { most: 256, underWay: 2, waiting: 20_000 };

/**
 * Whether `value` comes for the first time, in any process that shares the database. It is remembered until then,
 * in seconds since 1970; only its SHA-256 is stored.
 */
export type TakeOnce = (value: string, until: number) => Promise<boolean>;

interface Taken {
  readonly hash: string;
  readonly until: number;
}

export function createTakeOnce(db: Db): TakeOnce {
  const shared = sharing(db.metrics, 'take', 'credentials');
  const take = group<Taken, boolean>({ ...TAKES, sharing: shared }, async (asked) => {
    const rows = await db.run(TAKE, [JSON.stringify(asked)]);
    const fresh = new Set(rows.map(({ hash }) => hash as string));
    // Of the same value twice in one statement, the first has it.
    return asked.map(({ hash }) => fresh.delete(hash));
  });
  return (value, until) => take({ hash: digest('sha256', value, 'base64'), until });
}
