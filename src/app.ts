import type { Server } from 'node:http';
import { notifyFeed } from './actions/notify-feed.js';
import { healthRoutes, keyRoutes, metricsRoute, webhookRoutes } from './admin-routes.js';
import { openAuth } from './auth/open.js';
import type { Config } from './config/config.js';
import { hostsOf, hostsOfMetrics } from './config/edge.js';
import type { Db } from './db/db.js';
import { startMaintenance } from './db/maintenance.js';
import { openDatabase, openPrepared } from './db/open.js';
import { databaseReadiness, type NotReadyReason } from './db/readiness.js';
import { type Feed, openFeed } from './events/feed.js';
import { allowHosts } from './http/allowed-hosts.js';
import { present } from './http/client-identity.js';
import { commonFields, fixedFields } from './http/common-headers.js';
import { corsFor } from './http/cors.js';
import { createRouter, type Route, type Router } from './http/router.js';
import { ParseLimit } from './limits/parse-limit.js';
import { rateLimiter } from './limits/rate-limit.js';
import { createMetricsServer } from './metrics-server.js';
import { createPipeline } from './pipeline/pipeline.js';
import { createHttpServer } from './pipeline/server.js';
import { shutDown } from './process/graceful-shutdown.js';
import { listen, urlOf } from './process/listen.js';
import { readTls } from './process/tls.js';
import { type Collections, openCollections, routes } from './routes.js';
import type { Log } from './telemetry/log.js';
import { createMetrics, type Metrics, registryOfAll } from './telemetry/metrics.js';
import { createObserver } from './telemetry/request-observer.js';
import { findTracer } from './telemetry/tracing.js';
import { sourceOf } from './webhooks/feed-source.js';
import { openWebhooks, targetRules } from './webhooks/open.js';

/** A service that answers. */
export interface App {
  readonly url: string;
  readonly db: Db;
  readonly collections: Collections;
  readonly routes: readonly Route[];
  readonly metrics: Metrics;
  /** Where they are scraped, when that is a listener of its own. */
  readonly metricsUrl: string | undefined;
  /** Undefined with EVENTS=off. */
  readonly feed: Feed | undefined;
  /** In maintenance everything but /healthz, /readyz and /metrics is 503. */
  setMaintenance(on: boolean): void;
  isInMaintenance(): boolean;
  /**
   * Reads the files of the TLS settings again: new connections get what they hold, those there are go on. Throws
   * TlsError, and keeps what it has, when they cannot be used; does nothing without TLS.
   */
  reload(): void;
  /** Stops accepting, lets what is in flight finish within the configured times, and closes everything. */
  stop(): Promise<void>;
}

/** The primary of a worker. It has prepared the database. */
export interface Primary {
  /** The figures of all workers that answer in time, the asking one's among them. Throws when the primary does not. */
  collect(): Promise<readonly unknown[]>;
}

/**
 * Starts everything, in order; resolves when the service answers. `more` adds routes of other collections; with
 * `primary` this is one of several workers.
 */
