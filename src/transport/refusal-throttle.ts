import type { ServerResponse } from 'node:http';

/** Between two refusals that are sent: 500 a second. */
const INTERVAL_MS = 2;
/** After a pause, so many are sent at once. */
const BURST = 5;
/** The longest wait; beyond it, refusals are sent at once. */
const MAX_WAIT_MS = 5000;

/**
 * Delays refusals, and with them the clients that repeat a refused request at once. A refusal costs more than half of
 * the cheapest read, so at ten times the capacity refusals alone would occupy the service. Only the refused request
 * waits, not its connection: a proxy sends requests of many clients on one connection, and none while it waits.
 */
export class RefusalThrottle {
  /** When the last refusal is sent. */
  #last = 0;

  /** `now` returns milliseconds. */
  constructor(readonly now: () => number = () => performance.now()) {}

  /** Calls `refuse` now or in its turn; never, if the client disconnects before. */
  pass(res: ServerResponse, refuse: () => void): void {
    const now = this.now();
    const at = Math.max(this.#last, now - BURST * INTERVAL_MS) + INTERVAL_MS;
    if (at > now + MAX_WAIT_MS) return refuse();
    this.#last = at;
    if (at <= now) return refuse();
    const timer = setTimeout(refuse, at - now);
    res.once('close', () => clearTimeout(timer));
  }
}
