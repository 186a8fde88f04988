import { setTimeout } from 'node:timers/promises';
import type postgres from 'postgres';
import { databaseErrorOf, LOCK_NOT_AVAILABLE } from './database-errors.js';
import type { Row, Run } from './db.js';
import { inTransaction, withSession } from './session.js';
import { TASK_SETTINGS } from './session-settings.js';

/** A connection of its own for changes of the schema, which may take long. */
export interface SchemaConnection {
  readonly run: Run;
  /** Runs statements in one transaction. */
  transaction(texts: readonly string[]): Promise<void>;
}

/** Opens the connection for `work`, and closes it. Writes on it record no events. */
export async function withSchemaConnection<T>(
  url: string,
  work: (connection: SchemaConnection) => Promise<T>,
  connectMs = 30_000,
): Promise<T> {
  return withSession(url, { settings: TASK_SETTINGS.schema, connectMs }, (sql) =>
    work({
      run: async (text, args) => [...(await sql.unsafe<Row[]>(text, [...args]))],
      transaction: (texts) =>
        withoutQueue(() =>
          inTransaction(
            (text) => sql.unsafe(text),
            () => runAll(sql, texts),
          ),
        ),
    }),
  );
}

/** How long a statement may wait for a lock, since the writes of clients wait behind it. */
const LOCK_TIMEOUT = '500ms';
/** The pause in which they catch up, and the number of attempts. */
const PAUSE_MS = 500;
const MAX_ATTEMPTS = 3600;

async function runAll(sql: postgres.Sql, texts: readonly string[]): Promise<void> {
  await sql.unsafe(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
  for (const text of texts) await sql.unsafe(text);
}

/** Attempts a transaction until its locks are free: a list that a client reads slowly holds one for as long. */
async function withoutQueue(transaction: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      return await transaction();
    } catch (error) {
      if (databaseErrorOf(error)?.code !== LOCK_NOT_AVAILABLE || attempt === MAX_ATTEMPTS) throw error;
      await setTimeout(PAUSE_MS);
    }
}

/** The pause between two attempts to take a lock that another session holds. */
const TURN_MS = 100;

/**
 * Waits until no other session holds an advisory lock, and holds it until the session ends. It is attempted in short
 * statements: one that waited would keep its snapshot, for whose end a concurrent build of an index waits.
 */
export async function takeTurn(run: Run, key: readonly [number, number]): Promise<void> {
  for (;;) {
    const [row] = await run('select pg_try_advisory_lock($1::integer, $2::integer) as locked', [...key]);
    if (row!.locked) return;
    await setTimeout(TURN_MS);
  }
}
