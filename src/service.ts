import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { openAuth } from './auth/open.js';
import { bind, StartError } from './bind.js';
import type { Config } from './config.js';
import { connect, type Db } from './db/connect.js';
import { keepHouse } from './db/housekeeping.js';
import { prepareDatabase } from './db/prepare.js';
import { present } from './http/client.js';
import { corsFor } from './http/cors.js';
import { rateLimiter } from './http/rate-limit.js';
import { createRouter, type Route, type Router } from './http/router.js';
import type { Log } from './log.js';
import { createPipeline } from './pipeline.js';
import { databaseObstacle, type Obstacle } from './readiness.js';
import { type Collections, healthRoutes, keyRoutes, openCollections, routes } from './routes.js';
import { createHttpServer } from './server.js';
import { readTls, TlsError } from './tls.js';

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
  options?: { readonly join: boolean },
): Promise<Database> {
  const prepared = await prepareDatabase(config, log, options);
  const db = connectAs(config, prepared.url);
  return {
    db,
    close: async () => {
      await db.close();
      await prepared.close();
    },
  };
}

function connectAs(config: Config, url: string): Db {
  return connect(url, {
    connections: config.dbConnections,
    searches: config.dbSearches,
    streams: config.dbStreams,
    queue: config.dbQueue,
    timeoutMs: config.dbTimeoutMs,
    tombstones: config.tombstones,
  });
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
export async function startService(
  config: Config,
  log: Log,
  more?: (db: Db) => Promise<Route[]>,
  primary?: Primary,
): Promise<Service> {
  const tls = tlsOf(config);
  const database = primary ? openPrepared(config) : await openDatabase(config, log);
  const { db } = database;
  let maintenance = config.maintenance;
  try {
    // Loaded when the settings ask for it: a start and its memory pay for no package that is not used.
    const counts =
      config.rateLimitStore === 'postgres'
        ? (await import('./auth/shared.js')).openSharedCounts(db, log)
        : undefined;
    const auth = await openAuth(config, db, log, counts);
    const collections = await openCollections(db, config.tombstones);
    const ofDatabase = databaseObstacle(db);
    const obstacle = async (): Promise<Obstacle> => {
      if (!server.listening) return 'draining';
      return maintenance ? 'maintenance' : ofDatabase();
    };
    const table = [
      ...routes(db, collections, config, () => router),
      ...healthRoutes(obstacle),
      ...(auth.lookup ? keyRoutes(db, auth.lookup) : []),
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
    await bind(server, config);
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
        await drain(server, config.shutdownMs);
        await auth.close();
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The database of a worker, whose primary keeps it. */
function openPrepared(config: Config): Database {
  const db = connectAs(config, config.databaseUrl!);
  return { db, close: () => db.close() };
}

/** The TLS settings that are there at the start. */
function tlsOf(config: Config) {
  try {
    return readTls(config);
  } catch (error) {
    throw error instanceof TlsError ? new StartError(error.message) : error;
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