export async function startApp(
  config: Config,
  log: Log,
  more?: (db: Db) => Promise<Route[]>,
  primary?: Primary,
): Promise<App> {
  const tls = readTls(config);
  const metrics = createMetrics();
  const open = primary ? openPrepared : openDatabase;
  const database = await open(config, log, { metrics: metrics.db });
  const { db } = database;
  const { metricsPort: port, metricsHost } = config;
  const registry = primary ? () => registryOfAll(primary.collect) : metrics.registry;
  const scrape =
    port === undefined
      ? undefined
      : createMetricsServer(registry, config, log, db.peer, hostsOfMetrics(config));
  let maintenance = config.maintenance;
  let draining = false;
  /** What a start that fails has to close, the last first. */
  const close: (() => unknown)[] = [() => database.close(), () => closeNow(scrape)];
  try {
    if (scrape) await listen(scrape, { host: metricsHost, port: port!, setting: 'METRICS_PORT' });
    // Loaded when the settings ask for it: a start and its memory pay for no package that is not used.
    const counts =
      config.rateLimitStore === 'postgres'
        ? (await import('./limits/shared-counters.js')).openSharedCounts(db, log)
        : undefined;
    const auth = await openAuth(config, db, log, metrics.authFailures, counts);
    close.push(auth.close);
    const collections = await openCollections(db, config.tombstones);
    const resources = Object.values(collections).map(({ resource }) => resource);
    const feed = config.events
      ? await openFeed(db, log, resources, config, metrics.events, auth.credentials)
      : undefined;
    close.push(() => feed?.close());
    const webhooks = openWebhooks(db, log, config, metrics.events, feed && sourceOf(feed, log));
    close.push(() => webhooks.stop(0));
    const ofDatabase = databaseReadiness(db);
    const obstacle = async (): Promise<NotReadyReason> => {
      if (draining) return 'draining';
      return maintenance ? 'maintenance' : ofDatabase();
    };
    const settings = { ...config, requireCurrentPassword: auth.requireCurrentPassword };
    const table = [
      ...routes(db, collections, settings, () => router, feed),
      ...healthRoutes(obstacle),
      ...(config.metricsPort === undefined ? [metricsRoute(registry, { scopes: ['admin'] })] : []),
      ...(auth.lookup ? keyRoutes(db, auth.lookup) : []),
      ...webhookRoutes(db, Object.keys(collections), targetRules(config), config.publicUrl ?? '/', webhooks),
      ...((await more?.(db)) ?? []),
    ];
    const router: Router = createRouter(feed ? notifyFeed(feed.follower, table) : table);
    const cors = corsFor(config.corsOrigins);
    const fixed = fixedFields(tls !== undefined, config.hstsMaxAgeSeconds);
    const common = commonFields(fixed, cors);
    const pipeline = createPipeline({
      router,
      log,
      observer: createObserver({
        metrics: metrics.http,
        log,
        accessLog: config.accessLog,
        serverTiming: config.serverTiming,
        tracer: findTracer(),
        database: db.peer,
      }),
      bodyLimit: config.bodyLimit,
      bodyBytes: config.bodyBytes,
      bodyBytesPerAddress: config.bodyBytesPerAddress,
      bodyMinRate: config.bodyMinRate,
      bodyRateMs: config.bodyRateMs,
      streamStallMs: config.streamStallMs,
      responseBytes: config.responseBytes,
      parseLimit: new ParseLimit(),
      retirement: config,
      authenticate: auth.authenticate,
      requireAllowedHost: auth.authenticate ? undefined : allowHosts(hostsOf(config)),
      challenge: auth.challenge,
      common,
      cors,
      rateLimit:
        config.rateLimit && rateLimiter(config.rateLimit, counts?.('requests', config.rateLimit.seconds)),
      present: (req, body) => present(req, body, config),
      isInMaintenance: () => maintenance,
      isDraining: () => draining,
    });
    const server = createHttpServer(
      pipeline,
      { ...config, common, always: fixed },
      tls,
      metrics.http.refused,
    );
    await listen(server, { host: config.host, port: config.port, setting: 'PORT' });
    const stopHousekeeping = startMaintenance(db, log, {
      ...config,
      horizon: feed?.follower.horizon,
      onDropped: (events) => {
        metrics.events.dropped.value += events;
        log.error({ events }, 'events were deleted before webhooks received them: EVENTS_MAX_BYTES');
      },
    });
    return {
      url: urlOf(server, config.host),
      db,
      collections,
      routes: table,
      metrics,
      metricsUrl: scrape && urlOf(scrape, metricsHost),
      feed,
      setMaintenance: (on) => {
        maintenance = on;
      },
      isInMaintenance: () => maintenance,
      reload: () => {
        const renewed = readTls(config);
        if (renewed && 'setSecureContext' in server) server.setSecureContext(renewed);
      },
      stop: async () => {
        stopHousekeeping();
        draining = true;
        await feed?.close();
        await Promise.all([shutDown(server, config), webhooks.stop(config.shutdownMs)]);
        await auth.close();
        await database.close();
        closeNow(scrape);
      },
    };
  } catch (error) {
    for (const each of close.reverse()) await each();
    throw error;
  }
}

function closeNow(server: Server | undefined): void {
  server?.close();
  server?.closeAllConnections();
}
