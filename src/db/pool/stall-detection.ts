import type { Connection } from './connection.js';

/**
 * A connection with work in flight that has been silent for this time may be dead: new work goes to others. Its own
 * work continues, since it may just be slow. Milliseconds.
 */
const STALL_MS = 1000;

/** The time limits of a pool. A working server ends a statement before the pool gives up. */
export function limitsOf(timeoutMs: number) {
  const checkMs = Math.max(5, Math.min(100, timeoutMs / 20));
  return {
    checkMs,
    giveUpMs: timeoutMs + Math.max(50, 2 * checkMs),
    stallMs: Math.min(STALL_MS, timeoutMs / 2),
  };
}

/** Measures for how long a connection has received nothing. */
export class Silence {
  #received: number;
  #since = performance.now();

  constructor(readonly connection: Connection) {
    this.#received = connection.received;
  }

  /** Restarts it: the server has nothing to send. */
  restart(now: number): void {
    this.#since = now;
  }

  /** Milliseconds, as precise as the interval between calls. */
  lasts(now: number): number {
    const { received } = this.connection;
    if (received !== this.#received) this.#since = now;
    this.#received = received;
    return now - this.#since;
  }
}

/** Returns a function that starts calling `check` at intervals, until it returns that nothing is left to check. */
export function checkRegularly(ms: number, check: (now: number) => boolean): () => void {
  let isChecking = false;
  const tick = (): void => {
    isChecking = check(performance.now());
    if (isChecking) setTimeout(tick, ms).unref();
  };
  return () => {
    if (isChecking) return;
    isChecking = true;
    setTimeout(tick, ms).unref();
  };
}
