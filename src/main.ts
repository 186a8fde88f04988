import { constants } from 'node:os';
import { ConfigError, readConfig } from './config.js';
import { EmbeddedError } from './db/cluster.js';
import { DatabaseError } from './db/migrate.js';
import { createLog } from './log.js';
import { type Service, StartError, startService } from './service.js';

/** sysexits.h: the configuration is at fault. */
const EX_CONFIG = 78;

async function main(): Promise<void> {
  const config = readConfig();
  const log = createLog(config.logLevel);
  let service: Service | undefined;
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // Before there is anything to finish, the exit alone ends what was started.
      if (!service) process.exit(0);
      // As a shell tells of a process that a signal ended.
      if (stopping) process.exit(128 + constants.signals[signal]);
      stopping = true;
      service.stop().then(
        () => process.exit(0),
        (error) => {
          log.error({ err: error }, 'the service did not stop in order');
          process.exit(1);
        },
      );
    });
  }
  process.on('SIGUSR2', () => {
    if (!service) return;
    service.setMaintenance(!service.isInMaintenance());
    log.warn(service.isInMaintenance() ? 'maintenance begins' : 'maintenance ends');
  });
  process.on('SIGHUP', () => {
    try {
      service?.reload();
    } catch (error) {
      log.error({ err: error }, 'the certificates stay what they were');
    }
  });
  service = await startService(config, log);
  const schemes = config.auth.length > 0 ? config.auth.join(', ') : 'none';
  process.stdout.write(`Plinth is ready on ${service.url} (authentication: ${schemes})\n`);
}

main().catch((error: unknown) => {
  const told =
    error instanceof StartError || error instanceof DatabaseError || error instanceof EmbeddedError;
  if (error instanceof ConfigError)
    for (const fault of error.faults) process.stderr.write(`plinth: ${fault}\n`);
  else process.stderr.write(`plinth: ${told ? error.message : ((error as Error)?.stack ?? String(error))}\n`);
  process.exit(error instanceof ConfigError ? EX_CONFIG : 1);
});
