/** One value of a metric. `metricName`: of a bucket, a sum or a count. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly metricName?: string;
}

/** A metric with all its label values at the time of the call to `samples`. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: () => Sample[];
}

/** The number for one combination of label values. */
export interface CounterValue {
  value: number;
}

/** A metric whose cells are looked up by label values once, so that counting needs no lookup. */
export interface LabelledMetric<T> {
  readonly family: Family;
  /** The cell for these values, in the order of the label names. */
  readonly of: (...values: readonly string[]) => T;
}

/** Combinations of label values of one metric. Any further ones share a cell whose values are all `other`. */
const MAX_CELLS = 2000;

type Cells<T> = Map<string, { readonly labels: Sample['labels']; readonly cell: T }>;

function labelled<T>(
  info: Omit<Family, 'samples'>,
  names: readonly string[],
  open: () => T,
  samplesOf: (labels: Sample['labels'], cell: T) => Sample[],
): LabelledMetric<T> {
  const cells: Cells<T> = new Map();
  const samples = () => [...cells.values()].flatMap(({ labels, cell }) => samplesOf(labels, cell));
  const of = (...values: readonly string[]): T => {
    const isFull = cells.size >= MAX_CELLS && !cells.has(values.join('\n'));
    const used = isFull ? names.map(() => 'other') : values;
    const key = used.join('\n');
    let entry = cells.get(key);
    if (!entry) {
      entry = { labels: Object.fromEntries(names.map((name, at) => [name, used[at] ?? ''])), cell: open() };
      cells.set(key, entry);
    }
    return entry.cell;
  };
  return { family: { ...info, samples }, of };
}

/** A number that grows, or with `type` gauge one that goes up and down. */
export function counter(
  name: string,
  help: string,
  labels: readonly string[],
  type: 'counter' | 'gauge' = 'counter',
): LabelledMetric<CounterValue> {
  return labelled(
    { name, help, type },
    labels,
    () => ({ value: 0 }),
    (labels, { value }) => [{ labels, value }],
  );
}

/** A metric without labels. */
export function single(
  name: string,
  help: string,
  type: 'counter' | 'gauge',
): CounterValue & { readonly family: Family } {
  const samples = () => [{ labels: {}, value: metric.value }];
  const metric = { value: 0, family: { name, help, type, samples } };
  return metric;
}

/** Bounds in seconds: those of OpenTelemetry's conventions, and shorter ones. */
export const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts the values up to each bound. */
class Distribution {
  readonly counts: Float64Array;
  sum = 0;
  count = 0;

  constructor(readonly bounds: readonly number[]) {
    this.counts = new Float64Array(bounds.length);
  }

  observe(value: number): void {
    this.sum += value;
    this.count++;
    // A search from below is short, since most values are small.
    let at = 0;
    while (at < this.bounds.length && value > this.bounds[at]!) at++;
    if (at < this.bounds.length) this.counts[at]!++;
  }

  samples(name: string, labels: Sample['labels']): Sample[] {
    let total = 0;
    const buckets = this.bounds.map((bound, at): Sample => {
      total += this.counts[at]!;
      return { labels: { le: String(bound), ...labels }, value: total, metricName: `${name}_bucket` };
    });
    return [
      ...buckets,
      { labels: { le: '+Inf', ...labels }, value: this.count, metricName: `${name}_bucket` },
      { labels, value: this.sum, metricName: `${name}_sum` },
      { labels, value: this.count, metricName: `${name}_count` },
    ];
  }
}

/** The distribution of a value; `bounds` in ascending order. */
export function histogram(
  name: string,
  help: string,
  labels: readonly string[],
  bounds: readonly number[],
): LabelledMetric<Distribution> {
  return labelled(
    { name, help, type: 'histogram' },
    labels,
    () => new Distribution(bounds),
    (labels, distribution) => distribution.samples(name, labels),
  );
}

/** The metrics of shared statements, by collection and operation. */
export interface SharingMetrics {
  readonly batch: LabelledMetric<Distribution>;
  readonly queued: LabelledMetric<CounterValue>;
}

/** The metrics of one kind of shared statement. */
export interface Sharing {
  /** The operation, and the collection if there is one: `read users`. */
  readonly name: string;
  readonly size: Distribution;
  readonly queued: CounterValue;
}

export function sharing({ batch, queued }: SharingMetrics, operation: string, collection: string): Sharing {
  const labels = [collection, operation];
  return { name: `${operation} ${collection}`, size: batch.of(...labels), queued: queued.of(...labels) };
}
