import { CoalescedRuns } from '../../work/shared-runs.js';
import { claimJob } from './job-store.js';
import type { JobServices } from './settings.js';

/** Does jobs, one at a time, until it is stopped. */
export class JobLoop {
  readonly #stopping = new AbortController();
  readonly #runs = new CoalescedRuns(() => this.#doNext());
  readonly #timer: NodeJS.Timeout;

  constructor(readonly services: JobServices) {
    this.#timer = setInterval(() => this.wake(), services.jobPollMs).unref();
  }

  /** There is a job. */
  readonly wake = (): void => this.#runs.request();

  /** Leaves the job in progress to another process. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearInterval(this.#timer);
    await this.#runs.stop();
  }

  async #doNext(): Promise<void> {
    try {
      const job = await claimJob(this.services.db.run);
      if (!job) return;
      this.wake();
      // Loaded on demand, so that a start without jobs takes less time and memory.
      const { runJob } = await import('./run-job.js');
      await runJob(this.services, job, this.#stopping.signal);
    } catch (err) {
      this.services.log.warn({ err }, 'jobs wait, since the database is not available');
    }
  }
}
