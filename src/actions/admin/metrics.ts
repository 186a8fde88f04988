import type { Reply } from '../../http/reply.js';
import type { Action } from '../../http/router.js';
import { singleFlight } from '../../single-flight.js';
import type { Metrics } from '../../telemetry/metrics.js';

/** Spells the value of samples without a number as the format does: prom-client writes `Nan`. */
const withNaN = (text: string) => text.replace(/ Nan$/gm, ' NaN');

/** The metrics in the text format of Prometheus, version 0.0.4. */
export function showMetrics(registry: Metrics['registry']): Action {
  // Concurrent requests share one response: it takes a while to write.
  const run = singleFlight(async (): Promise<Reply> => {
    const found = await registry();
    const headers = ['Content-Type', found.contentType, 'Cache-Control', 'no-store'];
    return { status: 200, headers, body: withNaN(await found.metrics()) };
  });
  return {
    offers: ['text/plain'],
    run,
  };
}
