import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type postgres from 'postgres';

/**
 * Sends rows to a `copy ... from stdin`, and rejects with the server's error. The driver (postgres 3.4.9) passes an error to
 * the stream of rows only before their end; later it rejects the query, which its stream has resolved already.
 */
export async function sendRows(sql: postgres.Sql, text: string, rows: Buffer): Promise<void> {
  const query = sql.unsafe(text) as postgres.PendingQuery<postgres.Row[]> & { reject(error: Error): void };
  const failed = new Promise<never>((_, reject) => {
    const { reject: rejectQuery } = query;
    query.reject = (error) => {
      rejectQuery(error);
      reject(error);
    };
  });
  failed.catch(() => undefined); // thrown by the race below
  const sink: Writable = await query.writable();
  const ended = once(sink, 'finish');
  // The stream reports an error after the query has done so.
  ended.catch(() => undefined);
  sink.end(rows);
  await Promise.race([ended, failed]);
}
