import { ExitError } from '../errors/exit-error.js';
import { requestHealth } from '../process/listen.js';
import { configOf, exitCodeOf } from './io.js';
import { processIo } from './process-io.js';

/** Exits with 0 when the service of the same environment responds to /healthz on this machine, else with 1. */

const io = processIo([]);

async function checkHealth(): Promise<void> {
  const { host, port, tlsCert } = configOf(io);
  const isTls = tlsCert !== undefined;
  const response = await requestHealth({ host, port, isTls }).catch(({ message }: Error) => {
    throw new ExitError(message);
  });
  if (response.statusCode !== 200) throw new ExitError(`/healthz responds with ${response.statusCode}`);
}

// A container's health check knows only 0 and 1.
void exitCodeOf(checkHealth, io).then((code) => process.exit(code === 0 ? 0 : 1));
