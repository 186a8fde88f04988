import { singleFlight } from '../../work/shared-runs.js';
import type { WorkerOrder } from './messages.js';

/** A worker, as far as metrics go. */
export interface MetricsSource {
  readonly id: number;
  isConnected(): boolean;
}

/** How long a worker may take to respond; one that is busy for longer is left out. */
export const RESPONSE_MS = 1000;

/** One request to all workers. */
interface Round {
  readonly request: number;
  readonly waiting: Set<number>;
  readonly metrics: unknown[];
  readonly end: () => void;
}

/** Collects the metrics of all workers, in one round at a time. */
export class MetricsCollector {
  #requests = 0;
  #round: Round | undefined;
  /** The metrics of every worker that responds in time. Calls during a round share it. */
  readonly collect = singleFlight(() => this.#startRound());

  constructor(
    readonly workers: () => readonly MetricsSource[],
    readonly send: (worker: MetricsSource, order: WorkerOrder) => void,
    readonly responseMs = RESPONSE_MS,
  ) {}

  /** Accepts a worker's response to the current round. */
  receive(worker: MetricsSource, request: number, metrics: unknown): void {
    if (this.#round?.request !== request || !this.#round.waiting.delete(worker.id)) return;
    this.#round.metrics.push(metrics);
    if (this.#round.waiting.size === 0) this.#round.end();
  }

  /** The current round no longer waits for a worker that has ended. */
  forget(worker: MetricsSource): void {
    if (this.#round?.waiting.delete(worker.id) && this.#round.waiting.size === 0) this.#round.end();
  }

  #startRound(): Promise<readonly unknown[]> {
    const workers = this.workers().filter((worker) => worker.isConnected());
    if (workers.length === 0) return Promise.resolve([]);
    return new Promise((resolve) => {
      const request = ++this.#requests;
      const metrics: unknown[] = [];
      const end = (): void => {
        clearTimeout(timer);
        this.#round = undefined;
        resolve(metrics);
      };
      const timer = setTimeout(end, this.responseMs);
      this.#round = { request, waiting: new Set(workers.map(({ id }) => id)), metrics, end };
      for (const worker of workers) this.send(worker, { order: 'metrics', request });
    });
  }
}
