import { startWaiting } from '../app/waiting-server.js';
import { type App, startApp } from '../app.js';
import type { Config } from '../config/config.js';
import type { Started } from '../feature.js';
import { FEATURES } from '../features.js';
import { reload, stopOnSignals } from '../process/signals.js';
import type { Log } from '../telemetry/log.js';
import { fitOpenFiles } from '../transport/open-files.js';

/** Runs the service in this process alone. Throws what `startApp` throws. */
export async function runAlone(settings: Config, log: Log, isQuiet: boolean): Promise<Started> {
  // Before the wait for the database, in which clients connect as well.
  const config = fitOpenFiles(settings, log);
  let service: App | undefined;
  stopOnSignals(() => service, log, isQuiet);
  process.on('SIGUSR2', () => {
    if (!service) return;
    service.setMaintenance(!service.isInMaintenance());
    log.warn(service.isInMaintenance() ? 'maintenance begins' : 'maintenance ends');
  });
  process.on('SIGHUP', () => reload(service, log));
  service = await startWaiting(config, log, () => startApp(config, log, FEATURES));
  return { url: service.url, run: service.db.run };
}
