import type { Name } from './contestant.js';
import type { Request } from './request.js';
import type { Metric } from './stats.js';

/** The requirement of a row: a figure of Plinth, or the quotient by, or the difference from, another contestant's figure. */
export interface Target {
  readonly metric: Metric;
  readonly op: '>' | '>=' | '<' | '<=';
  readonly bound: number;
  readonly by?: string;
  readonly above?: string;
}

/** One contestant of a row; `label` tells apart two that are the same server. */
export interface Entrant {
  readonly label: string;
  readonly name: Name;
  readonly request: Request;
}

export type Kind = 'load' | 'whole' | 'idle';

/** A line of the benchmark. */
export interface Row {
  readonly name: string;
  readonly kind: Kind;
  readonly connections: number;
  readonly status: number;
  /** The contestant with which the others are compared. */
  readonly base: string;
  readonly entrants: readonly Entrant[];
  readonly targets: readonly Target[];
  /** Whether a quick run has it too. */
  readonly quick: boolean;
  readonly writes: boolean;
}

/** The status that an entrant must respond with: the bare server knows only one. */
export const statusOf = (row: Row, entrant: Entrant) => (entrant.name === 'bare' ? 200 : row.status);

/** A target as a quotient: this metric of Plinth by another's. */
export const by = (
  bound: number,
  metric: Metric = 'rate',
  op: Target['op'] = '>',
  other = 'handwritten',
): Target => ({
  metric,
  op,
  bound,
  by: other,
});

/** A row whose contestants all get the same request. */
export function row(
  name: string,
  connections: number,
  request: Request,
  names: readonly Name[],
  targets: readonly Target[],
  more: Partial<Row> = {},
): Row {
  const entrants = names.map((each) => ({ label: each, name: each, request }));
  const usual = { kind: 'load', status: 200, base: 'handwritten', quick: true, writes: false } as const;
  return { ...usual, name, connections, entrants, targets, ...more };
}
