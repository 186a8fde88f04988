import { embeddedOf } from '../../app/open-features.js';
import { startWaiting } from '../../app/waiting-server.js';
import type { Config } from '../../config/config.js';
import { withBulkConnection } from '../../db/bulk-connection.js';
import type { Run } from '../../db/db.js';
import { openDatabase, prepareDatabase, type Server } from '../../db/open-database.js';
import { loadDeclarations } from '../../declarations/load-declarations.js';
import type { Program, Started } from '../../feature.js';
import { freePort } from '../../process/listen.js';
import { type Stoppable, stopOnSignals } from '../../process/signals.js';
import { ensureCollections } from '../../schema/ensure-collections.js';
import type { Log } from '../../telemetry/log.js';
import { fitOpenFiles } from '../../transport/open-files.js';
import { WORKER_SETTINGS } from './settings.js';
import { Supervisor } from './supervisor.js';

/** The time that a worker may take to close its connections, beyond the time of its requests. */
const GRACE_MS = 15_000;

/**
 * Runs the configured number of workers on one port, and returns their URL and access to their database: prepares the database for all of them,
 * replaces workers that end, passes signals on and collects metrics. Throws what prevents the start.
 */
export async function runPrimary(
  config: Config,
  log: Log,
  { isQuiet, warnings, features }: Program,
): Promise<Started> {
  for (const warning of warnings) log.warn(warning);
  let running: (Stoppable & { readonly supervisor: Supervisor }) | undefined;
  stopOnSignals(() => running, log, isQuiet);
  process.on('SIGHUP', () => running?.supervisor.reload());
  process.on('SIGUSR2', () => {
    if (!running) return;
    log.warn(running.supervisor.toggleMaintenance() ? 'maintenance begins' : 'maintenance ends');
  });

  // Before anything is prepared. With 0, the first worker finds a port.
  if (config.port !== 0) await freePort({ host: config.host, port: config.port, setting: 'PORT' });
  const database = await startWaiting(fitOpenFiles(config, log), log, async () => {
    const server = await prepareDatabase(config, log, embeddedOf(features));
    await prepareCollections(config, server, log);
    return server;
  });
  const options = {
    count: WORKER_SETTINGS.of(config).workers,
    env: { DATABASE_URL: database.url },
    stopMs: config.shutdownDelayMs + config.shutdownMs + GRACE_MS,
  };
  const supervisor = new Supervisor(options, log, config.maintenance, config.port);
  try {
    await supervisor.start();
  } catch (error) {
    await database.close();
    throw error;
  }
  running = {
    supervisor,
    stop: () => supervisor.stop().finally(() => database.close()),
    abandon: () => supervisor.kill(),
  };
  const run: Run = (text, args) =>
    withBulkConnection(database.url, config, (connection) => connection.run(text, args));
  return { url: supervisor.url, run };
}

/** Brings the tables in line with the declarations, for all workers. If that fails, the server is stopped. */
async function prepareCollections(config: Config, server: Server, log: Log): Promise<void> {
  const database = await openDatabase({ ...config, databaseUrl: server.url }, log);
  try {
    const declarations = await loadDeclarations(config);
    await ensureCollections(database, declarations, config.migrate, log);
  } catch (error) {
    await server.close();
    throw error;
  } finally {
    await database.close();
  }
}
