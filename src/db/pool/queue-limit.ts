import { beyond } from '../../errors/service-errors.js';
import type { DbMetrics, PoolName } from '../../telemetry/metrics.js';
import { trackWait } from '../../telemetry/wait-tracking.js';
import { databaseErrorOf } from '../database-errors.js';
import type { Pool } from './pool.js';
import type { Lease } from './pool-member.js';

/** Limits and measures the work of a pool. */
export type Limited = <T>(work: () => Promise<T>) => Promise<T>;

/** Limits the statements that run or wait at once, in all pools together, and refuses more with 503. */
export function createQueueLimit(max: number, metrics: DbMetrics): (pool: PoolName) => Limited {
  let count = 0;
  metrics.limit.value = max;
  return (pool) => {
    const duration = metrics.duration.of(pool);
    const failures = metrics.failures.of(pool);
    const active = metrics.active.of(pool);
    return async (work) => {
      if (count >= max) throw beyond('statements');
      const since = performance.now();
      count++;
      active.value++;
      try {
        return await work();
      } catch (error) {
        // Errors of the work itself are not failures of the database: a Problem, a client that has left.
        if (error instanceof Error && databaseErrorOf(error)) failures.value++;
        throw error;
      } finally {
        count--;
        active.value--;
        duration.observe((performance.now() - since) / 1000);
      }
    };
  };
}

/** Runs work on a connection of a pool, alone; the wait for it is counted, and belongs to the current request. */
export function countedWait({ waiting }: DbMetrics) {
  return async <T>(
    pool: Pool,
    name: PoolName,
    work: (lease: Lease) => Promise<T>,
    caller?: string,
  ): Promise<T> => {
    const gauge = waiting.of(name);
    let endWait = (): void => undefined;
    const wait = new Promise<void>((resolve) => {
      endWait = resolve;
    });
    gauge.value++;
    void trackWait('connect', () => wait, undefined).then(() => gauge.value--);
    try {
      return await pool.run((lease) => {
        endWait();
        return work(lease);
      }, caller);
    } finally {
      endWait();
    }
  };
}
