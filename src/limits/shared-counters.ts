import { hash } from 'node:crypto';
import { LIMITS_SQL } from '../db/core-statements.js';
import type { Db, Value } from '../db/db.js';
import type { Log } from '../telemetry/log.js';

/** A count, and in how many milliseconds it starts again. */
export interface Count {
  readonly count: number;
  readonly endsInMs: number;
}

/** Counts shared by all processes on one database. Both functions give undefined while the database is unavailable. */
export interface SharedCounts {
  /** Adds one to the count of a key. */
  readonly add: (key: string) => Promise<Count | undefined>;
  /** Sets a count and when it ends, in milliseconds from now. */
  readonly set: (key: string, count: number, endsInMs: number) => Promise<Count | undefined>;
}

/** Opens the counts of one name. Each starts again so many seconds after its first. */
export type OpenCounts = (name: string, seconds: number) => SharedCounts;

/** How long an unavailable database is not queried. */
const RETRY_MS = 5000;

/**
 * Counts in the table `limits`, which stores only the SHA-256 of a key. While the database is unavailable, callers use
 * their own counts: the log says when that begins and ends, and one statement every five seconds checks for it.
 */
export function openSharedCounts(db: Db, log: Log, now: () => number = () => performance.now()): OpenCounts {
  let isAvailable = true;
  let retryAt = Number.NEGATIVE_INFINITY;

  const run = async (statement: keyof typeof LIMITS_SQL, values: Value[]): Promise<Count | undefined> => {
    if (!isAvailable && now() < retryAt) return undefined;
    retryAt = now() + RETRY_MS;
    try {
      const [row] = await db.run(LIMITS_SQL[statement], values);
      if (!isAvailable) log.warn('limits are counted in the database again');
      isAvailable = true;
      return { count: Number(row!.points), endsInMs: Number(row!.ends_in) };
    } catch (error) {
      retryAt = now() + RETRY_MS;
      if (isAvailable)
        log.warn({ err: error }, 'the database is unavailable: each process counts limits itself');
      isAvailable = false;
      return undefined;
    }
  };

  return (name, seconds) => {
    const stored = (key: string) => `${name}:${hash('sha256', key, 'base64url')}`;
    return {
      add: (key) => run('count', [stored(key), seconds * 1000]),
      set: (key, count, endsInMs) => run('set_count', [stored(key), count, Math.ceil(endsInMs)]),
    };
  };
}
