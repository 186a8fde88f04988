import type { ServerResponse } from 'node:http';

/** Refusals per second that are sent at once. */
const PER_SECOND = 500;
const TICK_MS = 10;
/** Also after a long tick of the event loop, a throttle tick sends no more than this many. */
const MAX_PER_TICK = 25;
/** Refusals that may wait, which takes five seconds; further ones are sent at once. */
export const MAX_DELAYED = 2500;

/**
 * Delays refusals, and with them the clients that repeat a refused request at once. A refusal costs more than half of
 * the cheapest read, so at ten times the capacity refusals alone would occupy the service. Only the refused request
 * waits, not its connection: a proxy sends requests of many clients on one connection, and none while it waits.
 */
export class RefusalThrottle {
  /** The refusals that wait, in order, and the functions that send them. */
  readonly #delayed = new Map<ServerResponse, () => void>();
  #free = 0;
  #isTicking = false;
  #tickedAt = 0;

  /** Calls `refuse` now or in its turn; never, if the client disconnects before. */
  pass(res: ServerResponse, refuse: () => void): void {
    if (!this.#isTicking) this.#start();
    if (this.#free > 0) this.#free--;
    else if (this.#delayed.size < MAX_DELAYED) return this.#delay(res, refuse);
    refuse();
  }

  #delay(res: ServerResponse, refuse: () => void): void {
    this.#delayed.set(res, refuse);
    res.once('close', () => this.#delayed.delete(res));
  }

  #start(): void {
    this.#isTicking = true;
    this.#free = (PER_SECOND * TICK_MS) / 1000;
    this.#wait();
  }

  #wait(): void {
    this.#tickedAt = performance.now();
    setTimeout(() => this.#tick(), TICK_MS);
  }

  #tick(): void {
    this.#isTicking = this.#delayed.size > 0;
    if (!this.#isTicking) return;
    const elapsed = performance.now() - this.#tickedAt;
    this.#free = Math.ceil(Math.min(Math.max(1, (elapsed * PER_SECOND) / 1000), MAX_PER_TICK));
    for (const [res, refuse] of this.#delayed) {
      if (this.#free === 0) break;
      this.#free--;
      this.#delayed.delete(res);
      refuse();
    }
    this.#wait();
  }
}
