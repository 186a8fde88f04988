import { once } from 'node:events';
import { healthReply } from '../api/service-endpoints.js';
import type { Config } from '../config/config.js';
import { startWithDatabase } from '../db/wait-for-database.js';
import { unavailable } from '../errors/service-errors.js';
import { createCommonFields, fixedFields } from '../http/common-headers.js';
import { earlyReplies, isHealthCheck } from '../http/early-reply.js';
import { createHttpServer } from '../pipeline/server.js';
import { listen } from '../process/listen.js';
import { readTls } from '../process/tls.js';
import type { Log } from '../telemetry/log.js';
import { refuse } from '../transport/admission-control.js';

/**
 * Waits for the configured database, and runs a start with it. Meanwhile the port of the service is open: /healthz is 200, /readyz is
 * 503 with the reason, and all else is 503. Nothing listens with PORT=0, since no client knows the port, and in a worker, whose primary
 * has the port. Throws StartError, TlsError and what `start` throws.
 */
export function startWaiting<T>(
  config: Config,
  log: Log,
  start: () => Promise<T>,
  isWorker = false,
): Promise<T> {
  const begin = async () => (config.port === 0 || isWorker ? nothing : openWaitingServer(config));
  return startWithDatabase(config, log, begin, start);
}

const nothing = async (): Promise<void> => undefined;

/** Returns the function that closes the server, and all its connections. */
async function openWaitingServer(config: Config): Promise<() => Promise<void>> {
  const tls = readTls(config);
  const always = fixedFields(tls !== undefined, config.hstsMaxAgeSeconds);
  const common = createCommonFields(always, undefined);
  const waiting = earlyReplies(unavailable('The service waits for its database.'), config.publicPrefix);
  const server = createHttpServer(
    (req, res, expectation, ended) => {
      res.once('close', ended);
      const reply = isHealthCheck(req.url!) ? healthOf(req.url!) : waiting(req);
      refuse(req, res, expectation === 'continue', reply, common);
    },
    { ...config, commonFields: common, always },
    tls,
  );
  await listen(server, { host: config.host, port: config.port, setting: 'PORT' });
  return async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
}

const healthOf = (target: string) =>
  target.includes('/healthz') ? healthReply(200, 'alive') : healthReply(503, 'database');
