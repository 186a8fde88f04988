import type { Server } from 'node:http';
import { type Auth, openAuth } from './auth/open.js';
import type { Collection } from './collection/collection.js';
import type { Resource } from './collection/resource.js';
import type { Config } from './config/config.js';
import { hostsOfMetrics } from './config/edge.js';
import { type Database, openDatabase, openPrepared } from './db/open.js';
import { Feed } from './events/feed.js';
import type { OpenCounts } from './limits/shared-counters.js';
import { createMetricsServer } from './metrics-server.js';
import { listen } from './process/listen.js';
import { openCollections } from './routes.js';
import type { Log } from './telemetry/log.js';
import { createMetrics, type Metrics, registryOfAll } from './telemetry/metrics.js';
import { sourceOf } from './webhooks/feed-source.js';
import { openWebhooks, type Webhooks } from './webhooks/open.js';

/** The primary process of a worker. It has prepared the database. */
export interface Primary {
  /** The metrics of all workers that respond in time, including those of the caller. Throws if the primary does not. */
  collect(): Promise<readonly unknown[]>;
}

/** What the service consists of, besides its listener. */
export interface Parts {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly registry: Metrics['registry'];
  readonly database: Database;
  /** The listener of METRICS_PORT; undefined without the setting. */
  readonly metricsServer: Server | undefined;
  /** Counters that all processes share; undefined with RATE_LIMIT_STORE=memory. */
  readonly counters: OpenCounts | undefined;
  readonly auth: Auth;
  readonly collections: readonly Collection[];
  /** Undefined with EVENTS=off. */
  readonly feed: Feed | undefined;
  readonly webhooks: Webhooks;
}

/** Opens all parts, in the order in which they need each other. `closers` receives what a failed start has to close. */
export async function openParts(
  config: Config,
  log: Log,
  resources: readonly Resource[],
  primary: Primary | undefined,
  closers: (() => unknown)[],
): Promise<Parts> {
  const metrics = createMetrics();
  const registry = primary ? () => registryOfAll(primary.collect) : metrics.registry;
  const database = await (primary ? openPrepared : openDatabase)(config, log, { metrics: metrics.db });
  const { db } = database;
  closers.push(() => database.close());
  const metricsServer = await startMetricsServer(config, log, database, registry);
  closers.push(() => closeNow(metricsServer));
  // Loaded on demand, so that a start without it takes less time and memory.
  const counters =
    config.rateLimitStore === 'postgres'
      ? (await import('./limits/shared-counters.js')).openSharedCounts(db, log)
      : undefined;
  const auth = await openAuth(config, db, log, metrics.authFailures, counters);
  closers.push(auth.close);
  const collections = await openCollections(db, resources, config.tombstones);
  const opened = collections.map(({ resource }) => resource);
  const feed = config.events
    ? await Feed.open(db, log, opened, config, metrics.events, auth.credentials)
    : undefined;
  closers.push(() => feed?.close());
  const webhooks = openWebhooks(db, log, config, metrics.events, feed && sourceOf(feed, log));
  closers.push(() => webhooks.stop(0));
  return {
    config,
    log,
    metrics,
    registry,
    database,
    metricsServer,
    counters,
    auth,
    collections,
    feed,
    webhooks,
  };
}

async function startMetricsServer(
  config: Config,
  log: Log,
  { db }: Database,
  registry: Metrics['registry'],
): Promise<Server | undefined> {
  const { metricsPort: port, metricsHost: host } = config;
  if (port === undefined) return undefined;
  const server = createMetricsServer(registry, config, log, db.peer, hostsOfMetrics(config));
  await listen(server, { host, port, setting: 'METRICS_PORT' });
  return server;
}

export function closeNow(server: Server | undefined): void {
  server?.close();
  server?.closeAllConnections();
}
