import { unavailable } from '../../errors.js';
import type { DbMetrics, PoolName } from '../../telemetry/metrics.js';
import { waitFor } from '../../telemetry/wait-tracking.js';
import { faultOf } from '../sqlstate.js';
import type { Lent, Loan } from './exclusive-pool.js';

/** Lends a connection, counts who waits for one, and has the present request wait for it too. */
export function lending({ waiting }: DbMetrics) {
  return async <T>(pool: Lent, name: PoolName, work: (loan: Loan) => Promise<T>): Promise<T> => {
    const cell = waiting.of(name);
    let lent: (() => void) | undefined;
    const waited = new Promise<void>((resolve) => {
      lent = resolve;
    });
    const end = (): void => {
      if (!lent) return;
      cell.value--;
      lent();
      lent = undefined;
    };
    cell.value++;
    void waitFor('connect', () => waited, undefined);
    try {
      return await pool.lend((loan) => {
        end();
        return work(loan);
      });
    } finally {
      // Also when none was lent in time.
      end();
    }
  };
}

/** Runs work of one pool; the present request waits for what has a name. */
export type Bounded = <T>(name: string | undefined, work: () => Promise<T>) => Promise<T>;

/** Lets so many run or wait at once, in all pools together and of each pool, and refuses more with a 503. */
export function bound(most: number, metrics: DbMetrics): (pool: PoolName, own?: number) => Bounded {
  let count = 0;
  metrics.limit.value = most;
  return (pool, own = most) => {
    const [duration, failures, active] = [metrics.duration, metrics.failures, metrics.active];
    const cells = { duration: duration.of(pool), failures: failures.of(pool), active: active.of(pool) };
    const counted = async <T>(work: () => Promise<T>): Promise<T> => {
      if (count >= most || cells.active.value >= own) throw unavailable('The database queue is full.');
      const since = performance.now();
      count++;
      cells.active.value++;
      try {
        return await work();
      } catch (error) {
        // Not what the work itself decided: a Problem, a reader that is gone.
        if (error instanceof Error && faultOf(error)) cells.failures.value++;
        throw error;
      } finally {
        count--;
        cells.active.value--;
        cells.duration.observe((performance.now() - since) / 1000);
      }
    };
    return (name, work) => (name === undefined ? counted(work) : waitFor(name, counted, work));
  };
}
