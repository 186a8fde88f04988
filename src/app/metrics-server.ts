import type { IncomingMessage, Server } from 'node:http';
import { showMetrics } from '../api/service-endpoints.js';
import type { Config } from '../config/config.js';
import { hostsOfMetrics } from '../config/server-settings.js';
import { knownProblem } from '../db/database-errors.js';
import { methodNotAllowed, noSuchPath } from '../errors/request-errors.js';
import { internal } from '../errors/service-errors.js';
import { allowHosts } from '../http/allowed-hosts.js';
import { fixedFields, PLAIN_FIELDS } from '../http/common-headers.js';
import { render } from '../http/problem-body.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { createHttpServer } from '../pipeline/server.js';
import { listen } from '../process/listen.js';
import type { Log } from '../telemetry/log.js';
import type { Scrape } from '../telemetry/metrics.js';
import { refuse } from '../transport/admission-control.js';
import { MAX_METRICS_CONNECTIONS } from '../transport/connections.js';
import { readTarget } from '../transport/request-target.js';

/**
 * Starts the listener of METRICS_PORT, which has only /metrics, without authentication, and the limits of the service. Its requests do
 * not count in the metrics of the service. Undefined without the setting. Throws StartError.
 */
export async function startMetricsServer(
  config: Config,
  log: Log,
  scrape: Scrape,
): Promise<Server | undefined> {
  const { metricsPort: port, metricsHost: host } = config;
  if (port === undefined) return undefined;
  const allowedHosts = hostsOfMetrics(config);
  const requireAllowedHost = allowedHosts && allowHosts(allowedHosts);
  const metrics = showMetrics(scrape);
  const replyTo = async (req: IncomingMessage): Promise<Reply> => {
    const { path } = readTarget(req);
    requireAllowedHost?.(req);
    if (path !== '/metrics') throw noSuchPath();
    if (req.method !== 'GET' && req.method !== 'HEAD') throw methodNotAllowed('GET, HEAD');
    return metrics.run({} as Request);
  };
  const problemOf = (err: unknown): Reply => {
    const problem = knownProblem(err);
    if (!problem) log.error({ err }, 'the metrics cannot be shown');
    return render(problem ?? internal(), '');
  };
  const server = createHttpServer(
    (req, res, expectation, ended) => {
      const reply = replyTo(req).catch(problemOf);
      void reply
        .then((reply) => refuse(req, res, expectation === 'continue', reply, PLAIN_FIELDS))
        .then(ended);
    },
    {
      ...config,
      commonFields: PLAIN_FIELDS,
      always: fixedFields(false, 0),
      maxConnections: MAX_METRICS_CONNECTIONS,
    },
  ) as Server;
  await listen(server, { host, port, setting: 'METRICS_PORT' });
  return server;
}
