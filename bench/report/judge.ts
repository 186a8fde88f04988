import type { Measured } from '../harness/measure.js';
import type { Row, Target } from '../harness/row.js';
import { type Metric, short } from '../harness/stats.js';

/** How a target was met. */
export interface Verdict {
  readonly text: string;
  readonly value: number;
  readonly met: boolean;
}

/** A row with all that came of it. */
export interface Result {
  readonly name: string;
  readonly connections: number;
  readonly base: string;
  readonly entrants: readonly Measured[];
  readonly verdicts: readonly Verdict[];
  /** Why there are no figures. */
  readonly error?: string;
}

/** The figure by which a row compares its entrants. */
export const mainMetric = (entrants: readonly Measured[]): Metric =>
  entrants[0]?.median.rate === undefined ? 'idleKb' : 'rate';

/** An entrant's main figure as a multiple of that of the row's base; undefined when either was not measured. */
export function ratioOf({ entrants, base }: Result, label: string): number | undefined {
  const metric = mainMetric(entrants);
  return quotient(entrants, metric, label, base);
}

/** Holds the figures of a row against its targets; one whose figures were not measured is left out. */
export function judge(row: Row, entrants: readonly Measured[]): Result {
  const { name, connections, base } = row;
  const verdicts = row.targets.flatMap((target) => verdictOf(target, entrants) ?? []);
  return { name, connections, base, entrants, verdicts };
}

function verdictOf(target: Target, entrants: readonly Measured[]): Verdict | undefined {
  const value = targetValue(target, entrants);
  if (value === undefined) return undefined;
  return { text: textOf(target), value: short(value), met: MEETS[target.op](value, target.bound) };
}

const MEETS: Readonly<Record<Target['op'], (value: number, bound: number) => boolean>> = {
  '>': (value, bound) => value > bound,
  '>=': (value, bound) => value >= bound,
  '<': (value, bound) => value < bound,
  '<=': (value, bound) => value <= bound,
};

const PLINTH = 'plinth';

function targetValue({ metric, by, above }: Target, entrants: readonly Measured[]): number | undefined {
  if (by !== undefined) return quotient(entrants, metric, PLINTH, by);
  const own = figureOf(entrants, metric, PLINTH);
  if (above === undefined) return own;
  const other = figureOf(entrants, metric, above);
  return own === undefined || other === undefined ? undefined : own - other;
}

const NAMES: Readonly<Record<Metric, string>> = {
  rate: 'requests/s',
  p50: 'p50',
  p99: 'p99',
  nodeUs: 'node CPU',
  pgUs: 'PostgreSQL CPU',
  mbPerSecond: 'MB/s',
  firstByteMs: 'first byte ms',
  aboveIdleMb: 'memory above idle MB',
  idleKb: 'memory a connection KB',
};

function textOf({ metric, op, bound, by, above }: Target): string {
  const than = by === undefined ? '' : ` x ${by}`;
  return `${NAMES[metric]}${above === undefined ? '' : ` above ${above}`} ${op} ${short(bound)}${than}`;
}

function figureOf(entrants: readonly Measured[], metric: Metric, label: string): number | undefined {
  return entrants.find((entrant) => entrant.label === label)?.median[metric];
}

function quotient(entrants: readonly Measured[], metric: Metric, label: string, other: string) {
  const [value, by] = [figureOf(entrants, metric, label), figureOf(entrants, metric, other)];
  return value === undefined || by === undefined || by === 0 ? undefined : value / by;
}
