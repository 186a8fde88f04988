/** One value of a metric; `metricName` where it is not the family's own: a bucket, a sum, a count. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly metricName?: string;
}

/** A metric with all its label values, as it is when it is asked for. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: () => Sample[];
}

/** Where a number is counted: one combination of label values. */
export interface CounterValue {
  value: number;
}

/** A metric whose cells are bound to their label values once, so that counting costs no look-up. */
export interface LabelledMetric<T> {
  readonly family: Family;
  /** The cell of these values, in the order of the label names. */
  readonly of: (...values: readonly string[]) => T;
}

/** Combinations of label values of one metric; what comes after them shares one, whose values are all `other`. */
const MAX_CELLS = 2000;

function labelled<T>(names: readonly string[], open: () => T, family: (cells: Cells<T>) => Family) {
  const cells: Cells<T> = new Map();
  const of = (...values: readonly string[]): T => {
    const full = cells.size >= MAX_CELLS && !cells.has(values.join('\n'));
    const used = full ? names.map(() => 'other') : values;
    const key = used.join('\n');
    let entry = cells.get(key);
    if (!entry) {
      entry = { labels: Object.fromEntries(names.map((name, at) => [name, used[at] ?? ''])), cell: open() };
      cells.set(key, entry);
    }
    return entry.cell;
  };
  return { family: family(cells), of };
}

type Cells<T> = Map<string, { readonly labels: Readonly<Record<string, string>>; readonly cell: T }>;

/** A number that grows, or with `type` gauge one that goes up and down. */
export function counter(
  name: string,
  help: string,
  names: readonly string[],
  type: 'counter' | 'gauge' = 'counter',
): LabelledMetric<CounterValue> {
  return labelled(
    names,
    () => ({ value: 0 }),
    (cells) => ({
      name,
      help,
      type,
      samples: () => [...cells.values()].map(({ labels, cell }) => ({ labels, value: cell.value })),
    }),
  );
}

/** A number that is asked for when the metrics are. */
export function gauge(name: string, help: string, read: () => number): Family {
  return { name, help, type: 'gauge', samples: () => [{ labels: {}, value: read() }] };
}

/** Bounds in seconds: those of OpenTelemetry's conventions, and some below, where most answers are. */
export const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** How often values fell below each bound. */
export class Distribution {
  readonly counts: Float64Array;
  sum = 0;
  count = 0;

  constructor(readonly bounds: readonly number[]) {
    this.counts = new Float64Array(bounds.length);
  }

  observe(value: number): void {
    this.sum += value;
    this.count++;
    const { bounds, counts } = this;
    // Most values are small: from below it is a few comparisons.
    for (let at = 0; at < bounds.length; at++)
      if (value <= bounds[at]!) {
        counts[at]!++;
        return;
      }
  }
}

/** The distribution of a value; `bounds` go upwards. */
export function histogram(
  name: string,
  help: string,
  names: readonly string[],
  bounds: readonly number[],
): LabelledMetric<Distribution> {
  return labelled(
    names,
    () => new Distribution(bounds),
    (cells) => ({
      name,
      help,
      type: 'histogram',
      samples: () => [...cells.values()].flatMap(({ labels, cell }) => samplesOf(name, labels, cell)),
    }),
  );
}

function samplesOf(name: string, labels: Sample['labels'], { bounds, counts, sum, count }: Distribution) {
  let below = 0;
  const buckets = bounds.map((bound, at): Sample => {
    below += counts[at]!;
    return { labels: { le: String(bound), ...labels }, value: below, metricName: `${name}_bucket` };
  });
  return [
    ...buckets,
    { labels: { le: '+Inf', ...labels }, value: count, metricName: `${name}_bucket` },
    { labels, value: sum, metricName: `${name}_sum` },
    { labels, value: count, metricName: `${name}_count` },
  ];
}
