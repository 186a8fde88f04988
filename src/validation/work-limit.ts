/** Limits of one validation. */
export interface Limits {
  /** Comparisons, each of which takes about 25 ns. */
  readonly work: number;
  /** Failures of alternatives that it may hold. */
  readonly failures: number;
}

/** A validation exceeds its limit. */
export class WorkLimitError extends Error {
  constructor(readonly reason: string) {
    super(reason);
  }
}

let remaining = Number.POSITIVE_INFINITY;
let maxFailures = Number.POSITIVE_INFINITY;

/** Counts work of the validation that runs. Throws WorkLimitError. */
export function spend(units: number): void {
  remaining -= units;
  if (remaining < 0) throw new WorkLimitError('takes too many comparisons to validate');
}

/** Throws WorkLimitError. */
export function requireFewErrors(count: number): void {
  if (count > maxFailures) throw new WorkLimitError('has too many failures');
}

/** Validates within limits. Throws WorkLimitError. */
export function withinLimits({ work, failures }: Limits, validate: () => boolean): boolean {
  [remaining, maxFailures] = [work, failures];
  try {
    return validate();
  } finally {
    remaining = maxFailures = Number.POSITIVE_INFINITY;
  }
}
