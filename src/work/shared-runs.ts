/** Returns a function whose concurrent calls share one run of `work`, and its outcome. */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let inFlight: Promise<T> | undefined;
  return () => {
    inFlight ??= work().finally(() => {
      inFlight = undefined;
    });
    return inFlight;
  };
}

/** Runs work once at a time. Requests during a run lead to one more run after it. */
export class CoalescedRuns {
  #isRequested = false;
  #isStopped = false;
  #running: Promise<void> | undefined;

  /** `work` must not reject. */
  constructor(readonly work: () => Promise<void>) {}

  request(): void {
    this.#isRequested = true;
    if (!this.#isStopped) this.#running ??= this.#run();
  }

  /** Prevents further runs. Resolves when the present one is done. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      while (this.#isRequested && !this.#isStopped) {
        this.#isRequested = false;
        await this.work();
      }
    } finally {
      this.#running = undefined;
    }
  }
}

/** Bounds the work that runs at a time, and the work that waits. */
export class WorkSlots {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    readonly maxRunning: number,
    readonly maxWaiting: number,
  ) {}

  get isIdle(): boolean {
    return this.#running === 0;
  }

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
