import { beyond } from '../../errors/service-errors.js';
import type { DbMetrics, PoolName } from '../../telemetry/metrics.js';
import { trackStatement, trackWait } from '../../telemetry/wait-tracking.js';
import { databaseErrorOf } from '../database-errors.js';
import type { Pool } from './pool.js';
import type { Lease } from './pool-member.js';

/** Runs work on one pool; with the text of a statement, the current request waits under its name. */
export type QueueLimited = <T>(text: string | undefined, work: () => Promise<T>) => Promise<T>;

/** Limits what runs or waits at once, in all pools together and in each pool, and refuses more with 503. */
export function createQueueLimit(
  max: number,
  metrics: DbMetrics,
): (pool: PoolName, maxOfPool?: number) => QueueLimited {
  let count = 0;
  metrics.limit.value = max;
  return (pool, maxOfPool = max) => {
    const duration = metrics.duration.of(pool);
    const failures = metrics.failures.of(pool);
    const active = metrics.active.of(pool);
    const counted = async <T>(work: () => Promise<T>): Promise<T> => {
      if (count >= max || active.value >= maxOfPool) throw beyond('statements');
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
    return (text, work) => (text === undefined ? counted(work) : trackStatement(text, counted, work));
  };
}

/** Runs work on a connection of a pool; the wait for it is counted, and belongs to the current request. */
export function countedWait({ waiting }: DbMetrics) {
  return async <T>(pool: Pool, name: PoolName, work: (lease: Lease) => Promise<T>): Promise<T> => {
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
      });
    } finally {
      endWait();
    }
  };
}
