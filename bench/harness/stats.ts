/** The figures of one round, by name; a figure that the machine cannot measure is left out. */
export type Figures = Readonly<Partial<Record<Metric, number>>>;

export type Metric =
  | 'rate' // requests a second
  | 'p50' // milliseconds
  | 'p99'
  | 'nodeUs' // CPU time of the contestant's process, microseconds a request
  | 'pgUs' // CPU time of PostgreSQL, microseconds a request
  | 'mbPerSecond'
  | 'firstByteMs'
  | 'aboveIdleMb' // resident memory
  | 'idleKb'; // resident memory a connection

/** The value in the middle, or the mean of the two in the middle. Throws when there is none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  if (middle === 0) throw new RangeError('there is no median of nothing');
  return middle % 1 === 0 ? (sorted[middle - 1]! + sorted[middle]!) / 2 : sorted[Math.floor(middle)]!;
}

/** The value that this part of all is below; 0 when there is none. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

/** The median of each figure over the rounds that have it. */
export function medians(rounds: readonly Figures[]): Figures {
  const names = new Set(rounds.flatMap((round) => Object.keys(round) as Metric[]));
  return Object.fromEntries(
    [...names].map((name) => [name, median(rounds.flatMap((round) => round[name] ?? []))]),
  );
}

/** Four digits that count: more would only be noise. */
export function short(value: number): number {
  return Number(value.toPrecision(4));
}

/** Each figure with four digits. */
export function shortened(figures: Figures): Figures {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, short(value)]));
}
