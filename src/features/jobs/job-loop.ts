import { claimJob } from './job-store.js';
import type { RunnerServices } from './run-job.js';

/** How often a process looks for jobs of other processes. */
const POLL_MS = 2000;
/** How often it does so after a failure. */
const RETRY_MS = 5000;

/** Does jobs, one at a time, until it is stopped. */
export class JobLoop {
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #pass: Promise<void> | undefined;
  #isWoken = false;

  constructor(readonly services: RunnerServices) {
    this.#schedule(POLL_MS);
  }

  /** There is a job. */
  wake(): void {
    this.#isWoken = true;
    if (!this.#pass) this.#schedule(0);
  }

  /** Leaves the job in progress to another process. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#pass;
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#pass = this.#run().finally(() => {
        this.#pass = undefined;
      });
    }, ms).unref();
  }

  async #run(): Promise<void> {
    this.#isWoken = false;
    let next = POLL_MS;
    try {
      const job = await claimJob(this.services.db.run);
      if (job) {
        // Loaded on demand, so that a start without jobs takes less time and memory.
        const { runJob } = await import('./run-job.js');
        await runJob(this.services, job, this.#stopping.signal);
        next = 0;
      }
    } catch (err) {
      this.services.log.warn({ err }, 'jobs wait, since the database is not available');
      next = RETRY_MS;
    }
    this.#schedule(this.#isWoken ? 0 : next);
  }
}
