import type { CounterValue, Distribution } from './instruments.js';
import type { HttpMetrics } from './metrics.js';

/** What is counted for one method on one route. */
export interface SeriesCache {
  readonly received: CounterValue;
  readonly sent: CounterValue;
  readonly durations: Map<number, Distribution>;
}

/** Gives the series of a method on a route: looked up by its labels once, and then by two names. */
export function lookUpOnce(metrics: HttpMetrics) {
  const routes = new Map<string, Map<string, SeriesCache>>();
  return (route: string, method: string): SeriesCache => {
    let methods = routes.get(route);
    if (!methods) {
      methods = new Map();
      routes.set(route, methods);
    }
    let series = methods.get(method);
    if (!series) {
      series = {
        received: metrics.received.of(method, route),
        sent: metrics.sent.of(method, route),
        durations: new Map(),
      };
      methods.set(method, series);
    }
    return series;
  };
}
