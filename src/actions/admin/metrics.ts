import type { Reply } from '../../http/reply.js';
import type { Action } from '../../http/router.js';
import type { Metrics } from '../../telemetry/metrics.js';

/** What the service counts of itself, in the text format of Prometheus, version 0.0.4. */
export function showMetrics(registry: Metrics['registry']): Action {
  // Those who ask at the same time get one answer: it takes a while to write.
  let pending: Promise<Reply> | undefined;
  const answer = async (): Promise<Reply> => {
    const found = await registry();
    const headers = ['Content-Type', found.contentType, 'Cache-Control', 'no-store'];
    return { status: 200, headers, body: await found.metrics() };
  };
  return {
    offers: ['text/plain'],
    run: () => {
      pending ??= answer().finally(() => {
        pending = undefined;
      });
      return pending;
    },
  };
}
