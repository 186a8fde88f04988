import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ExitError } from '../exit-error.js';
import { textOf } from '../text-encoding.js';
import { authFaults, readAuth } from './auth.js';
import { databaseWarnings, engineFaults, readDatabase } from './database.js';
import { readEdge } from './edge.js';
import { createReader, type Env, misspelledSettings, outdatedSettings, type Reader } from './env-reader.js';
import { readEventsConfig } from './events.js';
import { readHttp } from './http.js';
import { issuerFaults, readIssuerConfig, withOwnIssuer } from './issuer.js';
import { readLimits } from './limits.js';
import { MAX_WORKERS, parseWorkers, pathIn } from './parsers.js';
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

/**
 * Reads the configuration. Relative paths are in `folder`; empty: the current folder of the process. Throws one ConfigError
 * with every fault. Tests replace constants by `overrides`.
 */
export function readConfig(env: Env, overrides: Partial<Config> = {}, folder = ''): Config {
  const reader = createReader(env, folder);
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

/** One line for each variable that was renamed or removed, that may be misspelled, or that has no effect. */
export const configWarnings = (env: Env): string[] => [
  ...outdatedSettings(env),
  ...misspelledSettings(env, settingNames()),
  ...databaseWarnings(env),
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

/**
 * Sets the variables of a file `.env` in a folder, by default the current one, that are not set. Returns their number;
 * undefined: there is no such file. Throws ConfigError if it cannot be read.
 */
export function loadEnvFile(env: Record<string, string | undefined>, folder = ''): number | undefined {
  const file = pathIn(folder, '.env');
  if (!existsSync(file)) return undefined;
  try {
    const found = Object.entries(parseEnv(textOf(readFileSync(file))));
    const added = found.filter(([name]) => env[name] === undefined);
    for (const [name, value] of added) env[name] = value;
    return added.length;
  } catch (error) {
    throw new ConfigError([`.env cannot be read: ${(error as Error).message}`]);
  }
}

/** The secret of `plinth token`. */
export const clientSecret = (env: Env): string | undefined => env.CLIENT_SECRET;

/** The secrets of `plinth verify-webhook`. */
export const webhookSecret = (env: Env): string | undefined => env.WEBHOOK_SECRET;

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
