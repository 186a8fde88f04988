import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.js';
import { ExitError } from '../errors/exit-error.js';
import type { Log } from '../telemetry/log.js';
import { DatabaseUnavailableError, unreachable } from './migrate.js';
import { NETWORK_ERRORS } from './pool/server-socket.js';
import { withSession } from './session.js';
import { TASK_SETTINGS } from './session-settings.js';

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
