import type { AppOptions } from '../../app.js';
import { singleFlight } from '../../work/shared-runs.js';
import type { WorkerOrder, WorkerReport } from './messages.js';
import { RESPONSE_MS } from './metrics-collector.js';

/** The orders of the primary to a worker. */
export interface Orders {
  stop(): void;
  reload(): void;
  setMaintenance(on: boolean): void;
  /** The metrics of this worker as plain data; undefined while it is starting. */
  metrics(): Promise<unknown>;
}

/** A worker's connection to the primary. */
export interface PrimaryClient extends NonNullable<AppOptions['primary']> {
  /** Reports that this worker accepts requests. */
  ready(url: string): void;
  /**
   * Resolves when the primary hands this worker, which listens no more, no further connections, or when the primary is gone or
   * does not respond in time. Node returns a connection that arrives now to the primary, which gives it to another worker. If
   * this worker exited without having read of it, the client would wait without end.
   */
  leave(): Promise<void>;
}

/** How long a worker waits for the primary: longer than that waits for its slowest worker. */
const PRIMARY_MS = 3 * RESPONSE_MS;

/** Executes the orders of the primary from now on. */
export function joinPrimary(orders: Orders, primaryMs = PRIMARY_MS): PrimaryClient {
  let requests = 0;
  let onCollected: ((request: number, metrics: readonly unknown[]) => void) | undefined;
  let onLeave = (): void => undefined;

  const requestAll = (): Promise<readonly unknown[]> =>
    new Promise((resolve, reject) => {
      const current = ++requests;
      const timer = setTimeout(() => reject(new Error('the primary did not respond in time')), primaryMs);
      onCollected = (request, metrics) => {
        if (request !== current) return;
        clearTimeout(timer);
        resolve(metrics);
      };
      report({ report: 'collect', request: current });
    });

  process.on('message', (message: WorkerOrder) => {
    if (message.order === 'stop') orders.stop();
    else if (message.order === 'reload') orders.reload();
    else if (message.order === 'maintenance') orders.setMaintenance(message.on);
    else if (message.order === 'collected') onCollected?.(message.request, message.metrics);
    else if (message.order === 'leave') onLeave();
    else if (message.order === 'metrics') {
      const respond = (metrics?: unknown) => report({ report: 'metrics', request: message.request, metrics });
      // After an error the primary does not wait for this worker.
      orders.metrics().then(respond, () => respond());
    }
  });

  return {
    ready: (url) => report({ report: 'ready', url }),
    leave: () =>
      new Promise((resolve) => {
        onLeave = resolve;
        process.once('disconnect', resolve);
        setTimeout(resolve, primaryMs);
        if (process.connected) report({ report: 'leaves' });
        else resolve();
      }),
    collect: singleFlight(requestAll),
  };
}

/** Does nothing when the primary is gone, which `disconnect` reports. */
function report(message: WorkerReport): void {
  if (process.connected) process.send!(message, undefined, undefined, () => undefined);
}
