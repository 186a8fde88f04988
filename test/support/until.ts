import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

// A clock of this file's own, since tests replace Date.now and performance.now.
const now = performance.now.bind(performance);

const BOUND_MS = 60_000;
const MIN_INTERVAL_MS = 20;
const MAX_INTERVAL_MS = 200;
/** The interval is so much of the time that the wait has lasted: looks cost processor time that the state may need to come. */
const INTERVAL_SHARE = 0.1;
/** The most that one look counts, so that a machine which stands still for a minute does not end the wait. */
const MAX_LOOK_MS = 500;
const MAX_CHARACTERS = 2000;

/**
 * Waits for a state. Calls `probe` again and again, and resolves with the first value that `accepts` accepts or equals; without
 * `accepts` with the first one that is neither undefined nor false. After a minute of looks it rejects with their number and
 * with the last value, so a probe returns what it observes and leaves the comparison to `accepts`. An error of the probe
 * rejects at once, since it says that the state cannot come; a probe catches errors that may pass.
 */
export function until<T>(what: string, probe: () => T | Promise<T>): Promise<Exclude<T, undefined | false>>;
export function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  accepts: ((seen: T) => boolean) | (T & (number | string | boolean)),
  boundMs?: number,
): Promise<T>;
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  accepts: unknown = (seen: T): boolean => seen !== undefined && seen !== false,
  boundMs = BOUND_MS,
): Promise<T> {
  let leftMs = boundMs;
  let last: unknown = 'nothing';
  const isAccepted = (seen: T): boolean => (typeof accepts === 'function' ? accepts(seen) : seen === accepts);
  for (let looks = 1; ; looks++) {
    const start = now();
    const seen = await look(probe, boundMs).catch((error: unknown) => {
      throw new Error(`until ${what}: ${problemOf(error)} (look ${looks}, last seen: ${shown(last)})`, {
        cause: error,
      });
    });
    if (isAccepted(seen)) return seen;
    last = seen;
    if (leftMs < 0)
      throw new Error(
        `waited ${boundMs / 1000} s in vain until ${what}: ${looks} looks, last seen: ${shown(last)}`,
      );
    const waitedMs = INTERVAL_SHARE * (boundMs - leftMs);
    await sleep(Math.min(Math.max(waitedMs, MIN_INTERVAL_MS), MAX_INTERVAL_MS));
    leftMs -= Math.min(now() - start, MAX_LOOK_MS);
  }
}

/** Waits until so many values are there, which a failure shows. */
export const untilLength = <T extends { readonly length: number }>(
  what: string,
  probe: () => T | Promise<T>,
  length: number,
): Promise<T> => until(what, probe, (seen) => seen.length === length);

/** Waits until a number is large enough, or until so many values are there. */
export const untilAtLeast = <T extends number | { readonly length: number }>(
  what: string,
  probe: () => T | Promise<T>,
  least: number,
): Promise<T> => until(what, probe, (seen) => (typeof seen === 'number' ? seen : seen.length) >= least);

/** One call of a probe, which must end within the bound, too. */
async function look<T>(probe: () => T | Promise<T>, boundMs: number): Promise<T> {
  const given = probe();
  if (!(given instanceof Promise)) return given;
  const timer = new AbortController();
  const over = sleep(boundMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error('the probe did not end in time');
  });
  try {
    return await Promise.race([given, over]);
  } finally {
    over.catch(() => undefined);
    timer.abort();
  }
}

const problemOf = (error: unknown): string => (error instanceof Error ? error.message : shown(error));

function shown(value: unknown): string {
  const text = inspect(value, { depth: 4, breakLength: Number.POSITIVE_INFINITY, maxArrayLength: 30 });
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}
