import { type App, startApp } from './app.js';
import type { Config } from './config/config.js';
import { reload, stopOnSignals } from './process/signals.js';
import type { Log } from './telemetry/log.js';

/** Runs the service in this process alone and returns its URL. Throws what `startApp` throws. */
export async function runAlone(config: Config, log: Log, isQuiet: boolean): Promise<string> {
  let service: App | undefined;
  stopOnSignals(() => service, log, isQuiet);
  process.on('SIGUSR2', () => {
    if (!service) return;
    service.setMaintenance(!service.isInMaintenance());
    log.warn(service.isInMaintenance() ? 'maintenance begins' : 'maintenance ends');
  });
  process.on('SIGHUP', () => reload(service, log));
  service = await startApp(config, log);
  return service.url;
}
