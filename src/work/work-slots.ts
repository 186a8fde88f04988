/** Bounds the work that runs at a time, and the work that waits. */
export class WorkSlots {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    readonly maxRunning: number,
    readonly maxWaiting: number,
  ) {}

  /** Runs the work when there is a slot. Undefined: too much work waits already. */
  run<T>(work: () => Promise<T>): Promise<T> | undefined {
    if (this.#running < this.maxRunning) {
      this.#running++;
      return this.#finish(work);
    }
    if (this.#waiting.length >= this.maxWaiting) return undefined;
    return new Promise<void>((begin) => this.#waiting.push(begin)).then(() => this.#finish(work));
  }

  async #finish<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      // The next work takes over the slot.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}
