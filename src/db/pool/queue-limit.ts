import { unavailable } from '../../errors.js';
import type { DbMetrics, PoolName } from '../../telemetry/metrics.js';
import { trackWait } from '../../telemetry/wait-tracking.js';
import { databaseErrorOf } from '../sqlstate.js';
import type { ExclusivePool, Lease } from './exclusive-pool.js';

/** Lends a connection, counts who waits for one, and has the present request wait for it too. */
export function leasing({ waiting }: DbMetrics) {
  return async <T>(pool: ExclusivePool, name: PoolName, work: (lease: Lease) => Promise<T>): Promise<T> => {
    const cell = waiting.of(name);
    let exclusive: (() => void) | undefined;
    const waited = new Promise<void>((resolve) => {
      exclusive = resolve;
    });
    const end = (): void => {
      if (!exclusive) return;
      cell.value--;
      exclusive();
      exclusive = undefined;
    };
    cell.value++;
    void trackWait('connect', () => waited, undefined);
    try {
      return await pool.lend((lease) => {
        end();
        return work(lease);
      });
    } finally {
      // Also when none was lent in time.
      end();
    }
  };
}

/** Runs work of one pool; the present request waits for what has a name. */
export type QueueLimited = <T>(name: string | undefined, work: () => Promise<T>) => Promise<T>;

/** Lets so many run or wait at once, in all pools together and of each pool, and refuses more with a 503. */
export function createQueueLimit(
  max: number,
  metrics: DbMetrics,
): (pool: PoolName, own?: number) => QueueLimited {
  let count = 0;
  metrics.limit.value = max;
  return (pool, own = max) => {
    const [duration, failures, active] = [metrics.duration, metrics.failures, metrics.active];
    const cells = { duration: duration.of(pool), failures: failures.of(pool), active: active.of(pool) };
    const counted = async <T>(work: () => Promise<T>): Promise<T> => {
      if (count >= max || cells.active.value >= own) throw unavailable('The database queue is full.');
      const since = performance.now();
      count++;
      cells.active.value++;
      try {
        return await work();
      } catch (error) {
        // Not what the work itself decided: a Problem, a reader that is gone.
        if (error instanceof Error && databaseErrorOf(error)) cells.failures.value++;
        throw error;
      } finally {
        count--;
        cells.active.value--;
        cells.duration.observe((performance.now() - since) / 1000);
      }
    };
    return (name, work) => (name === undefined ? counted(work) : trackWait(name, counted, work));
  };
}
