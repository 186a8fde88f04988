import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import type { Family } from './instruments.js';

/**
 * Opens a registry of prom-client's default metrics of the process and of the families. The returned function gives the
 * registry with those that are in the list at the time of the call.
 */
export function openRegistry(families: readonly Family[]): () => Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return () => {
    for (const family of families)
      if (!registry.getSingleMetric(family.name)) registry.registerMetric(metricOf(family));
    return registry;
  };
}

/** A registry calls only `get` of a metric, so that the values are not counted twice. */
function metricOf({ name, help, type, samples }: Family): Metric {
  const get = () => Promise.resolve({ name, help, type, aggregator: 'sum', values: samples() });
  return { name, get } as unknown as Metric;
}
