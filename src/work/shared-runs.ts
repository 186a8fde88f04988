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
