import type { Config } from '../config/config.js';
import type { Log } from '../telemetry/log.js';
import type { DbMetrics } from '../telemetry/metrics.js';
import { collectionsSchema } from './collections-schema.js';
import { connect, type Db } from './db.js';
import { isMigrated, migrate } from './migrate.js';
import { requireSession } from './pooler.js';

/** A running database server: the configured one, or the embedded one. */
export interface Server {
  readonly url: string;
  /** Stops an embedded server. */
  close(): Promise<void>;
}

/** An open database with an up-to-date schema. */
export interface Database {
  readonly db: Db;
  /** The address of the server, with credentials. */
  readonly url: string;
  /** The schema of the tables of collections. */
  readonly schema: string;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** Whether to use the embedded server of a running service, if there is one. */
  readonly join?: boolean;
  readonly metrics?: DbMetrics;
}

type ServerConfig = Pick<Config, 'databaseUrl' | 'dataDir'>;

/** Opens the database, and its embedded server if no other is configured. Throws EmbeddedError and DatabaseError. */
export async function openDatabase(
  config: Config,
  log: Log,
  { join = false, metrics }: OpenOptions = {},
): Promise<Database> {
  const server = await openServer(config, log, join);
  const db = connectAs(config, server.url, metrics);
  const close = async () => {
    await db.close();
    await server.close();
  };
  return await orClose(close, async () => {
    await requireSession(db.run);
    const { databaseEngine: engine } = config;
    if (!(await isMigrated(db.run, engine))) await migrate(server.url, config.dbTimeoutMs, engine);
    return { db, url: server.url, schema: await collectionsSchema(db.run), close };
  });
}

/** Opens the database of a worker, which its primary process has prepared. */
export async function openPrepared(config: Config, _log: Log, { metrics }: OpenOptions): Promise<Database> {
  const db = connectAs(config, config.databaseUrl!, metrics);
  const close = () => db.close();
  return await orClose(close, async () => {
    await requireSession(db.run);
    return { db, url: config.databaseUrl!, schema: await collectionsSchema(db.run), close };
  });
}

/** Starts the server and brings its schema up to date, for workers to connect. Throws EmbeddedError and DatabaseError. */
export async function prepareDatabase(
  config: ServerConfig & Pick<Config, 'dbTimeoutMs' | 'databaseEngine'>,
  log: Log,
): Promise<Server> {
  const server = await openServer(config, log, false);
  return await orClose(server.close, async () => {
    await migrate(server.url, config.dbTimeoutMs, config.databaseEngine);
    return server;
  });
}

/** Opens the configured server, or the embedded one; `join`: also that of a running service. Throws EmbeddedError. */
export async function openServer(
  { databaseUrl, dataDir }: ServerConfig,
  log: Log,
  join: boolean,
): Promise<Server> {
  if (databaseUrl !== undefined) return { url: databaseUrl, close: async () => undefined };
  const { joinEmbedded, startEmbedded } = await import('../features/embedded/embedded.js');
  const open = join ? joinEmbedded : startEmbedded;
  const embedded = await open({ dataDir, onCrash: (message) => log.error(message) });
  return { url: embedded.url, close: () => embedded.stop() };
}

async function orClose<T>(close: () => Promise<void>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await close();
    throw error;
  }
}

/** The pools of a server. They connect with their first statement. */
export function connectAs(config: Config, url: string, metrics: DbMetrics | undefined): Db {
  const options = {
    connections: config.dbConnections,
    searches: config.dbSearches,
    streams: config.dbStreams,
    queue: config.dbQueue,
    timeoutMs: config.dbTimeoutMs,
    queryTimeoutMs: config.queryTimeoutMs,
    tombstones: config.tombstones,
    events: config.events,
    engine: config.databaseEngine,
  };
  return connect(url, options, metrics);
}
