import { type Config, ConfigError } from '../config/config.js';
import { serversOf, withParameters } from '../database-url/servers.js';
import type { Log } from '../telemetry/log.js';
import type { DbMetrics } from '../telemetry/metrics.js';
import { connect, type Db, type Run } from './db.js';
import { DatabaseUnavailableError, isMigrated, migrate } from './migrate.js';

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

/** Opens a server on DATA_DIR; `join`: uses that of a running service, if there is one. Throws ExitError. */
export type OpenEmbedded = (config: Config, log: Log, join: boolean) => Promise<Server>;

export interface OpenOptions {
  /** Whether to use the embedded server of a running service, if there is one. */
  readonly join?: boolean;
  /** Opens the server if no DATABASE_URL is configured. */
  readonly openEmbedded?: OpenEmbedded;
  readonly metrics?: DbMetrics;
}

/** Opens the database, and its embedded server if no other is configured. Throws EmbeddedError and DatabaseError. */
export async function openDatabase(
  config: Config,
  log: Log,
  { join = false, metrics, openEmbedded }: OpenOptions = {},
): Promise<Database> {
  const server = await openServer(config, log, join, openEmbedded);
  const db = connect(server.url, config, metrics);
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

/** Starts the server and brings its schema up to date, for workers to connect. Throws EmbeddedError and DatabaseError. */
export async function prepareDatabase(config: Config, log: Log, openEmbedded: OpenEmbedded): Promise<Server> {
  const server = await openServer(config, log, false, openEmbedded);
  return await orClose(server.close, async () => {
    await migrate(server.url, config.dbTimeoutMs, config.databaseEngine);
    return server;
  });
}

/** Opens the configured server, or the embedded one; `join`: also that of a running service. Throws ExitError. */
export async function openServer(
  config: Config,
  log: Log,
  join: boolean,
  openEmbedded: OpenEmbedded = noEmbedded,
): Promise<Server> {
  const { databaseUrl } = config;
  if (databaseUrl !== undefined) return { url: databaseUrl, close: async () => undefined };
  return openEmbedded(config, log, join);
}

/** Of a program without an embedded PostgreSQL. Throws ConfigError. */
export const noEmbedded: OpenEmbedded = async () => {
  throw new ConfigError(['there is no embedded PostgreSQL: set DATABASE_URL']);
};

async function orClose<T>(close: () => Promise<void>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await close();
    throw error;
  }
}

/** The schema that a migrated database has for the tables of collections. */
export async function collectionsSchema(run: Run): Promise<string> {
  const [row] = await run('select plinth_collections_schema() as name', []);
  return String(row!.name);
}

/** The URL of another database of a server: of a parameter that a URL has twice, the last value counts. */
export const otherDatabase = (url: string, name: string): string => withParameters(url, [`dbname=${name}`]);

/** A URL for each server, of which none need be the primary. Throws DatabaseUrlError. */
export function eachServer(url: string): { readonly name: string; readonly url: string }[] {
  return serversOf(url).servers.map(({ name, host, port }) => ({
    name,
    url: withParameters(url, [`host=${encodeURIComponent(host)}`, `port=${port}`]),
  }));
}

/** A feature that a pooler prevents, and the remedy. */
export const POOLER = {
  problem:
    'DATABASE_URL leads to a pooler that does not pass on the settings of a session (time limits, events, tombstones); in transaction mode, prepared statements and LISTEN fail, too',
  advice: 'connect to PostgreSQL itself. Each process has few connections (DB_CONNECTIONS)',
};

/** The server has no prepared statement of this name: it was prepared in another session. */
const NO_SUCH_STATEMENT = '26000';

/** Whether an error is a pooler's. */
export function isPoolerError(error: unknown): boolean {
  const { code, message = '' } = error as { code?: unknown; message?: string };
  return code === NO_SUCH_STATEMENT || message.includes('unsupported startup parameter');
}

/**
 * Checks that the settings of a session reach PostgreSQL. A pooler such as PgBouncer refuses or ignores them; then time
 * limits and events would be missing, and in its transaction mode prepared statements and notifications as well. Throws
 * DatabaseUnavailableError. Other errors are left to the migration, which explains them.
 */
async function requireSession(run: Run): Promise<void> {
  let isSet: boolean;
  try {
    const [row] = await run(`select current_setting('plinth.events', true) as events`, []);
    isSet = typeof row!.events === 'string';
  } catch (error) {
    isSet = !isPoolerError(error);
  }
  if (!isSet) throw new DatabaseUnavailableError(`${POOLER.problem}: ${POOLER.advice}`);
}
