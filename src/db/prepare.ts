import type { Config } from '../config.js';
import type { Log } from '../log.js';
import { joinEmbedded, startEmbedded } from './embedded.js';
import { migrate } from './migrate.js';

/** A database that is there with its schema in place, the configured one or the service's own. */
export interface Prepared {
  readonly url: string;
  /** Ends the service's own server. */
  close(): Promise<void>;
}

/**
 * Sees to it that there is a database and brings its schema up to date; with `join` it may also be one that a running
 * service brought. Throws EmbeddedError or DatabaseError when it cannot be used.
 */
export async function prepareDatabase(
  config: Pick<Config, 'databaseUrl' | 'dataDir' | 'dbTimeoutMs'>,
  log: Log,
  { join }: { readonly join: boolean } = { join: false },
): Promise<Prepared> {
  const open = join ? joinEmbedded : startEmbedded;
  const embedded =
    config.databaseUrl === undefined
      ? await open({ dataDir: config.dataDir, onCrash: (message) => log.error(message) })
      : undefined;
  const url = config.databaseUrl ?? embedded!.url;
  try {
    await migrate(url, config.dbTimeoutMs);
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
  return { url, close: async () => embedded?.stop() };
}
