import { hash } from 'node:crypto';
import { RateLimiterPostgres, type RateLimiterRes } from 'rate-limiter-flexible';
import type { Db, Value } from '../db/db.js';
import type { Log } from '../telemetry/log.js';

/** A count and when it starts again, in milliseconds from now. */
export interface Count {
  readonly count: number;
  readonly endsInMs: number;
}

/** Counts that all processes on one database share. Both give undefined while the database is away. */
export interface SharedCounts {
  /** Adds one to the count of a key. */
  readonly add: (key: string) => Promise<Count | undefined>;
  /** Sets a count, and how long it is remembered from now on; in seconds. */
  readonly keep: (key: string, count: number, seconds: number) => Promise<Count | undefined>;
}

/** Opens the counts of one name, each of which starts again so many seconds after its first. */
export type OpenCounts = (name: string, seconds: number) => SharedCounts;

/** How long a database that was away is not asked again. */
const RETRY_MS = 5000;

/**
 * Counts in the table `limits`; it has the SHA-256 of a key alone. While the database is away every caller has its own
 * counts to go by: that is logged when it begins and when it ends, and one statement every five seconds tries.
 */
export function openSharedCounts(db: Db, log: Log, now: () => number = Date.now): OpenCounts {
  const storeClient = clientOf(db);
  let away = false;
  let asksAgainAt = 0;

  const ask = async (work: () => Promise<RateLimiterRes>): Promise<Count | undefined> => {
    if (away && now() < asksAgainAt) return undefined;
    asksAgainAt = now() + RETRY_MS;
    try {
      const { consumedPoints, msBeforeNext } = await work();
      if (away) log.warn('limits are counted in the database again');
      away = false;
      return { count: consumedPoints, endsInMs: msBeforeNext };
    } catch (error) {
      asksAgainAt = now() + RETRY_MS;
      if (!away) log.warn({ err: error }, 'limits are counted in this process alone: the database is away');
      away = true;
      return undefined;
    }
  };

  return (name, seconds) => {
    const limiter = new RateLimiterPostgres({
      storeClient,
      storeType: 'client',
      tableName: 'limits',
      tableCreated: true,
      keyPrefix: name,
      // Who asks decides what is too many.
      points: Number.MAX_SAFE_INTEGER,
      duration: seconds,
      clearExpiredByTimeout: false,
    });
    return {
      add: (key) => ask(() => limiter.penalty(digest(key))),
      keep: (key, count, seconds) => ask(() => limiter.set(digest(key), count, Math.ceil(seconds))),
    };
  };
}

function digest(key: string): string {
  return hash('sha256', key, 'base64url');
}

/** Our own connections as the library knows those of `pg`. */
function clientOf(db: Db): unknown {
  return {
    query: async ({ text, values }: { text: string; values: Value[] }) => {
      const rows = await db.run(text, values);
      // The driver gives a bigint as text.
      const numbers = rows.map(({ points, expire }) => ({ points: Number(points), expire: Number(expire) }));
      return { rows: numbers, rowCount: numbers.length };
    },
  };
}
