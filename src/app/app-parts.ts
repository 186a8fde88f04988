import type { Server } from 'node:http';
import { openIdempotency } from '../actions/idempotency.js';
import { openCollections } from '../api/record-actions.js';
import { openAuth } from '../auth/open-schemes.js';
import { knownScopes } from '../auth/user-scopes.js';
import type { Config } from '../config/config.js';
import type { Db } from '../db/db.js';
import { type Database, openDatabase } from '../db/open-database.js';
import { loadDeclarations } from '../declarations/load-declarations.js';
import { Feed } from '../events/feed.js';
import { BODIES } from '../limits/byte-budget.js';
import { clientKey, rateLimiter } from '../limits/rate-limit.js';
import type { OpenCounts } from '../limits/shared-counters.js';
import { ensureCollections, storedResources } from '../schema/ensure-collections.js';
import type { Log } from '../telemetry/log.js';
import { createMetrics, type Scrape } from '../telemetry/metrics.js';
import { startMetricsServer } from './metrics-server.js';
import {
  type Core,
  collectionsFor,
  describeApi,
  embeddedOf,
  type Openable,
  type OpenFeatures,
  openFeatures,
  openFirst,
} from './open-features.js';

/** The parts that the process of a service has besides it. */
export interface Surroundings {
  /** The metrics of all workers, if this is one of several, for which another process has prepared the database. */
  readonly scrape?: Scrape;
  readonly redeclare?: () => Promise<void>;
}

/** The parts of the service, besides its listener. */
export interface Parts extends Core {
  /** The metrics of all processes of the service. */
  readonly scrape: Scrape;
  readonly database: Database;
  /** The listener of METRICS_PORT; undefined without the setting. */
  readonly metricsServer: Server | undefined;
  /** Counters that all processes share; undefined with RATE_LIMIT_STORE=memory. */
  readonly counters: OpenCounts | undefined;
  readonly features: OpenFeatures;
}

/** Opens all parts, in the order in which they need each other. `closers` receives what a failed start has to close. */
export async function openParts(
  config: Config,
  log: Log,
  features: readonly Openable[],
  { scrape: scrapeAll, redeclare }: Surroundings,
  closers: (() => unknown)[],
): Promise<Parts> {
  const metrics = createMetrics();
  const scrape = scrapeAll ?? metrics.scrape;
  const database = await openDatabase(config, log, {
    metrics: metrics.db,
    openEmbedded: embeddedOf(features),
  });
  const { db } = database;
  closers.push(() => database.close());
  const declarations = await loadDeclarations(config);
  if (!scrapeAll) await ensureCollections(database, declarations, config.migrate, log);
  const resources = collectionsFor(
    config,
    await storedResources(database, declarations, config.publicPrefix),
  );
  const metricsServer = await startMetricsServer(config, log, scrape);
  closers.push(() => closeNow(metricsServer));
  // Loaded on demand, so that a start without it takes less time and memory.
  const counters =
    config.rateLimitStore === 'postgres'
      ? (await import('../limits/shared-counters.js')).openSharedCounts(db, log)
      : undefined;
  const callers = resources
    .filter(({ owner, hasPasswords }) => owner && !hasPasswords)
    .map(({ table }) => table);
  const base = { config, log, metrics, db };
  const collectionsOn = (db: Db) => openCollections(db, resources, config.tombstones);
  const collections = collectionsOn(db);
  const users = () => collections.find(({ resource }) => resource.hasPasswords)!.whole;
  const own = await openFirst(features, config, ({ openCredentials }) => openCredentials?.(base));
  const userOf = await openFirst(features, config, ({ openUsersOfTokens }) =>
    openUsersOfTokens?.(base, users),
  );
  const auth = await openAuth(config, db, log, metrics.authFailures, callers, counters, own, userOf);
  closers.push(auth.close);
  const opened = collections.map(({ resource }) => resource);
  const feed = config.events
    ? await Feed.open(db, log, opened, config, metrics.events, auth.credentials)
    : undefined;
  closers.push(() => feed?.close());
  const description = await describeApi(features, config, opened);
  const limitAddresses = limitingAddresses(counters);
  const idempotency = openIdempotency(config.idempotencyTtlSeconds, collections);
  const core: Core = {
    ...base,
    auth,
    limitAddresses,
    collections,
    collectionsOn,
    scopes: knownScopes(opened),
    feed,
    idempotency,
    description,
    redeclare,
    bodies: BODIES,
    databaseUrl: database.url,
    sharedSchemas: declarations.shared,
  };
  const open = await openFeatures(features, core, closers);
  return { ...core, scrape, database, metricsServer, counters, features: open };
}

const limitingAddresses =
  (counters: OpenCounts | undefined): Core['limitAddresses'] =>
  (name, quota) => {
    const limit = rateLimiter(quota, counters?.(name, quota.seconds));
    return async (address) => (await limit(clientKey('site', address))).refusedFor;
  };

export function closeNow(server: Server | undefined): void {
  server?.close();
  server?.closeAllConnections();
}
