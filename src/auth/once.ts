import { createHash } from 'node:crypto';
import type { Db } from '../db/connect.js';
import { readStatements } from '../db/queries.js';

const TAKE = readStatements('auth.sql').get('take')!;

/**
 * Whether `value` comes for the first time, in any process that shares the database. It is remembered until then,
 * in seconds since 1970; only its SHA-256 is stored.
 */
export async function takeOnce(db: Db, value: string, until: number): Promise<boolean> {
  const hash = createHash('sha256').update(value).digest('base64');
  return (await db.run(TAKE, [hash, until])).length > 0;
}
