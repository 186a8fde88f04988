import type { Family, Sample } from './instruments.js';

/** How the values of several processes become one; absent: their sum. */
export type Aggregate = 'sum' | 'average' | 'min' | 'max';

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
