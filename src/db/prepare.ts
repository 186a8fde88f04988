import type { Config } from '../config/config.js';
import type { Log } from '../telemetry/log.js';
import { joinEmbedded, startEmbedded } from './embedded/embedded.js';
import { migrate } from './migrate.js';

/** A database server that is there, the configured one or the service's own. */
export interface Server {
  readonly url: string;
  /** Ends the service's own server. */
  close(): Promise<void>;
}

type ServerConfig = Pick<Config, 'databaseUrl' | 'dataDir'>;

/**
 * Sees to it that there is a server; with `join` it may also be one that a running service brought. Throws
 * EmbeddedError when there can be none.
 */
export async function openServer(
  { databaseUrl, dataDir }: ServerConfig,
  log: Log,
  { join }: { readonly join: boolean } = { join: false },
): Promise<Server> {
  if (databaseUrl !== undefined) return { url: databaseUrl, close: async () => undefined };
  const open = join ? joinEmbedded : startEmbedded;
  const embedded = await open({ dataDir, onCrash: (message) => log.error(message) });
  return { url: embedded.url, close: () => embedded.stop() };
}

/** The same with its schema in place. Throws EmbeddedError or DatabaseError when it cannot be used. */
export async function prepareDatabase(
  config: ServerConfig & Pick<Config, 'dbTimeoutMs'>,
  log: Log,
): Promise<Server> {
  const server = await openServer(config, log);
  try {
    await migrate(server.url, config.dbTimeoutMs);
  } catch (error) {
    await server.close();
    throw error;
  }
  return server;
}
