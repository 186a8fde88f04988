import type { Server } from 'node:http';
import { openRoutes } from '../api/endpoint.js';
import { METRICS } from '../api/service-endpoints.js';
import type { Peer } from '../database-url/servers.js';
import { allowHosts } from '../http/allowed-hosts.js';
import { createCommonFields, fixedFields } from '../http/common-headers.js';
import { createRouter } from '../http/router.js';
import { ParseLimit } from '../limits/parse-limit.js';
import type { PipelineOptions } from '../pipeline/context.js';
import { createPipeline } from '../pipeline/pipeline.js';
import { createHttpServer, type ServerOptions } from '../pipeline/server.js';
import type { Log } from '../telemetry/log.js';
import { createMetrics, type Scrape } from '../telemetry/metrics.js';
import { createObserver } from '../telemetry/request-observer.js';
import { MAX_METRICS_CONNECTIONS } from '../transport/connections.js';

/**
 * A listener with only /metrics, without authentication, and with the limits of the service. Its requests do not count in
 * the metrics of the service. `allowedHosts` undefined: any Host is accepted.
 */
export function createMetricsServer(
  scrape: Scrape,
  options: Omit<ServerOptions, 'commonFields' | 'always'> &
    Pick<PipelineOptions, 'compression' | 'compressionMinBytes'>,
  log: Log,
  database: Peer,
  allowedHosts: readonly string[] | undefined,
): Server {
  const fixed = fixedFields(false, 0);
  const commonFields = createCommonFields(fixed, undefined);
  const { http } = createMetrics();
  const pipeline = createPipeline({
    router: createRouter(openRoutes([{ ...METRICS, requires: 'nothing' }], () => ({ scrape }))),
    log,
    observer: createObserver({
      metrics: http,
      log,
      accessLog: false,
      serverTiming: false,
      tracer: undefined,
      database,
    }),
    bodyLimit: 0,
    bodyBytes: 0,
    responseBytes: options.responseBytes,
    parseLimit: new ParseLimit(),
    bodyBytesPerAddress: 0,
    bodyMinRate: 0,
    bodyRateMs: 0,
    compression: options.compression,
    compressionMinBytes: options.compressionMinBytes,
    retirement: {},
    versionRequests: http.versions,
    authenticate: undefined,
    session: undefined,
    errorPage: () => undefined,
    requireAllowedHost: allowedHosts && allowHosts(allowedHosts),
    requireOrigin: () => undefined,
    challenge: () => [],
    readAuthRequest: () => {
      throw new Error('/metrics needs no credential');
    },
    commonFields,
    cors: undefined,
    rateLimit: undefined,
    publicPrefix: '',
    state: { isInMaintenance: false, isDraining: false },
    afterWrite: () => undefined,
  });
  return createHttpServer(pipeline, {
    ...options,
    commonFields,
    always: fixed,
    maxConnections: MAX_METRICS_CONNECTIONS,
  }) as Server;
}
