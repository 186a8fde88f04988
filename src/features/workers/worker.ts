import cluster from 'node:cluster';
import type { Openable } from '../../app/open-features.js';
import { startWaiting } from '../../app/waiting-server.js';
import { type App, startApp } from '../../app.js';
import type { Config } from '../../config/config.js';
import { reload, STOP_SIGNALS, stopAndExit } from '../../process/signals.js';
import type { Log } from '../../telemetry/log.js';
import { singleFlight } from '../../work/shared-runs.js';
import { Channel } from './channel.js';
import { combined, type Metrics } from './combined-metrics.js';
import { RESPONSE_MS } from './supervisor.js';

/** How long a worker waits for the primary: longer than that waits for its slowest worker. */
const PRIMARY_MS = 3 * RESPONSE_MS;

/**
 * Runs the service as a worker of the primary that forked this process. Stops in order when the primary says so, when
 * the primary is gone, and on SIGTERM or SIGINT; a second signal is for the primary. Throws what `startApp` throws.
 */
export async function runWorker(config: Config, log: Log, features: readonly Openable[]): Promise<void> {
  let service: App | undefined;
  let isStopping = false;
  const stop = (): void => {
    if (!service) process.exit(0);
    if (!isStopping) void stopAndExit({ stop: () => leave(service!) }, log);
    isStopping = true;
  };
  const leave = async (app: App): Promise<void> => {
    await app.stop();
    await primary.ask('leave', PRIMARY_MS);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  // A terminal or a process supervisor may send them to the whole group; the primary's order applies.
  for (const signal of ['SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => undefined);
  cluster.worker!.once('disconnect', () => {
    // Node would exit at once, with requests in flight.
    cluster.worker!.exitedAfterDisconnect = true;
    stop();
  });
  const primary = new Channel(cluster.worker!, {
    stop,
    reload: () => reload(service, log),
    maintenance: (on: boolean) => service?.setMaintenance(on),
    metrics: () => service?.metrics.scrape(),
  });
  /** The metrics of all workers that respond in time, those of this one included. */
  const scrape = singleFlight(async () => {
    const metrics = (await primary.ask('collect', PRIMARY_MS)) as readonly (Metrics | null | undefined)[];
    if (!metrics) throw new Error('the primary did not respond in time');
    return combined(metrics.filter((each) => each !== null && each !== undefined));
  });
  service = await startWaiting(config, log, () => startApp(config, log, features, { scrape }), true);
  primary.send('ready', service.url);
}
