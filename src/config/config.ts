import { existsSync } from 'node:fs';
import { ExitError } from '../exit-error.js';
import { authFaults, readAuth } from './auth.js';
import { engineFaults, readDatabase } from './database.js';
import { readEdge } from './edge.js';
import { createReader, type Env, misspelledSettings, outdatedSettings, type Reader } from './env-reader.js';
import { readEventsConfig } from './events.js';
import { readHttp } from './http.js';
import { issuerFaults, readIssuerConfig, withOwnIssuer } from './issuer.js';
import { readLimits } from './limits.js';
import { MAX_WORKERS, parseWorkers } from './parsers.js';
import { retirementFaults } from './retirement.js';
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
