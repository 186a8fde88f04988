import { existsSync, statSync } from 'node:fs';
import { ExitError } from '../exit-error.js';
import { authFaults, readAuth } from './auth.js';
import { readEdge } from './edge.js';
import { createReader, type Env, misspelledSettings, outdatedSettings, type Reader } from './env-reader.js';
import { readEventsConfig } from './events.js';
import { issuerFaults, readIssuerConfig, withOwnIssuer } from './issuer.js';
import { readLimits } from './limits.js';
import { engineFaults, MAX_WORKERS, parseDatabaseUrl, parseReadUrl, parseWorkers } from './parsers.js';
import { readRetirement, retirementFaults } from './retirement.js';
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
  const faults = [
    ...reader.faults,
    ...authFaults(config, (env.AUTH?.trim() ?? '') !== ''),
    ...issuerFaults(config),
    ...retirementFaults(config.retirement),
    ...engineFaults(config),
  ];
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze({ ...withOwnIssuer(config), ...overrides });
}

/** One line for each variable that was renamed or removed, or that may be misspelled. */
export const configWarnings = (env: Env = process.env): string[] => [
  ...outdatedSettings(env),
  ...misspelledSettings(env, settingNames()),
];

/** One line for each name that is not a setting. */
export function unknownSettings(env: Env): string[] {
  const names = settingNames();
  return Object.keys(env)
    .filter((name) => !names.includes(name))
    .map((name) => {
      const [nearest] = misspelledSettings({ [name]: '1' }, names);
      return nearest?.replace(' and is ignored', '') ?? `${name} is not a setting`;
    });
}

/** The setting that a command-line option such as `--port` may mean. */
export function settingFor(option: string): string | undefined {
  const name = option.split('=', 1)[0]!.replace(/^-+/, '').replaceAll('-', '_').toUpperCase();
  return settingNames().find((each) => each === name);
}

function settingNames(): readonly string[] {
  const reader = createReader({});
  readAll(reader);
  return [...reader.names, 'WEBHOOK_SECRET', 'CLIENT_SECRET'];
}

/** How many variables came from a file `.env` in the current folder; undefined: there is no file. */
let loaded: number | undefined;

/**
 * Sets the variables of a file `.env` in the current folder that are not set, once. Returns their number; undefined:
 * there is no such file. Throws ConfigError if it cannot be read.
 */
export function loadEnvFile(): number | undefined {
  if (loaded !== undefined || !existsSync(ENV_FILE)) return loaded;
  const before = Object.keys(process.env).length;
  try {
    process.loadEnvFile(ENV_FILE);
  } catch (error) {
    throw new ConfigError([`.env cannot be read: ${(error as Error).message}`]);
  }
  loaded = Object.keys(process.env).length - before;
  return loaded;
}

const ENV_FILE = '.env';

/** The secret of `plinth token`. */
export const clientSecret = (env: Env = process.env): string | undefined => env.CLIENT_SECRET;

/** The secrets of `plinth verify-webhook`. */
export const webhookSecret = (env: Env = process.env): string | undefined => env.WEBHOOK_SECRET;

function readAll(reader: Reader) {
  return {
    ...readProcess(reader),
    ...readDatabase(reader),
    ...readHttp(reader),
    ...readLimits(reader),
    ...readAuth(reader),
    ...readIssuerConfig(reader),
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

const COLLECTIONS = './collections';

function readDatabase({ read, optional, oneOf, integer, flag }: Reader) {
  const databaseUrl = optional(
    'DATABASE_URL',
    'a URL, postgres://user:password@host/database; several hosts are separated by commas, and target_session_attrs may be `primary` or `read-write`',
    parseDatabaseUrl,
  );
  return {
    databaseUrl,
    /** The server of DATABASE_URL: one PostgreSQL, or the coordinator of a Citus cluster. */
    databaseEngine: oneOf('DATABASE_ENGINE', ['postgresql', 'citus']),
    /** The replicas that read; undefined: the primary does. */
    databaseReadUrl: optional(
      'DATABASE_READ_URL',
      'a URL, postgres://user:password@host/database; several hosts are separated by commas',
      parseReadUrl,
    ),
    readMaxAgeMs: integer('READ_MAX_AGE_MS', 10_000, 100, 600_000),
    /** The folder with the declarations of collections; undefined: those that come with the service. */
    collections: read('COLLECTIONS', existsSync(COLLECTIONS) ? COLLECTIONS : undefined, 'a folder', (text) =>
      statSync(text, { throwIfNoEntry: false })?.isDirectory() ? text : undefined,
    ),
    /** Whether the start brings the tables in line with the declarations, or refuses if they are not. */
    migrate: read<'auto' | 'check'>(
      'MIGRATE',
      databaseUrl === undefined ? 'auto' : 'check',
      '`auto` or `check`',
      (text) => (text === 'auto' || text === 'check' ? text : undefined),
    ),
    dataDir: read('DATA_DIR', './data', 'a path', (text) => text),
    dbConnections: integer('DB_CONNECTIONS', 3, 1, 100),
    dbSearches: integer('DB_SEARCHES', 2, 1, 100),
    dbStreams: integer('DB_STREAMS', 4, 1, 100),
    /** Statements that run or wait; one more is a 503. */
    dbQueue: 2000,
    dbTimeoutMs: integer('DB_TIMEOUT_MS', 10_000, 10, 600_000),
    queryTimeoutMs: integer('QUERY_TIMEOUT_MS', 5000, 10, 600_000),
    tombstones: flag('TOMBSTONES'),
    tombstoneTtlSeconds: integer('TOMBSTONE_TTL', 2_592_000, 1, 3_153_600_000),
    idempotencyTtlSeconds: integer('IDEMPOTENCY_TTL', 86_400, 1, 31_536_000),
    idempotencyMaxBytes: integer('IDEMPOTENCY_MAX_BYTES', 268_435_456, 1_048_576, 999_999_999_999),
  };
}

function readHttp(reader: Reader) {
  const { read, integer, flag } = reader;
  const publicPrefix = read('PUBLIC_PREFIX', '', 'a path without a slash at the end: /api/v1', (text) =>
    /^(\/[\w.~-]+){1,10}$/.test(text) ? text : undefined,
  );
  return {
    headersTimeoutMs: 10_000,
    requestTimeoutMs: integer('REQUEST_TIMEOUT_MS', 60_000, 100, 3_600_000),
    /** How long a client may read nothing of a response. */
    streamStallMs: 30_000,
    keepAliveMs: integer('KEEP_ALIVE_MS', 65_000, 0, 3_600_000),
    /** Responses are compressed for clients that accept it. */
    compression: flag('COMPRESSION', true),
    /** Shorter bodies fit into one packet in any case. */
    compressionMinBytes: integer('COMPRESSION_MIN_BYTES', 1400, 0, 1_073_741_824),
    requireIfMatch: flag('REQUIRE_IF_MATCH'),
    /** Lists have the parameters and responses of json-server 0.17. */
    isJsonServer: read('COMPAT', false, '`json-server`', (text) =>
      text === 'json-server' ? true : undefined,
    ),
    /** Precedes the paths of links and of Location, behind a proxy that exposes only `/api/v1` or adds a path. */
    publicPrefix,
    /** Whether /mcp serves agents. */
    mcp: flag('MCP'),
    retirement: readRetirement(reader, publicPrefix),
  };
}
