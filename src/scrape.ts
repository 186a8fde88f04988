import type { Server } from 'node:http';
import { commonFields } from './http/answer-fields.js';
import { createRouter } from './http/router.js';
import type { Log } from './log.js';
import { createMetrics, type Metrics } from './observe/metrics.js';
import { createObserver } from './observe/observer.js';
import type { Peer } from './observe/peer.js';
import { metricsRoute } from './operator-routes.js';
import { ParseLimit } from './parse-limit.js';
import { createPipeline } from './pipeline.js';
import { createHttpServer, type ServerOptions } from './server.js';

/** Connections of those who scrape. */
const MOST_CONNECTIONS = 64;

/**
 * A listener with /metrics and nothing else, for whoever reaches it: HTTP as the service speaks it, with its limits.
 * What it is asked is not counted among the requests of the service.
 */
export function createScrapeServer(
  registry: Metrics['registry'],
  options: Omit<ServerOptions, 'common'>,
  log: Log,
  database: Peer,
): Server {
  const common = commonFields(undefined);
  const none = { deprecation: undefined, sunset: undefined, successor: undefined };
  const pipeline = createPipeline({
    router: createRouter([metricsRoute(registry, 'nothing')]),
    log,
    observer: createObserver({
      metrics: createMetrics().http,
      log,
      accessLog: false,
      serverTiming: false,
      tracer: undefined,
      database,
    }),
    bodyLimit: 0,
    bodyBytes: 0,
    answerBytes: options.answerBytes,
    parseLimit: new ParseLimit(),
    bodyBytesPerAddress: 0,
    bodyMinRate: 0,
    bodyRateMs: 0,
    streamStallMs: options.requestTimeoutMs,
    retirement: none,
    authenticate: undefined,
    challenge: () => [],
    present: () => {
      throw new Error('nobody is asked for a credential here');
    },
    common,
    cors: undefined,
    rateLimit: undefined,
    isInMaintenance: () => false,
    isDraining: () => false,
  });
  return createHttpServer(pipeline, { ...options, common, maxConnections: MOST_CONNECTIONS }) as Server;
}
