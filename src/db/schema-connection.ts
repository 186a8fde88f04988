import postgres from 'postgres';
import { driverUrl } from '../database-url.js';
import type { Row, Run } from './db.js';

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
  const sql = postgres(driverUrl(url), {
    max: 1,
    onnotice: () => undefined,
    fetch_types: false,
    connect_timeout: Math.max(1, Math.ceil(connectMs / 1000)),
    connection: { application_name: 'plinth migrate', 'plinth.events': 'off' } as never,
  });
  const run: Run = async (text, args) => [...(await sql.unsafe<Row[]>(text, [...args]))];
  try {
    return await work({
      run,
      transaction: async (texts) => {
        await sql.begin(async (transaction) => {
          for (const text of texts) await transaction.unsafe(text);
        });
      },
    });
  } finally {
    await sql.end({ timeout: 5 });
  }
}
