import type { Family, Sample } from './instruments.js';

/** How the values of several processes become one; absent: their sum. */
export type Aggregate = keyof typeof AGGREGATES;

const AGGREGATES = {
  sum: (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0),
  average: (values: readonly number[]) => AGGREGATES.sum(values) / values.length,
  min: (values: readonly number[]) => Math.min(...values),
  max: (values: readonly number[]) => Math.max(...values),
} as const;

/** A metric with its values at one time, which a process can send to another. */
export interface FamilyValues extends Omit<Family, 'samples'> {
  readonly samples: readonly Sample[];
  readonly aggregate?: Aggregate;
}

/** The media type of the text format of Prometheus. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Metrics in the text format of Prometheus, version 0.0.4. */
export const exposition = (families: readonly FamilyValues[]): string =>
  families
    .map(({ name, help, type, samples }) => {
      const lines = samples.map((sample) => lineOf(name, sample));
      return [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n');
    })
    .join('\n');

function lineOf(name: string, { metricName = name, labels, value }: Sample): string {
  const texts = Object.entries(labels).map(
    ([label, text]) => `${label}="${escaped(text).replaceAll('"', '\\"')}"`,
  );
  const number = value === Number.POSITIVE_INFINITY ? '+Inf' : String(value).replace('Infinity', 'Inf');
  return `${metricName}${texts.length === 0 ? '' : `{${texts.join(',')}}`} ${number}`;
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');

/** The metrics of several processes as one: values with the same labels are aggregated. */
export function combined(processes: readonly (readonly FamilyValues[])[]): FamilyValues[] {
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
