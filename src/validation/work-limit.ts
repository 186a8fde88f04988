/** A validation exceeds its limit. */
export class WorkLimitError extends Error {
  constructor() {
    super('takes too many comparisons to validate');
  }
}

let remaining = Number.POSITIVE_INFINITY;

/** Counts work of the validation that runs. Throws WorkLimitError. */
export function spend(units: number): void {
  remaining -= units;
  if (remaining < 0) throw new WorkLimitError();
}

/** Validates a value with so many units of work, each of which takes about 12 ns at most. Throws WorkLimitError. */
export function withinLimit<V>(units: number, validate: (value: V) => unknown, value: V): boolean {
  remaining = units;
  try {
    return validate(value) === true;
  } finally {
    remaining = Number.POSITIVE_INFINITY;
  }
}
