import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type App, type AppOptions, startApp } from '../../src/app.js';
import type { Config } from '../../src/config/config.js';
import { FEATURES } from '../../src/features.js';
import { createLog } from '../../src/telemetry/log.js';
import { CITUS_URL, createOnNodes, dropOnNodes, ENGINE } from './citus.js';
import { Contract, type Received } from './contract.js';
import './hash-cost.js';
import { COLLECTIONS, TEMPLATE } from './names.js';
import { HOSTS } from './process.js';
import { Reset } from './reset.js';
import { ofRunner } from './runner/control.js';
import { watchSecrets } from './secrets.js';
import { raw, type SendOptions, type ServiceResponse, send } from './send.js';
import { type Constants, readSettings } from './settings.js';
import current, { currentFile, type Test } from './test.js';
import { NO_FIXED_LIMITS, NO_TIME_LIMITS, QUICK_DELIVERY } from './time-limits.js';
import { Traffic } from './traffic.js';

export * from './send.js';

/** Whether each response must be one that the OpenAPI document has: in the tests of the API. */
const isChecked = () =>
  /[\\/]test(-renamed)?[\\/](access|api|auth|collection|events|features[\\/](access|api-docs|issuer|jobs|json-server|keys|user-accounts|webhooks))[\\/]/.test(
    currentFile(),
  );

async function requireContract(
  service: App,
  method: string,
  path: string,
  received: Received,
): Promise<void> {
  const fault = (await Contract.of(service, received)).violation(method, path, received);
  if (fault !== undefined)
    throw new Error(`the response contradicts the OpenAPI document of src/features/api-docs/: ${fault}`);
}

/** The PostgreSQL of this worker: a superuser's URL. */
export const SERVER_URL = process.env.PLINTH_TEST_URL ?? '';

/** The URL of a new database: a migrated one, or an empty one. It is not dropped, since its server ends with the run. */
export async function testDatabase(t: Test, empty = false): Promise<string> {
  return copyOf(t, empty ? 'template0' : TEMPLATE);
}

/** DATABASE_URL of a service in a new database to which no declarations have been applied. */
export const UNDECLARED = 'undeclared';

/** The URL of a new database to which no declarations have been applied. */
export const undeclaredDatabase = (t: Test): Promise<string> =>
  copyOf(t, CITUS_URL === '' ? process.env.PLINTH_TEST_TEMPLATE_UNDECLARED! : TEMPLATE);

async function copyOf(t: Test, template: string): Promise<string> {
  if (CITUS_URL !== '') return citusDatabase(t, template);
  const server = process.env.PLINTH_TEST_SERVER ?? '0';
  const name = await ofRunner<string>(`/database?server=${server}&template=${template}`);
  return SERVER_URL.replace(/\/[^/]*$/, `/${name}`);
}

let databases = 0;

async function citusDatabase(t: Test, template: string): Promise<string> {
  const name = `test_${process.pid}_${++databases}`;
  await createOnNodes(CITUS_URL, name, template);
  t.teardown(() => dropOnNodes(CITUS_URL, name));
  return SERVER_URL.replace(/\/[^/]*$/, `/${name}`);
}

export interface TestService extends App {
  readonly databaseUrl: string;
  /** The lines of its log, from the level that LOG_LEVEL names on. */
  readonly logged: readonly string[];
  /** One request on a connection of its own. */
  readonly send: (method: string, path: string, options?: SendOptions) => Promise<ServiceResponse>;
  /** Bytes as they are, and everything that comes back until the server closes or `until` matches. */
  readonly raw: (bytes: string | Buffer, until?: RegExp) => Promise<string>;
}

/** A service and what the tests that use it one after the other need to know of it. */
class Running {
  isStopped = false;
  onLine: (line: string) => void = () => undefined;
  app!: App;
  readonly reset: Reset;

  constructor(
    readonly config: Config,
    readonly databaseUrl: string,
  ) {
    this.reset = new Reset(databaseUrl);
  }

  async start(options: AppOptions): Promise<void> {
    // With credentials at its most talkative: no line may contain one.
    const level = this.config.auth.length > 0 ? 'trace' : this.config.logLevel;
    this.app = await startApp(
      this.config,
      createLog(level, { write: (line) => this.onLine(line) }),
      FEATURES,
      options,
    );
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.reset.end();
    await this.app.stop();
  }
}

/** Limits of requests that a process counts: the next test would find the count of the one before. */
const LIMITS = ['AUTH_FAILURES', 'RATE_LIMIT', 'SIGN_INS_PER_ADDRESS'];

/** Idle services of the file that runs, by their settings and declarations. */
const idle = new Map<string, Running[]>();
let fileOfIdle: Test | undefined;

/**
 * A service in this process on a port and a database of its own; `env` as on the command line. Tests of a file that need the
 * same settings use one service, one after the other, and each finds an empty database. Such a service counts no failures of credentials.
 */
