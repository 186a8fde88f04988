/** While overloaded, the limit admits what completes within this time. */
const TARGET_MS = 10;
/** The limit never falls below this. */
const MIN_IN_FLIGHT = 64;
/** With fewer requests in flight than this, there is spare capacity. */
const FEW_IN_FLIGHT = 4;
/** Time without a refusal after which the limit is `maxRequests` again. */
const CALM_MS = 1000;
/** The rate is the best of these periods, since a pause of the database or of the garbage collector says nothing. */
const PERIODS = 10;
const PERIOD_MS = 100;

/**
 * Adaptive concurrency limit. Normally it admits `max` requests. Once that overflows, it admits only what completes
 * within 10 ms at the measured rate (Little's law), until a second passes without a refusal. Meanwhile, requests that
 * have waited already (`isRetry`) are admitted only if there is spare capacity.
 */
export class ConcurrencyLimit {
  readonly #rates: number[] = [];
  #completed = 0;
  #periodStart: number;
  /** The maximum in flight in this period and in the one before. */
  #peak = 0;
  #peakBefore = 0;
  #limitedUntil = 0;
  #refusingUntil = 0;

  /** `now` returns milliseconds. */
  constructor(
    readonly max: number,
    readonly now: () => number = () => performance.now(),
  ) {
    this.#periodStart = now();
  }

  /** Whether one more request is admitted beside those in flight. */
  admits(inFlight: number, isRetry: boolean): boolean {
    const at = this.now();
    this.#measure(at, inFlight);
    const limit =
      at < this.#limitedUntil
        ? Math.min(this.max, Math.max(MIN_IN_FLIGHT, this.#completableSoon()))
        : this.max;
    const isFull = inFlight >= limit;
    if (!isFull && (!isRetry || at >= this.#refusingUntil || this.#hasSpareCapacity())) return true;
    this.#refuse(at, isFull);
    return false;
  }

  completed(): void {
    this.#completed++;
  }

  /** A later queue had no capacity for a request. */
  refused(): void {
    this.#refuse(this.now(), false);
  }

  #measure(at: number, inFlight: number): void {
    this.#peak = Math.max(this.#peak, inFlight);
    const elapsed = at - this.#periodStart;
    if (elapsed < PERIOD_MS) return;
    this.#rates.push(this.#completed / elapsed);
    if (this.#rates.length > PERIODS) this.#rates.shift();
    this.#completed = 0;
    this.#periodStart = at;
    this.#peakBefore = this.#peak;
    this.#peak = inFlight;
  }

  #completableSoon(): number {
    return Math.max(0, ...this.#rates) * TARGET_MS;
  }

  #hasSpareCapacity(): boolean {
    return Math.max(this.#peak, this.#peakBefore) < Math.max(FEW_IN_FLIGHT, this.#completableSoon() / 2);
  }

  #refuse(at: number, isFull: boolean): void {
    this.#refusingUntil = at + CALM_MS;
    if (isFull || at < this.#limitedUntil) this.#limitedUntil = this.#refusingUntil;
  }
}
