import type { Worker } from 'node:cluster';
import { embeddedOf } from '../../app/open-features.js';
import { startInPublic } from '../../app/waiting-server.js';
import type { Config } from '../../config/config.js';
import { withBulkConnection } from '../../db/bulk-connection.js';
import type { Run } from '../../db/db.js';
import { openDatabase, prepareDatabase, type Server } from '../../db/open-database.js';
import { reportFaults } from '../../db/start-faults.js';
import { loadDeclarations } from '../../declarations/load-declarations.js';
import type { Program, Started } from '../../feature.js';
import { freePort } from '../../process/listen.js';
import { type Stoppable, stopOnSignals } from '../../process/signals.js';
import { ensureCollections } from '../../schema/ensure-collections.js';
import type { Log } from '../../telemetry/log.js';
import { fitOpenFiles } from '../../transport/open-files.js';
import type { WorkerOrder, WorkerReport } from './messages.js';
import { MetricsCollector } from './metrics-collector.js';
import { WORKER_SETTINGS } from './settings.js';
import { Supervisor, sendTo } from './supervisor.js';

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
  let running: Stoppable | undefined;
  stopOnSignals(() => running, log, isQuiet);
  const workers = new Workers(config.maintenance, config.port);
  process.on('SIGHUP', () => workers.sendAll({ order: 'reload' }));
  process.on('SIGUSR2', () => {
    if (!running) return;
    const on = workers.toggleMaintenance();
    log.warn(on ? 'maintenance begins' : 'maintenance ends');
  });

  // Before anything is prepared. With 0, the first worker finds a port.
  if (config.port !== 0) await freePort({ host: config.host, port: config.port, setting: 'PORT' });
  const database = await startInPublic(fitOpenFiles(config, log), log, async () => {
    const server = await prepareDatabase(config, log, embeddedOf(features));
    await prepareCollections(config, server, log);
    return server;
  });
  const supervisor = new Supervisor(
    {
      count: WORKER_SETTINGS.of(config).workers,
      env: () => ({
        DATABASE_URL: database.url,
        PORT: String(workers.port),
        MAINTENANCE: workers.maintenance ? 'on' : 'off',
      }),
      onStart: (worker) => workers.add(worker),
      onEnd: (worker) => workers.remove(worker),
      onReport: (worker, report) => workers.receive(worker, report),
      stopMs: config.shutdownDelayMs + config.shutdownMs + GRACE_MS,
    },
    log,
  );
  try {
    await supervisor.start();
  } catch (error) {
    await database.close();
    throw error;
  }
  running = {
    stop: () => supervisor.stop().finally(() => database.close()),
    abandon: () => supervisor.kill(),
  };
  const run: Run = (text, args) =>
    withBulkConnection(database.url, config, (connection) => connection.run(text, args));
  return { url: workers.url, run };
}

/** The running workers, the orders to them and their reports. */
class Workers {
  url = '';
  readonly #workers = new Map<number, Worker>();
  readonly #collector = new MetricsCollector(
    () => [...this.#workers.values()],
    ({ id }, order) => sendTo(this.#workers.get(id), order),
  );

  constructor(
    public maintenance: boolean,
    /** The port of the next worker. With 0, Node has workers share the port that the first one found. */
    public port: number,
  ) {}

  add(worker: Worker): void {
    this.#workers.set(worker.id, worker);
  }

  remove(worker: Worker): void {
    this.#workers.delete(worker.id);
    this.#collector.forget(worker);
  }

  sendAll(order: WorkerOrder): void {
    for (const worker of this.#workers.values()) sendTo(worker, order);
  }

  toggleMaintenance(): boolean {
    this.maintenance = !this.maintenance;
    this.sendAll({ order: 'maintenance', on: this.maintenance });
    return this.maintenance;
  }

  receive(worker: Worker, report: WorkerReport): void {
    if (report.report === 'metrics') this.#collector.receive(worker, report.request, report.metrics);
    else if (report.report === 'collect') void this.#respond(worker, report.request);
    else if (report.report === 'leaves') sendTo(worker, { order: 'leave' });
    else if (this.url !== '' && report.url !== this.url) {
      // No worker listened any more when this one did, so that it found another port. The next ones need the number.
      this.port = Number(new URL(this.url).port);
      worker.process.kill('SIGKILL');
    } else {
      this.url = report.url;
      // The maintenance may have changed while the worker started.
      sendTo(worker, { order: 'maintenance', on: this.maintenance });
    }
  }

  async #respond(worker: Worker, request: number): Promise<void> {
    sendTo(worker, { order: 'collected', request, metrics: await this.#collector.collect() });
  }
}

/** Brings the tables in line with the declarations, for all workers. If that fails, the server is stopped. */
async function prepareCollections(config: Config, server: Server, log: Log): Promise<void> {
  const database = await openDatabase({ ...config, databaseUrl: server.url }, log);
  try {
    const declarations = await loadDeclarations(config);
    await ensureCollections(database, declarations, config.migrate, log);
    const names = declarations.collections.map(({ name }) => name);
    await reportFaults(database.db.run, names, config, log);
  } catch (error) {
    await server.close();
    throw error;
  } finally {
    await database.close();
  }
}
