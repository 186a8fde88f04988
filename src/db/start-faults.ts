import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, processesOf } from '../config/config.js';
import { serversOf } from '../database-url/servers.js';
import { ExitError } from '../errors/exit-error.js';
import type { Log } from '../telemetry/log.js';
import type { Run } from './db.js';
import { type Inspection, inspect } from './inspect.js';
import { DatabaseUnavailableError, unreachable } from './migrate.js';
import { NETWORK_ERRORS } from './pool/server-socket.js';
import { withSession } from './session.js';
import { TASK_SETTINGS } from './session-settings.js';

/** The settings on which the number of connections depends. */
export type PoolSizes = Pick<Config, 'dbConnections' | 'dbSearches' | 'dbStreams' | 'features'>;

/** The connections that a service may have: short statements, transactions, searches, lists, and those that listen. */
export function connectionsOf(sizes: PoolSizes): number {
  const { dbConnections, dbSearches, dbStreams } = sizes;
  return processesOf(sizes) * (2 * dbConnections + dbSearches + dbStreams + 2);
}

export interface StartFault {
  readonly message: string;
  readonly advice: string;
}

/** The faults of a role with which the service starts: later, some of its statements fail or wait. */
export function roleFaults(found: Inspection, sizes: PoolSizes): StartFault[] {
  const { role, database, foreignTables, hiddenTrigrams } = found;
  const needed = connectionsOf(sizes);
  const faults: StartFault[] = [];
  if (foreignTables.length > 0)
    faults.push({
      message: `tables belong to another role, so that migrations fail and expired events are not truncated: ${foreignTables.join(', ')}`,
      advice: `alter table ${foreignTables[0]} owner to ${role}, and so on; or connect as their owner`,
    });
  if (hiddenTrigrams !== null)
    faults.push({
      message: `the extension pg_trgm is in the schema ${hiddenTrigrams}, which is not in the search_path, so that collections with searches cannot be created`,
      advice: `alter extension pg_trgm set schema ${found.schema ?? 'public'}; or add ${hiddenTrigrams} to the search_path of ${role}`,
    });
  for (const [name, limit, connections] of [
    [`role ${role}`, found.roleLimit, found.roleConnections],
    [`database ${database}`, found.databaseLimit, found.databaseConnections],
  ] as const)
    if (limit >= 0 && limit < needed)
      faults.push({
        message: `the ${name} may have ${limit} connections (${connections} now), and the service may open ${needed}`,
        advice: `alter ${name} connection limit ${needed}, or lower DB_CONNECTIONS or WORKERS`,
      });
  return faults;
}

/** The fault of a connection that may be read on its way, although the operator did not choose plain text. */
export function plainTextFault(
  { isLocal, isEncrypted }: Pick<Inspection, 'isLocal' | 'isEncrypted'>,
  databaseUrl: string | undefined,
): StartFault | undefined {
  if (isLocal || isEncrypted || databaseUrl === undefined) return undefined;
  const { mode } = serversOf(databaseUrl).servers[0].tls;
  if (mode !== 'prefer') return undefined;
  return {
    message: `the connections to the database are in plain text, which sslmode=${mode} permits`,
    advice: 'set sslmode=verify-full in DATABASE_URL; or sslmode=disable, if the network is safe',
  };
}

/** Logs the faults with which the service starts. An error is left to the statement that needs the database next. */
export async function reportFaults(
  run: Run,
  names: readonly string[],
  config: PoolSizes & Pick<Config, 'databaseUrl'>,
  log: Pick<Log, 'warn'>,
): Promise<void> {
  const found = await inspect(run, names).catch(() => undefined);
  if (!found) return;
  const plainText = plainTextFault(found, config.databaseUrl);
  for (const { message, advice } of [...roleFaults(found, config), ...(plainText ? [plainText] : [])])
    log.warn({ advice }, message);
}

/** Pauses between two attempts, in milliseconds: each is twice the one before. */
const MIN_PAUSE_MS = 100;

const MAX_PAUSE_MS = 5000;

/** How long the first attempt may take before the start is a wait; later ones have DB_TIMEOUT_MS. */
const FIRST_MS = 1000;

/** Errors of a network, a name service or a server that may be there later. Others need an operator. */
const CURABLE = new Set([
  ...NETWORK_ERRORS,
  ...['ENOTFOUND', 'EAI_AGAIN'],
  // No Unix socket yet.
  'ENOENT',
  // Too many connections; shut down, crashed, starting up; no host accepts writes.
  ...['53300', '57P01', '57P02', '57P03', '25006'],
]);

export type WaitSettings = Pick<Config, 'databaseUrl' | 'dbStartMs' | 'dbTimeoutMs'>;

/**
 * Runs a start that needs the database. While the configured database opens no session, and after a start that it failed,
 * the start waits, for up to DB_START_MS. `begin` is called when a wait begins, and the function that it returns when the wait
 * ends; an error of either rejects. Waiting does not help against other errors: the start itself reports them. Rejects at the
 * end with DatabaseUnavailableError.
 */
export async function startWithDatabase<T>(
  { databaseUrl, dbStartMs, dbTimeoutMs }: WaitSettings,
  log: Log,
  begin: () => Promise<() => Promise<void>>,
  start: () => Promise<T>,
): Promise<T> {
  const isWaiting = databaseUrl !== undefined && dbStartMs > 0;
  const end = performance.now() + (isWaiting ? dbStartMs : 0);
  const mayWait = (error: unknown) => isWaiting && isCurable(error) && performance.now() < end;
  let finish: (() => Promise<void>) | undefined;
  try {
    for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, 2 * pauseMs)) {
      const connectMs = finish === undefined ? Math.min(FIRST_MS, dbTimeoutMs) : dbTimeoutMs;
      let failure = isWaiting ? await attempt(databaseUrl, connectMs) : undefined;
      if (!mayWait(failure)) {
        await finish?.();
        finish = undefined;
        try {
          return await start();
        } catch (error) {
          if (!mayWait(error)) throw unavailableFor(error);
          failure = error as Error;
        }
      }
      log.warn({ reason: unreachable(failure!), pauseMs }, 'the start waits for the database');
      finish ??= await begin();
      await sleep(Math.min(pauseMs, Math.max(0, end - performance.now())));
    }
  } finally {
    await finish?.();
  }
}

function isCurable(error: unknown): boolean {
  const { cause } = (error ?? {}) as Error;
  return [error, cause].some((each) => CURABLE.has((each as { code?: string } | undefined)?.code ?? ''));
}

const unavailableFor = (error: unknown): unknown =>
  isCurable(error) && !(error instanceof ExitError)
    ? new DatabaseUnavailableError(unreachable(error as Error), { cause: error })
    : error;

async function attempt(url: string, connectMs: number): Promise<Error | undefined> {
  try {
    await withSession(url, { settings: TASK_SETTINGS.attempt, connectMs }, async () => undefined);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}
