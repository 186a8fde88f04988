import type { Readable } from 'node:stream';
import type { Run } from './db.js';
import type { Engine } from './engine.js';
import { noteFeedEpoch } from './feed-epoch.js';
import { sendRows } from './pool/postgres-copy-errors.js';
import { resumeSocket } from './pool/postgres-resume-socket.js';
import { prepared } from './pool/prepared.js';
import { withSession } from './session.js';

/** A connection of its own for COPY in both directions, without time limits. */
export interface BulkConnection {
  readonly run: Run;
  readonly engine: Engine;
  /** Runs statements without parameters, several at once if they are separated by semicolons. */
  execute(text: string): Promise<void>;
  /** Sends rows to a `copy ... from stdin`, in the text format. Rejects with the server's error. */
  copyIn(text: string, rows: Buffer): Promise<void>;
  /** Passes the rows of a `copy ... to stdout` to `consume`. */
  copyOut(text: string, consume: (rows: Readable) => Promise<void>): Promise<void>;
}

/** How long the hosts may take to accept a connection. */
const CONNECT_MS = 30_000;

/** Settings of the session that concern triggers. */
export interface BulkSettings {
  readonly events: boolean;
  readonly tombstones: boolean;
  readonly databaseEngine?: Engine;
}

/** Opens the connection for `work`, and closes it. */
export async function withBulkConnection<T>(
  url: string,
  { events, tombstones, databaseEngine: engine = 'postgresql' }: BulkSettings,
  work: (connection: BulkConnection) => Promise<T>,
): Promise<T> {
  const settings = {
    application_name: 'plinth import',
    jit: 'off',
    statement_timeout: 0,
    idle_in_transaction_session_timeout: 0,
    'plinth.events': events ? 'on' : 'off',
    'plinth.tombstones': tombstones ? 'on' : 'off',
  };
  const onOpen = events ? noteFeedEpoch : undefined;
  return withSession(url, { settings, noDelay: true, onOpen, connectMs: CONNECT_MS }, (sql) =>
    work({
      run: (text, args) => prepared(sql, text, args),
      engine,
      execute: async (text) => void (await sql.unsafe(text)),
      copyIn: (text, rows) => sendRows(sql, text, rows),
      copyOut: async (text, consume) => {
        const rows = await sql.unsafe(text).readable();
        await consume(rows);
        resumeSocket(rows);
      },
    }),
  );
}
