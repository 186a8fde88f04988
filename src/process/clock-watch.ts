import type { Log } from '../telemetry/log.js';

/** Interval of the looks at both clocks, and what they may differ in one, in milliseconds. */
const LOOK_MS = 10_000;
const MAX_STEP_MS = 5000;

/** Notices when the clock of the machine is set, by comparing it with one that only goes forward. */
export class ClockWatch {
  #offset: number;

  constructor(
    readonly log: Pick<Log, 'warn'>,
    readonly wall: () => number = Date.now,
    readonly steady: () => number = () => performance.now(),
  ) {
    this.#offset = wall() - steady();
  }

  /** Logs a step since the last look. */
  look(): void {
    const offset = this.wall() - this.steady();
    const stepMs = Math.round(offset - this.#offset);
    this.#offset = offset;
    if (Math.abs(stepMs) <= MAX_STEP_MS) return;
    this.log.warn(
      { stepMs },
      stepMs > 0
        ? 'the clock of this machine was set forward, or the machine was suspended: ids, created_at and expiries follow it'
        : 'the clock of this machine was set back: ids, created_at and expiries follow it',
    );
  }
}

/** Watches the clock; returns the function that ends this. */
export function watchClock(log: Log): () => void {
  const watch = new ClockWatch(log);
  const timer = setInterval(() => watch.look(), LOOK_MS).unref();
  return () => clearInterval(timer);
}
