import type { App } from '../../app.js';

/** Metrics of a process. */
export type Metrics = Awaited<ReturnType<App['metrics']['scrape']>>;

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

const AGGREGATES = {
  sum: sumOf,
  average: (values: readonly number[]) => sumOf(values) / values.length,
  min: (values: readonly number[]) => Math.min(...values),
  max: (values: readonly number[]) => Math.max(...values),
} as const;

/** The metrics of several processes as one: values with the same labels are aggregated. */
export function combined(processes: readonly Metrics[]): Metrics {
  return grouped(processes.flat(), ({ name }) => name).map(([first, ...others]) => {
    const samples = [first!, ...others].flatMap((family) => family.samples);
    const aggregate = AGGREGATES[first!.aggregate ?? 'sum'];
    const equal = grouped(samples, ({ metricName, labels }) => JSON.stringify([metricName, labels]));
    return {
      ...first!,
      samples: equal.map((group) => ({ ...group[0]!, value: aggregate(group.map(({ value }) => value)) })),
    };
  });
}

function grouped<Value>(values: readonly Value[], keyOf: (value: Value) => string): Value[][] {
  const groups = new Map<string, Value[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group) group.push(value);
    else groups.set(key, [value]);
  }
  return [...groups.values()];
}
