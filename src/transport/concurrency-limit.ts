/** While overloaded, the limit admits what completes within this time. */
const TARGET_MS = 10;
/** The limit never falls below this. */
const MIN_IN_FLIGHT = 64;
/** Time without a refusal after which the limit is `maxRequests` again. */
const CALM_MS = 1000;
/** The rate is the best of these periods, since a pause of the database or of the garbage collector says nothing. */
const PERIODS = 10;
const PERIOD_MS = 100;

/**
 * Adaptive concurrency limit. Normally it admits `max` requests. Once that overflows, it admits only what completes
 * within 10 ms at the measured rate (Little's law), until a second passes without a refusal.
 */
export class ConcurrencyLimit {
  /** Requests that ended, since the present period began. */
  completed = 0;
  readonly #rates: number[] = [];
  #periodStart: number;
  #limitedUntil = 0;

  /** `now` returns milliseconds. */
  constructor(
    readonly max: number,
    readonly now: () => number = () => performance.now(),
  ) {
    this.#periodStart = now();
  }

  /** Whether one more request is admitted beside those in flight, of which some are `waiting` and do not count. */
  admits(inFlight: number, waiting: () => number = () => 0): boolean {
    const at = this.now();
    if (at - this.#periodStart >= PERIOD_MS) this.#measure(at);
    const limit =
      at < this.#limitedUntil
        ? Math.min(this.max, Math.max(MIN_IN_FLIGHT, this.#completableSoon()))
        : this.max;
    if (inFlight < limit || inFlight - waiting() < limit) return true;
    this.#limitedUntil = at + CALM_MS;
    return false;
  }

  #measure(at: number): void {
    this.#rates.push(this.completed / (at - this.#periodStart));
    if (this.#rates.length > PERIODS) this.#rates.shift();
    this.completed = 0;
    this.#periodStart = at;
  }

  #completableSoon(): number {
    return Math.max(0, ...this.#rates) * TARGET_MS;
  }
}
