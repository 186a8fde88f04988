import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ignoredVariables } from '../database-url/servers.js';
import { RefusedError } from '../errors/exit-error.js';
import { textOf } from '../formats/text-encoding.js';
import { authFaults, readAuth } from './auth-settings.js';
import { engineFaults, readDatabase } from './database-settings.js';
import { createReader, type Env, misspelledSettings, type Reader, replacedSettings } from './env-reader.js';
import { readEventsConfig } from './event-settings.js';
import { readLimits } from './limit-settings.js';
import { pathIn } from './parsers.js';
import { readHttp, readServer } from './server-settings.js';
import { readTelemetry } from './telemetry-settings.js';

/** The settings and constants of the core. Durations in milliseconds, sizes in bytes, unless the name says otherwise. */
export type CoreConfig = Readonly<ReturnType<typeof readAll>>;

/** The settings of the core, and those of the features that the program has: `SETTINGS.of(config)` gives the ones of a feature. */
export type Config = CoreConfig & { readonly features: ReadonlyMap<FeatureSettings, unknown> };

/** How a feature reads its settings, and what follows from them. */
interface SettingsPart<T> {
  read(reader: Reader): T;
  /** Whether the settings turn the feature on; absent: each service has it. */
  isOn?(own: T, core: CoreConfig): boolean;
  /** One line for each contradiction, also to settings of the core. */
  faults?(own: T, core: CoreConfig): string[];
  /** One line for each reason for which another program cannot have the service; `isMounted`: below a path of its own. */
  programFaults?(own: T, isMounted: boolean): string[];
  /** Settings of the core that follow from those of the feature. */
  complete?(own: T, core: CoreConfig): Partial<CoreConfig>;
  /** The processes of a service, each with connections of its own to the database; absent: one. */
  processes?(own: T): number;
  /** The first segments of its paths, as far as they could be names of collections, which they cannot be, whether the feature is on or not. */
  readonly paths?: readonly string[];
  /** The names of types in the documents about the API that those of collections cannot be, whether the feature is on or not. */
  readonly typeNames?: readonly string[];
  /** Settings that only its commands read. */
  readonly ofCommands?: readonly string[];
}

/** The settings of a feature: what its `settings.ts` exports. Each program loads that file, and nothing else of a feature that is off. */
export class FeatureSettings<T = unknown> {
  constructor(readonly part: SettingsPart<T>) {}

  /** The settings of the feature; the defaults in a program without it. */
  of({ features }: Pick<Config, 'features'>): T {
    return features.has(this) ? (features.get(this) as T) : this.part.read(createReader({}));
  }

  /** Whether the settings turn the feature on; undefined: each service has it. */
  isOn(config: Config): boolean | undefined {
    return this.part.isOn?.(this.of(config), config);
  }
}

/** The processes of a service with these settings. */
export const processesOf = ({ features }: Pick<Config, 'features'>): number =>
  Math.max(1, ...[...features].map(([{ part }, own]) => part.processes?.(own) ?? 1));

/** Invalid settings: one line each, with the name of the variable. */
export class ConfigError extends RefusedError {
  constructor(readonly faults: readonly string[]) {
    super(faults.join('\n'));
  }
}

/**
 * Reads the configuration. Relative paths are in `folder`; empty: the current folder of the process. Throws one ConfigError
 * with every fault. Tests replace settings and constants, also of features, by `overrides`. `settings` are those of the
 * features of the program.
 */
export function readConfig(
  env: Env,
  overrides: Partial<CoreConfig> = {},
  folder = '',
  settings: readonly FeatureSettings[] = [],
): Config {
  const reader = createReader(env, folder);
  const config = readAll(reader);
  const features = new Map(
    settings.map((each) => [each, replaced(each.part.read(reader) as object, overrides)] as const),
  );
  const completed: CoreConfig = Object.assign(
    { ...config },
    ...settings.map((each) => each.part.complete?.(features.get(each), config)),
  );
  const faults = [
    ...reader.faults,
    ...replacedSettings(env),
    ...authFaults(config, (env.AUTH?.trim() ?? '') !== '', completed.issuer !== undefined),
    ...settings.flatMap((each) => each.part.faults?.(features.get(each), config) ?? []),
    ...engineFaults(config),
  ];
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze({ ...replaced(completed, overrides), features });
}

/** Settings with the values that `overrides` has under their names. */
const replaced = <T extends object>(own: T, overrides: object): T =>
  Object.assign(
    { ...own },
    Object.fromEntries(Object.entries(overrides).filter(([name]) => Object.hasOwn(own, name))),
  );

/** One line for each variable that was removed, that may be misspelled, or that has no effect. */
export const configWarnings = (env: Env, settings: readonly FeatureSettings[]): string[] => [
  ...misspelledSettings(env, settingNames(settings)),
  ...((env.DATABASE_URL?.trim() ?? '') === '' ? ignoredVariables(env) : []),
];

/** One line for each name that is not a setting. */
export function unknownSettings(env: Env, settings: readonly FeatureSettings[]): string[] {
  const names = settingNames(settings, env);
  return Object.keys(env)
    .filter((name) => !names.includes(name))
    .map((name) => `${name} is not a setting`);
}

/** The setting that a command-line option such as `--port` may mean. */
export function settingFor(option: string, settings: readonly FeatureSettings[]): string | undefined {
  const name = option.split('=', 1)[0]!.replace(/^-+/, '').replaceAll('-', '_').toUpperCase();
  return settingNames(settings).find((each) => each === name);
}

/** The names of all settings, the core's first. `env` has the variables from which some settings take a part of their names. */
export function settingNames(settings: readonly FeatureSettings[], env: Env = {}): readonly string[] {
  const reader = createReader(env);
  readAll(reader);
  for (const { part } of settings) part.read(reader);
  return [...reader.names, ...settings.flatMap(({ part }) => part.ofCommands ?? [])];
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

function readAll(reader: Reader) {
  return {
    ...readProcess(reader),
    ...readDatabase(reader),
    ...readHttp(reader),
    ...readLimits(reader),
    ...readAuth(reader),
    ...readServer(reader),
    ...readTelemetry(reader),
    ...readEventsConfig(reader),
  };
}

function readProcess({ integer, flag }: Reader) {
  return {
    /** Starts in maintenance. */
    maintenance: flag('MAINTENANCE'),
    shutdownMs: integer('SHUTDOWN_MS', 10_000, 0, 600_000),
    shutdownDelayMs: integer('SHUTDOWN_DELAY_MS', 0, 0, 600_000),
  };
}

/** The first segments of the core's paths, as far as a collection could have them. A test compares them with the endpoints. */
const CORE_PATHS = ['access', 'api', 'batch', 'errors', 'events', 'healthz', 'metrics', 'readyz', 'whoami'];

/**
 * The first segments of the paths that the service has with any settings, so that a collection does not prevent a feature
 * from being turned on later.
 */
export const ownPathsOf = ({ features }: Pick<Config, 'features'>): ReadonlySet<string> =>
  new Set([...CORE_PATHS, ...[...features.keys()].flatMap(({ part }) => part.paths ?? [])]);
