import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import postgres from 'postgres';
import { unavailable } from '../errors.js';

export type Value = string | number | null;
export type Row = Record<string, string | number | null>;

/** Runs one prepared statement; the same text is prepared once a connection. */
export type Run = (text: string, args: readonly Value[]) => Promise<Row[]>;

export interface Db {
  readonly run: Run;
  /** Runs `work` in one transaction, rolled back when it throws. */
  transaction<T>(work: (run: Run) => Promise<T>): Promise<T>;
  /**
   * Hands the rows of a COPY to `consume` as a byte stream, one line a row. `settings` hold while it runs.
   * When `consume` throws, the statement is cancelled and its connection is free again.
   */
  copy(
    text: string,
    settings: Readonly<Record<string, string>>,
    consume: (rows: Readable) => Promise<void>,
  ): Promise<void>;
  /** Lets the server parse and describe a statement; throws when it does not fit the schema. */
  describe(text: string): Promise<void>;
  close(): Promise<void>;
}

export interface DbOptions {
  /** Connections for short statements; more than two or three are a loss on one machine. */
  readonly connections: number;
  /** Connections for whole lists, opened when needed. */
  readonly streams: number;
  /** Statements and streams that may wait or run at once; one more is a 503. */
  readonly queue: number;
  readonly timeoutMs: number;
}

const PREPARED = { prepare: true, simple: false } as never;

/** Opens the two pools. Connects lazily: a database that is away shows in the first statement. */
export function connect(url: string, options: DbOptions): Db {
  const short = pool(url, options.connections, options.timeoutMs, options.timeoutMs);
  const long = pool(url, options.streams, options.timeoutMs, 0);
  let waiting = 0;

  async function bounded<T>(work: () => Promise<T>): Promise<T> {
    if (waiting >= options.queue) throw unavailable('The database queue is full.');
    waiting++;
    try {
      return await work();
    } finally {
      waiting--;
    }
  }

  return {
    run: (text, args) => bounded(() => short.unsafe<Row[]>(text, args as Value[], PREPARED)),

    transaction: (work) =>
      bounded(() =>
        short.begin((tx) => work((text, args) => tx.unsafe<Row[]>(text, args as Value[], PREPARED))),
      ) as never,

    copy: (text, settings, consume) =>
      bounded(() =>
        long.begin('read only', async (tx) => {
          for (const [name, value] of Object.entries(settings)) {
            await tx.unsafe('select set_config($1, $2, true)', [name, value], PREPARED);
          }
          const query = tx.unsafe(text);
          const rows = await query.readable();
          try {
            await consume(rows);
          } catch (error) {
            // The server may sit in a write to us, where a cancel is not seen: read on until it is.
            query.cancel();
            await finished(rows.resume()).catch(() => undefined);
            throw error;
          }
        }),
      ) as never,

    describe: async (text) => {
      await short.unsafe(text).describe();
    },

    close: async () => {
      await Promise.all([short.end({ timeout: 5 }), long.end({ timeout: 1 })]);
    },
  };
}

/** `timeoutMs` bounds a connection attempt, `statementMs` a statement (0: unbounded). */
function pool(url: string, max: number, timeoutMs: number, statementMs: number): postgres.Sql {
  return postgres(url, {
    max,
    connect_timeout: Math.max(1, Math.ceil(timeoutMs / 1000)),
    backoff: (retries) => Math.min(0.05 * 2 ** retries, 0.5),
    fetch_types: false,
    onnotice: () => undefined,
    // Times stay the server's text: no Date is made on the way.
    types: { time: { to: 1184, from: [1082, 1114, 1184], serialize: String, parse: (text: string) => text } },
    connection: { application_name: 'plinth', TimeZone: 'UTC', statement_timeout: statementMs },
  });
}
