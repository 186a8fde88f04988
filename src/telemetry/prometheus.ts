import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import type { Family } from './instruments.js';

/** The families, and the process as prom-client knows it, as a registry for scrapes and for its AggregatorRegistry. */
export function registryOf(families: readonly Family[]): Registry {
  const registry = new Registry();
  for (const family of families) registry.registerMetric(metricOf(family));
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** What a registry asks of a metric is `get` alone: the values are ours, and none is counted twice. */
function metricOf({ name, help, type, samples }: Family): Metric {
  const get = () => Promise.resolve({ name, help, type, aggregator: 'sum', values: samples() });
  return { name, get } as unknown as Metric;
}
