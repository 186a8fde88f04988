import type { IncomingMessage, ServerResponse } from 'node:http';
import { settingsOf as settingsOfFeatures } from './app/open-features.js';
import { type App, startApp } from './app.js';
import type { SchemeName } from './auth/principal.js';
import { type Config, ConfigError, readConfig, unknownSettings } from './config/config.js';
import { unavailable } from './errors/service-errors.js';
import { FEATURES } from './features.js';
import { PLAIN_FIELDS } from './http/common-headers.js';
import { earlyReplies } from './http/early-reply.js';
import type { ForeignRequest } from './pipeline/mount.js';
import { createLog } from './telemetry/log.js';
import { refuse } from './transport/admission-control.js';

/** A credential that AUTH can name. */
export type AuthScheme = 'bearer' | 'basic' | 'api-key' | 'signature' | 'mtls';

/** The options of a service in this program. The environment of the process has no influence. */
export interface PlinthOptions {
  /** DATABASE_URL; absent: the embedded PostgreSQL starts. */
  readonly databaseUrl?: string;
  /** DATA_DIR. */
  readonly dataDir?: string;
  /** COLLECTIONS: the folder with the declarations. */
  readonly collections?: string;
  /** MIGRATE. */
  readonly migrate?: 'auto' | 'check';
  /** HOST. */
  readonly host?: string;
  /** PORT; 0: any free port. */
  readonly port?: number;
  /** PUBLIC_URL. */
  readonly publicUrl?: string;
  /** AUTH. */
  readonly auth?: 'none' | AuthScheme | readonly AuthScheme[];
  /** Other settings, by their names in docs/configuration.md. */
  readonly env?: Readonly<Record<string, string | number>>;
  /**
   * The path below which `handler` serves requests in a server of this program: `/data`, or `/` for all. The service then
   * has no port of its own, and its links begin with the path.
   */
  readonly mountPath?: string;
  /** Where lines of JSON go; `silent` by default. */
  readonly log?: 'silent' | { write(line: string): unknown };
}

/** A service in this program. */
export interface Plinth {
  /**
   * Starts the service. `url` is its address; undefined if it is mounted. Rejects with an error whose `code` is CONFIGURATION,
   * UNAVAILABLE or FAILED, as for the command `plinth`.
   */
  start(): Promise<{ readonly url: string | undefined }>;
  /** Lets requests in flight finish within SHUTDOWN_MS, and closes everything. It can be started again. */
  stop(): Promise<void>;
  /** Handles a request of `node:http` or Express, below `mountPath`; other requests go to `next`, or are 404. */
  readonly handler: (req: IncomingMessage, res: ServerResponse, next?: () => void) => void;
}

/**
 * Creates a service, which runs from `start` to `stop`. It handles no signals, ends no process and prints nothing. Throws an
 * error with the code CONFIGURATION that has one line for each invalid option.
 */
export function createPlinth(options: PlinthOptions = {}): Plinth {
  const config = configOf(options);
  const { log: lines = 'silent', mountPath } = options;
  const log = lines === 'silent' ? createLog('silent') : createLog(config.logLevel, lines);
  const isMounted = mountPath !== undefined;
  let app: Promise<App> | undefined;
  const start = () => {
    app ??= startApp(config, log, FEATURES, { isMounted }).catch((error: unknown) => {
      app = undefined;
      throw error;
    });
    return app;
  };
  return {
    start: async () => {
      const { url } = await start();
      return { url: isMounted ? undefined : url };
    },
    stop: async () => {
      const running = await app?.catch(() => undefined);
      app = undefined;
      await running?.stop();
    },
    handler: (req, res, next) => {
      const stopped = () => refuse(req, res, false, stoppedReply(req), PLAIN_FIELDS);
      if (app) app.then(({ handle }) => handle(req as ForeignRequest, res, next), stopped);
      else stopped();
    },
  };
}

const stoppedReply = earlyReplies(unavailable('The service does not run.'), '');

/** Throws ConfigError. */
function configOf(options: PlinthOptions): Config {
  const { env = {}, mountPath } = options;
  const faults = unknownSettings(textsOf(env), settingsOfFeatures(FEATURES));
  const isPath = mountPath === undefined || /^(\/|(\/[\w.~-]+){1,10})$/.test(mountPath);
  if (!isPath) faults.push('mountPath must be / or a path without a slash at the end: /data');
  const prefix = !isPath || mountPath === undefined || mountPath === '/' ? '' : mountPath;
  const settings = { ...env, ...settingsOf(options), ...(prefix === '' ? {} : { PUBLIC_PREFIX: prefix }) };
  try {
    const config = readConfig(textsOf(settings), {}, '', settingsOfFeatures(FEATURES));
    for (const [{ part }, own] of config.features)
      faults.push(...(part.programFaults?.(own, mountPath !== undefined) ?? []));
    if (faults.length === 0) return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    faults.push(...error.faults);
  }
  throw new ConfigError(faults);
}

function settingsOf(options: PlinthOptions) {
  const { databaseUrl, dataDir, collections, migrate, host, port, publicUrl, auth } = options;
  const schemes = auth as 'none' | SchemeName | readonly SchemeName[] | undefined;
  const given = {
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    COLLECTIONS: collections,
    MIGRATE: migrate,
    HOST: host,
    PORT: port,
    PUBLIC_URL: publicUrl,
    AUTH: typeof schemes === 'object' ? schemes.join(',') : schemes,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

const textsOf = (settings: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]));