export async function testService(
  t: Test,
  env: Record<string, string> = {},
  overrides: Constants = {},
  options: AppOptions = {},
): Promise<TestService> {
  const isOwn = (env.DATABASE_URL ?? UNDECLARED) !== UNDECLARED || CITUS_URL !== '';
  if (isOwn || LIMITS.some((name) => name in env) || Object.keys(options).length > 0)
    return freshService(t, env, overrides, options);
  const key = keyOf(env, overrides);
  const found = await emptied(idle.get(key)?.pop());
  const running = found ?? (await openService(t, { AUTH_FAILURES: '0', ...env }, overrides, options));
  if (!found) await running.reset.note();
  stopIdleAfterFile();
  // The test of the file itself ends when all others have ended.
  t.teardown(() => (t === current ? running.stop() : release(key, running)));
  return serviceOf(t, env, running);
}

/** Equal for the services that tests of a file can share. */
export const keyOf = (env: Record<string, string>, overrides: Constants): string =>
  JSON.stringify({ ...env, COLLECTIONS: declarationsIn(env.COLLECTIONS), overrides });

/** The files of a folder with declarations and their content: a service reads them when it starts. */
function declarationsIn(folder: string | undefined): readonly string[][] | undefined {
  if (folder === undefined || !existsSync(folder)) return undefined;
  const names = readdirSync(folder).sort();
  return names
    .filter((name) => name.endsWith('.json'))
    .map((name) => [name, readFileSync(join(folder, name), 'latin1')]);
}

/** A service that no other test uses: for tests of what a process counts or remembers, or that change tables. */
export async function freshService(
  t: Test,
  env: Record<string, string> = {},
  overrides: Constants = {},
  options: AppOptions = {},
): Promise<TestService> {
  const running = await openService(t, env, overrides, options);
  t.teardown(() => running.stop());
  return serviceOf(t, env, running);
}

/** An idle service without the data of the last test; undefined if there is none, or a test has changed its tables. */
async function emptied(running: Running | undefined): Promise<Running | undefined> {
  if (running === undefined || (await running.reset.empty())) return running;
  await running.stop();
  return undefined;
}

async function release(key: string, running: Running): Promise<void> {
  if (running.isStopped) return;
  if (running.app.isInMaintenance() !== running.config.maintenance) return running.stop();
  running.onLine = () => undefined;
  idle.set(key, [...(idle.get(key) ?? []), running]);
}

function stopIdleAfterFile(): void {
  if (fileOfIdle === current) return;
  fileOfIdle = current;
  current.teardown(stopIdle);
}

async function stopIdle(): Promise<void> {
  const all = [...idle.values()].flat();
  idle.clear();
  await Promise.all(all.map((running) => running.stop()));
}

async function openService(
  t: Test,
  env: Record<string, string>,
  overrides: Constants,
  options: AppOptions,
): Promise<Running> {
  const databaseUrl =
    env.DATABASE_URL === UNDECLARED
      ? await undeclaredDatabase(t)
      : (env.DATABASE_URL ?? (await testDatabase(t)));
  const settings = {
    ...COLLECTIONS,
    ...ENGINE,
    ...NO_TIME_LIMITS,
    PORT: '0',
    LOG_LEVEL: 'warn',
    SHUTDOWN_MS: '1000',
    ALLOWED_HOSTS: HOSTS,
    ...env,
  };
  const delivery = env.WEBHOOK_ALLOW === undefined ? {} : QUICK_DELIVERY;
  const constants = { ...NO_FIXED_LIMITS, ...delivery, ...overrides };
  const config = readSettings({ ...settings, DATABASE_URL: databaseUrl }, constants);
  const running = new Running(config, databaseUrl);
  await running.start(options);
  return running;
}

/** A service as one test sees it. When that test fails, it prints what the service has logged and received last. */
function serviceOf(t: Test, env: Record<string, string>, running: Running): TestService {
  const { app, config, databaseUrl } = running;
  const logged: string[] = [];
  running.onLine = (line) => void logged.push(line);
  const watch = config.auth.length > 0 ? watchSecrets(t, env, logged) : undefined;
  const traffic = new Traffic();
  t.teardown(() => {
    if (!t.passing()) t.comment(traffic.state(app, logged));
  });
  return {
    ...app,
    stop: () => running.stop(),
    databaseUrl,
    logged,
    send: async (method, path, options = {}) => {
      watch?.sent(path, options);
      const response = await traffic.follow(`${method} ${path}`, send(app.url, method, path, options));
      if (isChecked()) await requireContract(app, method, path, response);
      watch?.onResponse(response);
      return response;
    },
    raw: (bytes, until) => traffic.follow(String(bytes).slice(0, 100), raw(app.url, bytes, until)),
  };
}

/** The retention of maintenance where a test names nothing else. */
export const RETENTION = {
  idempotencyTtlSeconds: 86_400,
  tombstoneTtlSeconds: 86_400,
  historyRetentionSeconds: 86_400,
  eventsRetentionSeconds: 86_400,
  eventsMax: 1_000_000,
  eventsMaxBytes: 1_000_000_000,
  idempotencyMaxBytes: 1_000_000_000,
};
