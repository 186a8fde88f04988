import type { Worker } from 'node:cluster';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Config } from '../config/config.js';
import { prepareDatabase } from '../db/prepare.js';
import { type ListenAddress, listen } from '../process/listen.js';
import { stopOnSignals } from '../process/signals.js';
import type { Log } from '../telemetry/log.js';
import type { Order, Report } from './messages.js';
import { createCollector } from './metrics-collector.js';
import { startCrew, tell } from './supervisor.js';

/** What a worker that was told to stop may take beyond the time of its requests, to close its connections. */
const GRACE_MS = 15_000;

/** What runs: the workers, and the database that they share. */
interface Running {
  stop(): Promise<void>;
  abandon(): void;
}

/**
 * Runs the workers of the configuration on one port, and gives where they answer: prepares the database for all of
 * them, keeps them at their number, hands on the signals and collects their figures. Throws what keeps it from starting.
 */
export async function runPrimary(config: Config, log: Log): Promise<string> {
  const living = new Map<number, Worker>();
  let running: Running | undefined;
  let { maintenance } = config;
  let url = '';
  stopOnSignals(() => running, log);

  const collector = createCollector(
    () => [...living.values()],
    ({ id }, order) => tell(living.get(id), order),
  );
  const toAll = (order: Order): void => {
    for (const worker of living.values()) tell(worker, order);
  };
  const onReport = (worker: Worker, report: Report): void => {
    if (report.report === 'figures') collector.take(worker, report.question, report.figures);
    else if (report.report === 'collect') void answer(worker, report.question);
    else {
      url = report.url;
      // It may have changed while the worker started.
      tell(worker, { order: 'maintenance', on: maintenance });
    }
  };
  async function answer(worker: Worker, question: number): Promise<void> {
    tell(worker, { order: 'collected', question, figures: await collector.collect() });
  }

  process.on('SIGHUP', () => toAll({ order: 'reload' }));
  process.on('SIGUSR2', () => {
    if (!running) return;
    maintenance = !maintenance;
    log.warn(maintenance ? 'maintenance begins' : 'maintenance ends');
    toAll({ order: 'maintenance', on: maintenance });
  });

  const port = await freePort({ host: config.host, port: config.port, setting: 'PORT' });
  const database = await prepareDatabase(config, log);
  try {
    const crew = await startCrew(
      {
        count: config.workers,
        env: () => ({
          DATABASE_URL: database.url,
          PORT: String(port),
          MAINTENANCE: maintenance ? 'on' : 'off',
        }),
        onStart: (worker) => void living.set(worker.id, worker),
        onEnd: (worker) => {
          living.delete(worker.id);
          collector.forget(worker);
        },
        onReport,
        stopMs: config.shutdownDelayMs + config.shutdownMs + GRACE_MS,
      },
      log,
    );
    running = {
      stop: async () => {
        try {
          await crew.stop();
        } finally {
          await database.close();
        }
      },
      abandon: crew.kill,
    };
    return url;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** A port that the workers can listen on; those that start later need the number. Throws StartError when there is none. */
async function freePort(place: ListenAddress): Promise<number> {
  const server = createServer();
  await listen(server, place);
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
