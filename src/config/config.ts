import { type AuthConfig, authFaults, readAuth } from './auth.js';
import { type EdgeConfig, readEdge } from './edge.js';
import { createReader, type Env } from './env-reader.js';
import { type EventsConfig, readEventsConfig } from './events.js';
import { type LimitsConfig, readLimits } from './limits.js';
import { isHost, MAX_WORKERS, parseDatabaseUrl, parseWorkers } from './parsers.js';
import { type ObserveConfig, readObserve } from './telemetry.js';
import { readWebhooks, type WebhookConfig } from './webhooks.js';

/** Every setting, parsed. Durations in milliseconds, sizes in bytes. */
export interface Config
  extends AuthConfig,
    EdgeConfig,
    EventsConfig,
    LimitsConfig,
    ObserveConfig,
    WebhookConfig {
  readonly host: string;
  readonly port: number;
  /** Processes that share the port; 1: the service is one process. */
  readonly workers: number;
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly dbConnections: number;
  readonly dbSearches: number;
  readonly dbStreams: number;
  readonly dbQueue: number;
  readonly dbTimeoutMs: number;
  readonly streamStallMs: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveMs: number;
  readonly shutdownMs: number;
  readonly shutdownDelayMs: number;
  readonly shutdownIdleMs: number;
  readonly requireIfMatch: boolean;
  /** Starts in maintenance. */
  readonly maintenance: boolean;
  readonly tombstones: boolean;
  readonly tombstoneTtlSeconds: number;
  readonly idempotencyTtlSeconds: number;
  readonly idempotencyMaxBytes: number;
  readonly deprecation: Date | undefined;
  readonly sunset: Date | undefined;
  readonly successor: string | undefined;
}

/** What is wrong with the environment: one line a fault, each naming its variable. */
export class ConfigError extends Error {
  constructor(readonly faults: readonly string[]) {
    super(faults.join('\n'));
  }
}

/** Reads the whole configuration, or throws one ConfigError that lists every fault. */
export function readConfig(env: Env = process.env): Config {
  const reader = createReader(env);
  const { faults, read, integer, flag, date } = reader;

  const config: Config = {
    host: read('HOST', '127.0.0.1', 'an IP address or a host name', (text) =>
      isHost(text) ? text : undefined,
    ),
    port: integer('PORT', 3000, 0, 65535),
    workers: read('WORKERS', 1, `an integer from 1 to ${MAX_WORKERS}, or \`auto\``, parseWorkers),
    databaseUrl: read<string | undefined>(
      'DATABASE_URL',
      undefined,
      'a URL: postgres://user:password@host/database',
      parseDatabaseUrl,
    ),
    dataDir: read('DATA_DIR', './data', 'a path', (text) => text),
    dbConnections: integer('DB_CONNECTIONS', 3, 1, 100),
    dbSearches: integer('DB_SEARCHES', 2, 1, 100),
    dbStreams: integer('DB_STREAMS', 4, 1, 100),
    dbQueue: integer('DB_QUEUE', 2000, 1, 100_000),
    dbTimeoutMs: integer('DB_TIMEOUT_MS', 10_000, 10, 600_000),
    streamStallMs: integer('STREAM_STALL_MS', 30_000, 50, 3_600_000),
    headersTimeoutMs: integer('HEADERS_TIMEOUT_MS', 10_000, 100, 600_000),
    requestTimeoutMs: integer('REQUEST_TIMEOUT_MS', 60_000, 100, 3_600_000),
    keepAliveMs: integer('KEEP_ALIVE_MS', 65_000, 0, 3_600_000),
    shutdownMs: integer('SHUTDOWN_MS', 10_000, 0, 600_000),
    shutdownDelayMs: integer('SHUTDOWN_DELAY_MS', 0, 0, 600_000),
    shutdownIdleMs: integer('SHUTDOWN_IDLE_MS', 1000, 0, 600_000),
    requireIfMatch: flag('REQUIRE_IF_MATCH'),
    maintenance: flag('MAINTENANCE'),
    tombstones: flag('TOMBSTONES'),
    tombstoneTtlSeconds: integer('TOMBSTONE_TTL', 2_592_000, 1, 3_153_600_000),
    idempotencyTtlSeconds: integer('IDEMPOTENCY_TTL', 86_400, 1, 31_536_000),
    idempotencyMaxBytes: integer('IDEMPOTENCY_MAX_BYTES', 268_435_456, 1_048_576, 999_999_999_999),
    deprecation: date('V1_DEPRECATION'),
    sunset: date('V1_SUNSET'),
    successor: read<string | undefined>('V1_SUCCESSOR', undefined, 'a URL or a path', (text) =>
      /^(https?:\/\/|\/)[\x21-\x7e]*$/.test(text) && !/[<>"]/.test(text) && URL.canParse(text, 'http://host')
        ? text
        : undefined,
    ),
    ...readLimits(reader),
    ...readAuth(reader),
    ...readEdge(reader),
    ...readObserve(reader),
    ...readEventsConfig(reader),
    ...readWebhooks(reader),
  };
  faults.push(...authFaults(config, config.host, env.AUTH?.trim() ?? ''));
  if (config.deprecation && config.sunset && config.sunset < config.deprecation) {
    faults.push('V1_SUNSET takes a date that is not before V1_DEPRECATION'); // RFC 9745, section 4
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze(config);
}

/** What `plinth verify-webhook` verifies with. */
export function webhookSecret(env: Env = process.env): string | undefined {
  return env.WEBHOOK_SECRET;
}
