import type { Log } from '../telemetry/log.js';

/** Interval of the looks at both clocks, and what they may differ in one, in milliseconds. */
const LOOK_MS = 10_000;
const MAX_STEP_MS = 5000;
/** Interval of comparisons with the clock of the database, in milliseconds. */
const COMPARE_MS = 600_000;

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

  /** Logs that the clock differs from the database's by more than the time in which that responded. */
  async compare(databaseTime: () => Promise<number>): Promise<void> {
    const before = this.wall();
    const other = await databaseTime();
    const after = this.wall();
    const aheadMs = Math.round(other < before ? before - other : Math.min(after - other, 0));
    if (Math.abs(aheadMs) <= MAX_STEP_MS) return;
    this.log.warn(
      { aheadMs },
      `the clock of this machine is ${aheadMs > 0 ? 'ahead of' : 'behind'} the clock of the database: ids, created_at and expiries are wrong on one of them`,
    );
  }
}

/** Watches the clock, and compares it with the database's; returns the function that ends this. */
export function watchClock(log: Log, databaseTime: () => Promise<number>): () => void {
  const watch = new ClockWatch(log);
  // Without the database, the requests that need it report that.
  const compare = () => watch.compare(databaseTime).catch(() => undefined);
  void compare();
  const timers = [setInterval(() => watch.look(), LOOK_MS).unref(), setInterval(compare, COMPARE_MS).unref()];
  return () => timers.forEach(clearInterval);
}
