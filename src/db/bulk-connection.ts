import type { Readable } from 'node:stream';
import { type Engine, POSTGRESQL } from '../database-url/engine.js';
import { trackStatement } from '../telemetry/wait-tracking.js';
import type { Run } from './db.js';
import { receiveRows, resumeSocket, sendRows } from './pool/postgres-patches.js';
import { prepared } from './pool/prepared.js';
import { noteFeedEpoch, withSession } from './session.js';
import { bulkSettings, type TriggerTraits } from './session-settings.js';

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

export interface BulkSettings extends TriggerTraits {
  readonly databaseEngine?: Engine;
}

/** Opens the connection for `work`, and closes it. */
export async function withBulkConnection<T>(
  url: string,
  { events, tombstones, databaseEngine: engine = POSTGRESQL }: BulkSettings,
  work: (connection: BulkConnection) => Promise<T>,
): Promise<T> {
  const settings = bulkSettings({ events, tombstones });
  const onOpen = events ? noteFeedEpoch : undefined;
  return withSession(url, { settings, noDelay: true, onOpen, connectMs: CONNECT_MS }, (sql) =>
    work({
      run: (text, args) => trackStatement(text, () => prepared(sql, text, args), undefined),
      engine,
      execute: (text) => trackStatement(text, async () => void (await sql.unsafe(text)), undefined),
      copyIn: (text, rows) => trackStatement(text, () => sendRows(sql, text, rows), undefined),
      copyOut: async (text, consume) => {
        const rows = await receiveRows(sql, text);
        await consume(rows);
        resumeSocket(rows);
      },
    }),
  );
}
