import type { Action } from '../http/router.js';
import type { Metrics } from '../observe/metrics.js';

/** What the service counts of itself, in the text format of Prometheus, version 0.0.4. */
export function showMetrics({ registry }: Pick<Metrics, 'registry'>): Action {
  // Those who ask at the same time get one answer: it takes a while to write.
  let pending: Promise<string> | undefined;
  const text = async () => (await registry()).metrics();
  return {
    offers: ['text/plain'],
    run: async () => {
      pending ??= text().finally(() => {
        pending = undefined;
      });
      const body = await pending;
      const { contentType } = await registry();
      return { status: 200, headers: ['Content-Type', contentType, 'Cache-Control', 'no-store'], body };
    },
  };
}
