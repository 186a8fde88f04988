import type { DbMetrics, PoolName } from '../../telemetry/metrics.js';
import { trackWait } from '../../telemetry/wait-tracking.js';
import type { ExclusivePool, Lease } from './exclusive-pool.js';

/** Leases a connection; the wait for it is counted, and belongs to the current request. */
export function countedLease({ waiting }: DbMetrics) {
  return async <T>(pool: ExclusivePool, name: PoolName, work: (lease: Lease) => Promise<T>): Promise<T> => {
    const gauge = waiting.of(name);
    let isWaiting = true;
    let resolveWait = (): void => undefined;
    const wait = new Promise<void>((resolve) => {
      resolveWait = resolve;
    });
    const endWait = (): void => {
      if (isWaiting) gauge.value--;
      isWaiting = false;
      resolveWait();
    };
    gauge.value++;
    void trackWait('connect', () => wait, undefined);
    try {
      return await pool.withLease((lease) => {
        endWait();
        return work(lease);
      });
    } finally {
      endWait();
    }
  };
}
