import type { Config } from './config.js';
import { connect, type Db } from './db/connect.js';
import { joinEmbedded, startEmbedded } from './db/embedded.js';
import { migrate } from './db/migrate.js';
import type { Log } from './log.js';
import type { DbMetrics } from './observe/metrics.js';

/** An open database with its schema in place, the service's own one or the configured one. */
export interface Database {
  readonly db: Db;
  close(): Promise<void>;
}

/**
 * Opens the database, with `join` also one that a running service brought. Throws EmbeddedError or DatabaseError
 * when it cannot be used.
 */
export async function openDatabase(
  config: Config,
  log: Log,
  { join = false, metrics }: { readonly join?: boolean; readonly metrics?: DbMetrics } = {},
): Promise<Database> {
  const open = join ? joinEmbedded : startEmbedded;
  const embedded =
    config.databaseUrl === undefined
      ? await open({ dataDir: config.dataDir, onCrash: (message) => log.error(message) })
      : undefined;
  try {
    const url = config.databaseUrl ?? embedded!.url;
    await migrate(url, config.dbTimeoutMs);
    const options = {
      connections: config.dbConnections,
      searches: config.dbSearches,
      streams: config.dbStreams,
      queue: config.dbQueue,
      timeoutMs: config.dbTimeoutMs,
      tombstones: config.tombstones,
      events: config.events,
    };
    const db = connect(url, options, metrics);
    return {
      db,
      close: async () => {
        await db.close();
        await embedded?.stop();
      },
    };
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
}
