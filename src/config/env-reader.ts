import { DatabaseUrlError, parametersOf, serversOf, withVariables } from '../database-url/servers.js';
import { editDistance } from '../errors/edit-distance.js';
import { parseDate, pathIn } from './parsers.js';

export type Env = Readonly<Record<string, string | undefined>>;

const INTROSPECTION = 'a part of INTROSPECTION=https://client:secret@issuer.example/introspect';

/** Settings that others have replaced. A start that ignored them would lack what they protect or permit. */
const REPLACED: Readonly<Record<string, string>> = {
  EVENTS_KEEP: 'EVENTS_RETENTION',
  BASIC_INSECURE: 'INSECURE=basic',
  WEBHOOK_INSECURE: 'INSECURE=webhooks',
  INTROSPECTION_URI: INTROSPECTION,
  INTROSPECTION_CLIENT_ID: INTROSPECTION,
  INTROSPECTION_CLIENT_SECRET: INTROSPECTION,
};

/** Settings of the version before, which are constants now. */
// biome-ignore format: one name a line says no more
const REMOVED = new Set([
  'BODY_BYTES_PER_ADDRESS', 'BULK_BYTES', 'BULK_RECORDS', 'CONNECTIONS_PER_ADDRESS', 'DB_SEARCHES', 'DB_STREAMS', 'EVENTS_STREAMS',
  'JOB_BYTES', 'JOB_TTL', 'JOBS_MAX', 'JOBS_PER_PRINCIPAL', 'READ_MAX_AGE_MS', 'REFRESH_REUSE_SECONDS', 'RESPONSE_BYTES',
  'SERVER_TIMING', 'VERSION_CALLS', 'WEBHOOK_CONCURRENCY', 'WEBHOOK_POLL_MS', 'WEBHOOK_RETRIES', 'WEBHOOK_TARGET_CONCURRENCY',
  'WEBHOOK_TIMEOUT_MS',
]);

/** One line for each variable in use that another setting has replaced. */
export const replacedSettings = (env: Env): string[] =>
  Object.entries(REPLACED)
    .filter(([name]) => isSet(env, name))
    .map(([name, setting]) => `${name} is now ${setting}`);

/** One line for each variable that was a setting, or whose name is one edit away from that of a setting. */
export function misspelledSettings(env: Env, names: readonly string[]): string[] {
  const known = new Set([...names, ...Object.keys(REPLACED)]);
  return Object.keys(env)
    .filter((name) => !known.has(name) && isSet(env, name))
    .flatMap((name) => {
      if (REMOVED.has(name)) return [`${name} is no longer a setting and is ignored`];
      const nearest = names.find(
        (each) => Math.abs(each.length - name.length) <= 1 && editDistance(each, name) === 1,
      );
      return nearest === undefined ? [] : [`${name} is not a setting and is ignored: is ${nearest} meant?`];
    });
}

type Parse<T> = (text: string) => T | undefined;

/** Reads settings one by one. An empty or blank variable counts as unset. */
export interface Reader {
  /** One line for each invalid value, with the name of the variable. */
  readonly faults: string[];
  /** The variables that were read. */
  readonly names: readonly string[];
  /** The folder of relative paths; empty: that of the process. */
  readonly folder: string;
  /** All variables: those of libpq complete a database URL. */
  readonly variables: Env;
  /** `expected` completes the sentence "NAME must be". `parse` gives undefined for an invalid value. */
  read<T>(name: string, fallback: T, expected: string, parse: Parse<T>): T;
  optional<T>(name: string, expected: string, parse: Parse<T>): T | undefined;
  text(name: string): string | undefined;
  /** A path, for Node's file functions. */
  path(name: string): string | undefined;
  oneOf<T extends string>(name: string, values: readonly [fallback: T, ...T[]]): T;
  integer(name: string, fallback: number, min: number, max: number): number;
  flag(name: string, fallback?: boolean): boolean;
  date(name: string): Date | undefined;
}

export function createReader(env: Env, folder = ''): Reader {
  const faults: string[] = [];
  const names: string[] = [];
  const readShown = <T>(name: string, fallback: T, expected: string, parse: Parse<T>): T => {
    const before = faults.length;
    const value = read(name, fallback, expected, parse);
    if (faults.length > before) faults[before] += `; it is ${shown(env[name]!)}`;
    return value;
  };
  const read = <T>(name: string, fallback: T, expected: string, parse: Parse<T>): T => {
    names.push(name);
    if (!isSet(env, name)) return fallback;
    const value = parse(env[name]!.trim());
    if (value === undefined) faults.push(`${name} must be ${expected}`);
    return value ?? fallback;
  };
  const optional = <T>(name: string, expected: string, parse: Parse<T>): T | undefined =>
    read<T | undefined>(name, undefined, expected, parse);

  return {
    faults,
    names,
    folder,
    variables: env,
    read,
    optional,
    text: (name) => optional(name, 'text', (text) => text),
    path: (name) => optional(name, 'a path', (text) => pathIn(folder, text)),
    oneOf: (name, values) =>
      readShown(name, values[0], values.map((value) => `\`${value}\``).join(' or '), (text) =>
        values.find((value) => value === text),
      ),
    integer: (name, fallback, min, max) =>
      readShown(name, fallback, `an integer from ${min} to ${max}`, (text) => {
        const value = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
        return value >= min && value <= max ? value : undefined;
      }),
    flag: (name, fallback = false) =>
      readShown(name, fallback, '`on` or `off`', (text) =>
        text === 'on' || text === 'off' ? text === 'on' : undefined,
      ),
    date: (name) => optional(name, 'a date as in RFC 3339: 2026-12-31T00:00:00Z', parseDate),
  };
}

const SHOWN = 40;

const shown = (text: string) => `\`${text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text}\``;

function isSet(env: Env, name: string): boolean {
  return (env[name]?.trim() ?? '') !== '';
}

/** A URL with what libpq's variables add to it. `refused` are parameters that it must not have. */
export function databaseUrlOf(
  { optional, variables, faults }: Reader,
  name: string,
  refused: readonly string[] = [],
) {
  const found = optional(name, FORM, (text) => text);
  if (found === undefined) return undefined;
  try {
    const url = withVariables(found, variables, refused);
    serversOf(url);
    const wrong = refused.find((each) => parametersOf(url).has(each));
    if (wrong === undefined) return url;
    faults.push(
      `${name} must be ${FORM}: the parameter ${wrong} has no meaning for replicas, which are all used`,
    );
  } catch (error) {
    if (!(error instanceof DatabaseUrlError)) throw error;
    faults.push(`${name} must be ${FORM}: ${error.message}`);
  }
  return undefined;
}

const FORM = 'a URL, postgres://user:password@host/database?parameter=value';
