import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { openAuth } from './auth/open.js';
import { openSharedCounts } from './auth/shared.js';
import type { Config } from './config.js';
import { connect, type Db } from './db/connect.js';
import { joinEmbedded, startEmbedded } from './db/embedded.js';
import { keepHouse } from './db/housekeeping.js';
import { migrate } from './db/migrate.js';
import { present } from './http/client.js';
import { corsFor } from './http/cors.js';
import { rateLimiter } from './http/rate-limit.js';
import { createRouter, type Route, type Router } from './http/router.js';
import type { Log } from './log.js';
import { createPipeline } from './pipeline.js';
import { databaseObstacle, type Obstacle } from './readiness.js';
import {
  type Collections,
  healthRoutes,
  keyRoutes,
  openCollections,
  routes,
  webhookRoutes,
} from './routes.js';
import { createHttpServer } from './server.js';
import { readTls, TlsError } from './tls.js';
import { openWebhooks, targetRules, type Webhooks } from './webhooks/open.js';

/** A service that answers. */
export interface Service {
  readonly url: string;
  readonly db: Db;
  readonly collections: Collections;
  readonly routes: readonly Route[];
  /** In maintenance everything but /healthz and /readyz is 503. */
  setMaintenance(on: boolean): void;
  isInMaintenance(): boolean;
  /**
   * Reads the files of the TLS settings again: new connections get what they hold, those there are go on. Throws
   * TlsError, and keeps what it has, when they cannot be used; does nothing without TLS.
   */
  reload(): void;
  /** Stops accepting, lets what is in flight finish within the configured time, and closes everything. */
  stop(): Promise<void>;
}

/** The service cannot start, told in one line. */
export class StartError extends Error {}

/** An open database with its schema in place, the service's own one or the configured one. */
export interface Database {
  readonly db: Db;
  close(): Promise<void>;
}

/**
 * Opens the database, with `join` also one that a running service brought. Throws EmbeddedError or DatabaseError
 * when it cannot be used.
 */
export async function openDatabase(
  config: Config,
  log: Log,
  { join }: { readonly join: boolean } = { join: false },
): Promise<Database> {
  const open = join ? joinEmbedded : startEmbedded;
  const embedded =
    config.databaseUrl === undefined
      ? await open({ dataDir: config.dataDir, onCrash: (message) => log.error(message) })
      : undefined;
  try {
    const url = config.databaseUrl ?? embedded!.url;
    await migrate(url, config.dbTimeoutMs);
    const db = connect(url, {
      connections: config.dbConnections,
      searches: config.dbSearches,
      streams: config.dbStreams,
      queue: config.dbQueue,
      timeoutMs: config.dbTimeoutMs,
      tombstones: config.tombstones,
    });
    return {
      db,
      close: async () => {
        await db.close();
        await embedded?.stop();
      },
    };
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
}

/** Starts everything, in order; resolves when the service answers. `more` adds routes of other collections. */
export async function startService(
  config: Config,
  log: Log,
  more?: (db: Db) => Promise<Route[]>,
): Promise<Service> {
  const tls = tlsOf(config);
  const database = await openDatabase(config, log);
  const { db } = database;
  let maintenance = config.maintenance;
  let stopWebhooks: Webhooks['stop'] | undefined;
  try {
    const counts = config.rateLimitStore === 'postgres' ? openSharedCounts(db, log) : undefined;
    const auth = openAuth(config, db, log, counts);
    const collections = await openCollections(db, config.tombstones);
    const webhooks = openWebhooks(db, log, config);
    stopWebhooks = webhooks.stop;
    const ofDatabase = databaseObstacle(db);
    const obstacle = async (): Promise<Obstacle> => {
      if (!server.listening) return 'draining';
      return maintenance ? 'maintenance' : ofDatabase();
    };
    const table = [
      ...routes(db, collections, config, () => router),
      ...healthRoutes(obstacle),
      ...(auth.lookup ? keyRoutes(db, auth.lookup) : []),
      ...webhookRoutes(db, collections, targetRules(config), config.publicUrl ?? '/', webhooks.wake),
      ...((await more?.(db)) ?? []),
    ];
    const router: Router = createRouter(table);
    const pipeline = createPipeline({
      router,
      log,
      bodyLimit: config.bodyLimit,
      streamStallMs: config.streamStallMs,
      retirement: config,
      authenticate: auth.authenticate,
      challenge: auth.challenge,
      cors: corsFor(config.corsOrigins),
      rateLimit:
        config.rateLimit && rateLimiter(config.rateLimit, counts?.('requests', config.rateLimit.seconds)),
      present: (req, body) => present(req, body, config.trustProxy),
      isInMaintenance: () => maintenance,
      isDraining: () => !server.listening,
    });
    const server = createHttpServer(pipeline, config, tls);
    await listen(server, config);
    const stopHousekeeping = keepHouse(db, log, config);
    return {
      url: urlOf(server, config),
      db,
      collections,
      routes: table,
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
        await Promise.all([drain(server, config.shutdownMs), webhooks.stop(config.shutdownMs)]);
        await auth.close();
        await database.close();
      },
    };
  } catch (error) {
    await stopWebhooks?.(0);
    await database.close();
    throw error;
  }
}

/** The TLS settings that are there at the start. */
function tlsOf(config: Config) {
  try {
    return readTls(config);
  } catch (error) {
    throw error instanceof TlsError ? new StartError(error.message) : error;
  }
}

async function listen(server: Server | TlsServer, { host, port }: Config): Promise<void> {
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (error) {
    const taken = (error as { code?: string }).code === 'EADDRINUSE';
    throw new StartError(
      taken
        ? `port ${port} of ${host} is taken: set PORT to another`
        : `cannot listen on ${host}: ${(error as Error).message}`,
    );
  }
}

function urlOf(server: Server | TlsServer, { host, tlsCert }: Config): string {
  const { port } = server.address() as AddressInfo;
  return `${tlsCert === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** New connections are refused, idle ones closed, busy ones closed with their answer. */
async function drain(server: Server | TlsServer, shutdownMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  const impatient = setTimeout(() => server.closeAllConnections(), shutdownMs);
  // Not at once: a connection that is new may have its first request on the way.
  const idle = setInterval(() => server.closeIdleConnections(), 100);
  await closed;
  clearTimeout(impatient);
  clearInterval(idle);
}
