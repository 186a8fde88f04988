import { ExitError } from '../exit-error.js';
import { authFaults, readAuth } from './auth.js';
import { readEdge } from './edge.js';
import { createReader, type Env, outdatedSettings, type Reader } from './env-reader.js';
import { readEventsConfig } from './events.js';
import { readLimits } from './limits.js';
import { MAX_WORKERS, parseDatabaseUrl, parseWorkers } from './parsers.js';
import { readTelemetry } from './telemetry.js';
import { readWebhooks } from './webhooks.js';

/** All settings and constants. Durations in milliseconds, sizes in bytes, unless the name says otherwise. */
export type Config = Readonly<ReturnType<typeof readAll>>;

/** Invalid settings: one line each, with the name of the variable. */
export class ConfigError extends ExitError {
  /** EX_CONFIG of sysexits.h. */
  override readonly exitCode = 78;

  constructor(readonly faults: readonly string[]) {
    super(faults.join('\n'));
  }
}

/** Reads the configuration. Throws one ConfigError with every fault. Tests replace constants by `overrides`. */
export function readConfig(env: Env = process.env, overrides: Partial<Config> = {}): Config {
  const reader = createReader(env);
  const config = readAll(reader);
  const faults = [...reader.faults, ...authFaults(config, (env.AUTH?.trim() ?? '') !== '')];
  // RFC 9745 section 4.
  if (config.deprecation && config.sunset && config.sunset < config.deprecation)
    faults.push('V1_SUNSET must be a date that is not before V1_DEPRECATION');
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze({ ...config, ...overrides });
}

/** One line for each variable in use that was renamed or removed. */
export const configWarnings = (env: Env = process.env): string[] => outdatedSettings(env);

/** The secrets of `plinth verify-webhook`. */
export const webhookSecret = (env: Env = process.env): string | undefined => env.WEBHOOK_SECRET;

function readAll(reader: Reader) {
  return {
    ...readProcess(reader),
    ...readDatabase(reader),
    ...readHttp(reader),
    ...readLimits(reader),
    ...readAuth(reader),
    ...readEdge(reader),
    ...readTelemetry(reader),
    ...readEventsConfig(reader),
    ...readWebhooks(reader),
  };
}

function readProcess({ read, integer, flag }: Reader) {
  return {
    /** Processes that share the port; 1: the service is one process. */
    workers: read('WORKERS', 1, `an integer from 1 to ${MAX_WORKERS}, or \`auto\``, parseWorkers),
    /** Starts in maintenance. */
    maintenance: flag('MAINTENANCE'),
    shutdownMs: integer('SHUTDOWN_MS', 10_000, 0, 600_000),
    shutdownDelayMs: integer('SHUTDOWN_DELAY_MS', 0, 0, 600_000),
    shutdownIdleMs: 1000,
  };
}

function readDatabase({ read, optional, integer, flag }: Reader) {
  return {
    databaseUrl: optional('DATABASE_URL', 'a URL: postgres://user:password@host/database', parseDatabaseUrl),
    dataDir: read('DATA_DIR', './data', 'a path', (text) => text),
    dbConnections: integer('DB_CONNECTIONS', 3, 1, 100),
    dbSearches: integer('DB_SEARCHES', 2, 1, 100),
    dbStreams: integer('DB_STREAMS', 4, 1, 100),
    /** Statements that run or wait; one more is a 503. */
    dbQueue: 2000,
    dbTimeoutMs: integer('DB_TIMEOUT_MS', 10_000, 10, 600_000),
    tombstones: flag('TOMBSTONES'),
    tombstoneTtlSeconds: integer('TOMBSTONE_TTL', 2_592_000, 1, 3_153_600_000),
    idempotencyTtlSeconds: integer('IDEMPOTENCY_TTL', 86_400, 1, 31_536_000),
    idempotencyMaxBytes: integer('IDEMPOTENCY_MAX_BYTES', 268_435_456, 1_048_576, 999_999_999_999),
  };
}

function readHttp({ integer, optional, flag, date }: Reader) {
  return {
    headersTimeoutMs: 10_000,
    requestTimeoutMs: integer('REQUEST_TIMEOUT_MS', 60_000, 100, 3_600_000),
    /** How long a client may read nothing of a response. */
    streamStallMs: 30_000,
    keepAliveMs: integer('KEEP_ALIVE_MS', 65_000, 0, 3_600_000),
    requireIfMatch: flag('REQUIRE_IF_MATCH'),
    deprecation: date('V1_DEPRECATION'),
    sunset: date('V1_SUNSET'),
    successor: optional('V1_SUCCESSOR', 'a URL or a path', (text) =>
      /^(https?:\/\/|\/)[\x21-\x7e]*$/.test(text) && !/[<>"]/.test(text) && URL.canParse(text, 'http://host')
        ? text
        : undefined,
    ),
  };
}
