import type { ServerResponse } from 'node:http';

/** Time between two refusals, and for how many of those ahead of it a refusal does not wait. */
const INTERVAL_MS = 2;
const AT_ONCE = 5;
/** Refusals that may wait, which takes five seconds; further ones are sent at once. */
export const MAX_DELAYED = 2500;

/**
 * Delays refusals, and with them the clients that repeat a refused request at once. A refusal costs more than half of
 * the cheapest read, so at ten times the capacity refusals alone would occupy the service. Only the refused request
 * waits, not its connection: a proxy sends requests of many clients on one connection, and none while it waits.
 */
export class RefusalThrottle {
  /** When the next refusal is due. */
  #dueAt = 0;

  /** Calls `refuse` now or in its turn; never, if the client disconnects before. */
  pass(res: ServerResponse, refuse: () => void): void {
    const now = performance.now();
    const dueAt = Math.max(now, this.#dueAt);
    const ahead = Math.round((dueAt - now) / INTERVAL_MS);
    if (ahead >= AT_ONCE + MAX_DELAYED) return refuse();
    this.#dueAt = dueAt + INTERVAL_MS;
    if (ahead < AT_ONCE) return refuse();
    const timer = setTimeout(refuse, dueAt - now);
    res.once('close', () => clearTimeout(timer));
  }
}
