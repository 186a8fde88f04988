import type { IncomingMessage, Server } from 'node:http';
import { showMetrics } from '../api/service-endpoints.js';
import { knownProblem } from '../db/database-errors.js';
import { methodNotAllowed, noSuchPath } from '../errors/request-errors.js';
import { internal } from '../errors/service-errors.js';
import { allowHosts } from '../http/allowed-hosts.js';
import { fixedFields, PLAIN_FIELDS } from '../http/common-headers.js';
import { render } from '../http/problem-body.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { createHttpServer, type ServerOptions } from '../pipeline/server.js';
import type { Log } from '../telemetry/log.js';
import type { Scrape } from '../telemetry/metrics.js';
import { refuse } from '../transport/admission-control.js';
import { MAX_METRICS_CONNECTIONS } from '../transport/connections.js';
import { readTarget } from '../transport/request-target.js';

/**
 * A listener with only /metrics, without authentication, and with the limits of the service. Its requests do not count in
 * the metrics of the service. `allowedHosts` undefined: any Host is accepted.
 */
export function createMetricsServer(
  scrape: Scrape,
  options: Omit<ServerOptions, 'commonFields' | 'always'>,
  log: Log,
  allowedHosts: readonly string[] | undefined,
): Server {
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
  return createHttpServer(
    (req, res, expectation, ended) => {
      const reply = replyTo(req).catch(problemOf);
      void reply
        .then((reply) => refuse(req, res, expectation === 'continue', reply, PLAIN_FIELDS))
        .then(ended);
    },
    {
      ...options,
      commonFields: PLAIN_FIELDS,
      always: fixedFields(false, 0),
      maxConnections: MAX_METRICS_CONNECTIONS,
    },
  ) as Server;
}
