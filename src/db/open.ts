import type { Config } from '../config/config.js';
import type { Log } from '../telemetry/log.js';
import type { DbMetrics } from '../telemetry/metrics.js';
import { connect, type Db } from './db.js';
import { isMigrated, migrate } from './migrate.js';
import { openServer } from './prepare.js';

/** An open database with its schema in place, the service's own one or the configured one. */
export interface Database {
  readonly db: Db;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** Also a database that a running service brought. */
  readonly join?: boolean;
  readonly metrics?: DbMetrics;
}

/** Opens the database. Throws EmbeddedError or DatabaseError when it cannot be used. */
export async function openDatabase(
  config: Config,
  log: Log,
  { join = false, metrics }: OpenOptions = {},
): Promise<Database> {
  const server = await openServer(config, log, { join });
  const db = connectAs(config, server.url, metrics);
  const close = async () => {
    await db.close();
    await server.close();
  };
  try {
    if (!(await isMigrated(db.run))) await migrate(server.url, config.dbTimeoutMs);
  } catch (error) {
    await close();
    throw error;
  }
  return { db, close };
}

/** The database of a worker, whose primary has prepared it and keeps it. */
export async function openPrepared(config: Config, _log: Log, { metrics }: OpenOptions): Promise<Database> {
  const db = connectAs(config, config.databaseUrl!, metrics);
  return { db, close: () => db.close() };
}

function connectAs(config: Config, url: string, metrics: DbMetrics | undefined): Db {
  const options = {
    connections: config.dbConnections,
    searches: config.dbSearches,
    streams: config.dbStreams,
    queue: config.dbQueue,
    timeoutMs: config.dbTimeoutMs,
    tombstones: config.tombstones,
    events: config.events,
  };
  return connect(url, options, metrics);
}
