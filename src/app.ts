import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import { closeNow, openParts, type Parts, type Surroundings } from './app/app-parts.js';
import { memberOf, type Openable } from './app/open-features.js';
import { type ApiRoutes, routesOf } from './app/routes.js';
import type { Config } from './config/config.js';
import { hostsOf } from './config/server-settings.js';
import { startMaintenance } from './db/maintenance.js';
import { databaseReadiness, type NotReadyReason } from './db/readiness.js';
import { allowHosts } from './http/allowed-hosts.js';
import { readAuthRequest } from './http/client-identity.js';
import { createCommonFields, fixedFields } from './http/common-headers.js';
import { corsFor } from './http/cors.js';
import { originRule } from './http/request-origin.js';
import type { Route } from './http/router.js';
import { ParseLimit } from './limits/parse-limit.js';
import { rateLimiter } from './limits/rate-limit.js';
import type { ServiceState } from './pipeline/context.js';
import { Mount } from './pipeline/mount.js';
import { createPipeline } from './pipeline/pipeline.js';
import { createHttpServer } from './pipeline/server.js';
import { shutDown } from './process/graceful-shutdown.js';
import { listen, urlOf } from './process/listen.js';
import { readTls } from './process/tls.js';
import type { Log } from './telemetry/log.js';
import { createObserver } from './telemetry/request-observer.js';
import { findTracer } from './telemetry/tracing.js';
import { detached } from './telemetry/wait-tracking.js';
import { fitOpenFiles } from './transport/open-files.js';

export interface AppOptions extends Surroundings {
  /** Further routes, for tests. */
  readonly routes?: readonly Route[] | undefined;
  /** Another server listens: requests come from `handle`, below the path of PUBLIC_PREFIX. */
  readonly isMounted?: boolean;
}

/**
 * Starts the service, with those of these features that the settings turn on. Resolves when it responds to requests. If the
 * start fails, everything is closed again.
 */
export async function startApp(
  settings: Config,
  log: Log,
  features: readonly Openable[],
  options: AppOptions = {},
): Promise<App> {
  const config = fitOpenFiles(settings, log);
  const { routes: furtherRoutes = [], isMounted = false } = options;
  const tls = readTls(config);
  const closers: (() => unknown)[] = [];
  try {
    const parts = await openParts(config, log, features, options, closers);
    const state = new AppState(config.maintenance, databaseReadiness(parts.database.db));
    const api = routesOf(parts, () => state.notReadyReason(), furtherRoutes);
    const server = serverOf(parts, state, api, tls);
    if (!isMounted) await listen(server, { host: config.host, port: config.port, setting: 'PORT' });
    return running(parts, state, api, server);
  } catch (error) {
    for (const close of closers.reverse()) await close();
    throw error;
  }
}

class AppState implements ServiceState {
  isDraining = false;

  constructor(
    /** In maintenance, everything but /healthz, /readyz and /metrics is 503. */
    public isInMaintenance: boolean,
    readonly databaseReason: () => Promise<NotReadyReason>,
  ) {}

  async notReadyReason(): Promise<NotReadyReason> {
    if (this.isDraining) return 'draining';
    return this.isInMaintenance ? 'maintenance' : this.databaseReason();
  }
}

function serverOf(
  { config, log, metrics, database, auth, counters, feed, features, description }: Parts,
  state: AppState,
  { router }: ApiRoutes,
  tls: SecureContextOptions | undefined,
): Server | TlsServer {
  const { rateLimit } = config;
  const wrote = memberOf(features, 'wrote');
  const cors = corsFor(config.corsOrigins, description.fields);
  const always = fixedFields(tls !== undefined, config.hstsMaxAgeSeconds);
  const commonFields = createCommonFields(always, cors);
  const observer = createObserver({
    ...config,
    metrics: metrics.http,
    log,
    tracer: findTracer(),
    database: database.db.peer,
  });
  const pipeline = createPipeline({
    ...config,
    router,
    log,
    observer,
    versionRequests: metrics.http.versions,
    commonFields,
    cors,
    parseLimit: new ParseLimit(),
    authenticate: auth.authenticate,
    session: auth.session,
    errorPage: memberOf(features, 'errorPage') ?? (async () => undefined),
    challenge: auth.challenge,
    requireOrigin: originRule(config),
    requireAllowedHost: auth.authenticate ? undefined : allowHosts(hostsOf(config)),
    rateLimit: rateLimit && rateLimiter(rateLimit, counters?.('requests', rateLimit.seconds)),
    readAuthRequest: (req, body) => readAuthRequest(req, body, config),
    afterWrite: (principal, fields) => {
      // The readers that a write wakes are no part of its request.
      detached(() => feed?.follower.wrote(), undefined);
      return wrote?.(principal.subject, fields);
    },
    state,
  });
  return createHttpServer(pipeline, { ...config, commonFields, always }, tls, metrics.http.refused);
}

/** A running service. */
export type App = ReturnType<typeof running>;

function running(parts: Parts, state: AppState, { routes }: ApiRoutes, server: Server | TlsServer) {
  const { config, log, database, metrics, metricsServer, collections, feed, auth, features } = parts;
  const open = [...features.values()];
  const mount = new Mount(server, config.publicPrefix);
  const stopMaintenance = startMaintenance(database, log, {
    ...config,
    prunes: open.flatMap((feature) => feature.prunes ?? []),
    horizon: feed?.follower.horizon,
    onDropped: (events) => {
      for (const feature of open) feature.dropped?.(events);
    },
  });
  return {
    /** Empty if it is mounted. */
    url: server.listening ? urlOf(server, config.host) : '',
    db: database.db,
    collections,
    routes,
    /** The open features, by their names. */
    features,
    metrics,
    /** The address of METRICS_PORT's listener. */
    metricsUrl: metricsServer && urlOf(metricsServer, config.metricsHost),
    feed,
    /** Handles a request that another server received. */
    handle: ((req, res, next) => mount.handle(req, res, next)) as Mount['handle'],
    isInMaintenance: () => state.isInMaintenance,
    setMaintenance: (on: boolean) => {
      state.isInMaintenance = on;
    },
    /**
     * Reads the files of the TLS settings again, for new connections. Throws TlsError, and retains the present ones, if they
     * cannot be used. Does nothing without TLS.
     */
    reload: () => {
      const renewed = readTls(config);
      if (renewed && 'setSecureContext' in server) server.setSecureContext(renewed);
    },
    /** Stops accepting, lets requests in flight finish within the configured times, and closes everything. */
    stop: async () => {
      stopMaintenance();
      state.isDraining = true;
      await feed?.close();
      await Promise.all([
        shutDown(server, config),
        mount.drain(config.shutdownMs),
        ...open.map((feature) => feature.stop?.(config.shutdownMs)),
      ]);
      await Promise.all(open.map((feature) => feature.close?.()));
      await auth.close();
      await database.close();
      closeNow(metricsServer);
    },
  };
}
