import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import type { Family } from './instruments.js';

/** A registry of the families and of prom-client's default metrics of the process. */
export function registryOf(families: readonly Family[]): Registry {
  const registry = new Registry();
  for (const family of families) registry.registerMetric(metricOf(family));
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** A registry calls only `get` of a metric, so that the values are not counted twice. */
function metricOf({ name, help, type, samples }: Family): Metric {
  const get = () => Promise.resolve({ name, help, type, aggregator: 'sum', values: samples() });
  return { name, get } as unknown as Metric;
}
