/** A measurement: rows in the table, rows that the request touches, and microseconds of CPU time. */
export interface Observation {
  readonly rows: number;
  readonly touched: number;
  readonly us: number;
}

/** The smallest table that is measured. */
export const SMALLEST = 10_000;

/** Microseconds of CPU time of a request: `base + perDoubling * log2(rows / SMALLEST) + perRow * touched`. */
export interface Cost {
  readonly base: number;
  readonly perDoubling: number;
  readonly perRow: number;
}

export const costAt = ({ base, perDoubling, perRow }: Cost, rows: number, touched: number): number =>
  base + perDoubling * Math.log2(rows / SMALLEST) + perRow * touched;

type Term = 'base' | 'perDoubling' | 'perRow';

const TERMS: Readonly<Record<Term, (point: Pick<Observation, 'rows' | 'touched'>) => number>> = {
  base: () => 1,
  perDoubling: ({ rows }) => Math.log2(rows / SMALLEST),
  perRow: ({ touched }) => touched,
};

/** A constant of fewer standard errors is left out: with it, the fit adjusted for its degrees of freedom would be worse. */
const SIGNIFICANT = 1;

/**
 * Fits the constants to what was measured, and leaves out those that are negative or explain nothing. The
 * squares are of relative errors: otherwise a second of the largest table would outweigh everything else.
 */
export function fitCost(points: readonly Observation[]): Cost {
  const varies = new Set(points.map(({ touched }) => touched)).size > 1;
  let terms: Term[] = varies ? ['base', 'perDoubling', 'perRow'] : ['base', 'perDoubling'];
  for (;;) {
    const rows = points.map((point) => terms.map((term) => TERMS[term](point)));
    const { values, errors } = leastSquares(
      rows,
      points.map(({ us }) => us),
    );
    const weakest = terms
      .map((term, at) => ({ term, strength: values[at]! / Math.max(errors[at]!, Number.EPSILON) }))
      .filter(({ term, strength }) => strength < SIGNIFICANT && (term !== 'base' || strength < 0))
      .sort((a, b) => a.strength - b.strength)[0];
    if (weakest === undefined || terms.length === 1) {
      const at = (term: Term) => (terms.includes(term) ? values[terms.indexOf(term)]! : 0);
      return { base: at('base'), perDoubling: at('perDoubling'), perRow: at('perRow') };
    }
    terms = terms.filter((term) => term !== weakest.term);
  }
}

/** Microseconds of CPU time by connections: `shared + alone / connections`. */
export interface Sharing {
  readonly shared: number;
  readonly alone: number;
}

/** Fits what requests in flight together share. */
export function fitSharing(points: readonly { connections: number; us: number }[]): Sharing {
  const { values } = leastSquares(
    points.map(({ connections }) => [1, 1 / connections]),
    points.map(({ us }) => us),
  );
  return { shared: values[0]!, alone: values[1]! };
}

/** The coefficients of the columns that give the measured values with the least relative errors, and their standard errors. */
export function leastSquares(
  rows: readonly (readonly number[])[],
  measured: readonly number[],
): { values: number[]; errors: number[] } {
  const scaled = rows.map((row, at) => row.map((value) => value / measured[at]!));
  const size = scaled[0]!.length;
  const columns = Array.from({ length: size }, (_, column) => scaled.map((row) => row[column]!));
  const dot = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, at) => sum + value * b[at]!, 0);
  const inverse = invert(columns.map((a) => columns.map((b) => dot(a, b))));
  const ones = columns.map((column) => column.reduce((sum, value) => sum + value, 0));
  const values = inverse.map((row) => dot(row, ones));
  const residual = scaled.reduce((sum, row) => sum + (1 - dot(row, values)) ** 2, 0);
  const variance = residual / Math.max(1, rows.length - size);
  return { values, errors: inverse.map((row, at) => Math.sqrt(Math.max(0, row[at]! * variance))) };
}

/** Gauss and Jordan, with the largest pivot. The columns differ by orders of magnitude, so they are scaled first. */
function invert(matrix: readonly (readonly number[])[]): number[][] {
  const size = matrix.length;
  const scale = matrix.map((row, at) => Math.sqrt(row[at]!));
  const work = matrix.map((row, at) => [
    ...row.map((value, column) => value / scale[at]! / scale[column]!),
    ...Array.from({ length: size }, (_, column) => (column === at ? 1 : 0)),
  ]);
  for (let at = 0; at < size; at++) {
    const pivot = work
      .map((row, index) => ({ index, value: index < at ? -1 : Math.abs(row[at]!) }))
      .reduce((best, each) => (each.value > best.value ? each : best)).index;
    [work[at], work[pivot]] = [work[pivot]!, work[at]!];
    const divisor = work[at]![at]!;
    if (divisor === 0) throw new Error('the measured points do not determine the constants');
    work[at] = work[at]!.map((value) => value / divisor);
    for (let other = 0; other < size; other++) {
      if (other === at) continue;
      const factor = work[other]![at]!;
      work[other] = work[other]!.map((value, column) => value - factor * work[at]![column]!);
    }
  }
  return work.map((row, at) => row.slice(size).map((value, column) => value / scale[at]! / scale[column]!));
}
