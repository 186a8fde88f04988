import { readConfig } from '../config/config.js';
import { ExitError } from '../exit-error.js';
import { runCommand } from './exit.js';
import { requestHealth } from './health-request.js';

/** Exits with 0 when the service of the same environment responds to /healthz on this machine, else with 1. */

async function checkHealth(): Promise<never> {
  const { host, port, tlsCert } = readConfig();
  const isTls = tlsCert !== undefined;
  const response = await requestHealth({ host, port, isTls }).catch(({ message }: Error) => {
    throw new ExitError(message);
  });
  if (response.statusCode !== 200) throw new ExitError(`/healthz responds with ${response.statusCode}`);
  process.exit(0);
}

// A container's health check knows only 0 and 1.
void runCommand(checkHealth, { exitCode: 1 });
