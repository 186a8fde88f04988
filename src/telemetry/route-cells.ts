import type { CounterValue, Distribution } from './instruments.js';
import type { HttpMetrics } from './metrics.js';

/** The cells of one method on one route; of the durations by status. */
export interface Series {
  readonly received: CounterValue;
  readonly sent: CounterValue;
  readonly durations: Map<number, Distribution>;
}

/** Caches the cells of each method on each route, which saves the lookup by labels at every request. */
export class RouteCells {
  readonly #routes = new Map<string, Map<string, Series>>();

  constructor(readonly metrics: HttpMetrics) {}

  get(route: string, method: string): Series {
    let methods = this.#routes.get(route);
    if (!methods) {
      methods = new Map();
      this.#routes.set(route, methods);
    }
    let series = methods.get(method);
    if (!series) {
      const { received, sent } = this.metrics;
      series = {
        received: received.of(method, route),
        sent: sent.of(method, route),
        durations: new Map(),
      };
      methods.set(method, series);
    }
    return series;
  }

  duration(route: string, method: string, status: number): Distribution {
    const { durations } = this.get(route, method);
    let duration = durations.get(status);
    if (!duration) {
      duration = this.metrics.duration.of(method, route, String(status));
      durations.set(status, duration);
    }
    return duration;
  }
}
