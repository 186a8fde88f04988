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
 * Waits until the configured database opens a session, for up to DB_START_MS. Returns as well when waiting does not help:
 * the start itself reports why a database cannot be used. `begin` is called when the wait begins, and the function that it
 * returns when the wait ends; an error of either rejects.
 */
export async function waitForDatabase(
  { databaseUrl, dbStartMs, dbTimeoutMs }: WaitSettings,
  log: Log,
  begin: () => Promise<() => Promise<void>>,
): Promise<void> {
  if (databaseUrl === undefined || dbStartMs === 0) return;
  const end = performance.now() + dbStartMs;
  let finish: (() => Promise<void>) | undefined;
  try {
    for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, 2 * pauseMs)) {
      const connectMs = Math.min(dbTimeoutMs, finish === undefined ? FIRST_MS : dbTimeoutMs);
      const error = await attempt(databaseUrl, connectMs);
      const leftMs = end - performance.now();
      if (error === undefined || !CURABLE.has(error.code ?? '') || leftMs <= 0) return;
      log.warn({ reason: unreachable(error), pauseMs }, 'the start waits for the database');
      finish ??= await begin();
      await sleep(Math.min(pauseMs, leftMs));
    }
  } finally {
    await finish?.();
  }
}

/**
 * Runs a start that needs the database. When the database fails meanwhile, `wait` is called and the start begins again, for up to
 * DB_START_MS. Rejects with other errors, and at the end with DatabaseUnavailableError.
 */
export async function startWithDatabase<T>(
  { databaseUrl, dbStartMs }: WaitSettings,
  log: Log,
  wait: () => Promise<void>,
  start: () => Promise<T>,
): Promise<T> {
  const end = performance.now() + (databaseUrl === undefined ? 0 : dbStartMs);
  for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, 2 * pauseMs)) {
    await wait();
    try {
      return await start();
    } catch (error) {
      const { cause, message } = error as Error;
      const codes = [error, cause].map((each) => (each as { code?: string } | undefined)?.code ?? '');
      if (!codes.some((code) => CURABLE.has(code))) throw error;
      if (performance.now() > end)
        throw error instanceof ExitError
          ? error
          : new DatabaseUnavailableError(unreachable(error as Error), { cause: error });
      log.warn({ reason: message, pauseMs }, 'the database failed during the start, which begins again');
      await sleep(pauseMs);
    }
  }
}

async function attempt(url: string, connectMs: number): Promise<(Error & { code?: string }) | undefined> {
  try {
    await withSession(url, { settings: TASK_SETTINGS.attempt, connectMs }, async () => undefined);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}
