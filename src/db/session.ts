import type postgres from 'postgres';
import type { Connection } from './pool/connection.js';
import { Dialler, type DialOptions } from './pool/host-dialler.js';
import { HostOrder } from './pool/host-order.js';

export interface SessionOptions extends Omit<DialOptions, 'hosts'> {
  /** How long the hosts may take to accept a connection, in milliseconds. */
  readonly connectMs: number;
}

/** Opens one session with a database; `onLost` is called when it ends. Rejects as `Dialler.dial` does. */
export function openSession(
  url: string,
  { connectMs, ...options }: SessionOptions,
  onLost: () => void = () => undefined,
): Promise<Connection> {
  return new Dialler({ hosts: new HostOrder(url), ...options }, onLost).dial(connectMs);
}

/** Opens one session for `work`, which uses it alone, and closes it. Rejects as `openSession` does. */
export async function withSession<T>(
  url: string,
  options: SessionOptions,
  work: (sql: postgres.Sql) => Promise<T>,
): Promise<T> {
  const connection = await openSession(url, options);
  try {
    return await work(connection.sql);
  } finally {
    await connection.end();
  }
}

/** Runs `work` in a transaction of a session that nothing else uses meanwhile. `send` runs a statement. */
export async function inTransaction<T>(
  send: (text: string) => PromiseLike<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  await send('begin');
  try {
    const result = await work();
    await send('commit');
    return result;
  } catch (error) {
    // After the loss of a connection the server has rolled back; the first error is the relevant one.
    await send('rollback').then(undefined, () => undefined);
    throw error;
  }
}

const UNDEFINED_FUNCTION = '42883';

/**
 * Begins an epoch of the feed if the database is a restored or promoted one, before a session writes. Does nothing on a
 * database without the schema, whose first epoch begins with it.
 */
export async function noteFeedEpoch(sql: postgres.Sql): Promise<void> {
  try {
    await sql`select note_feed_epoch()`;
  } catch (error) {
    if ((error as { code?: unknown }).code !== UNDEFINED_FUNCTION) throw error;
  }
}
