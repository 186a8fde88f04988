import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { ExitError } from '../../errors/exit-error.js';
import { StartError } from '../../process/listen.js';
import type { Log } from '../../telemetry/log.js';
import type { WorkerOrder, WorkerReport } from './messages.js';

/** A worker exited while it started, and has printed why. */
class WorkerExited extends ExitError {
  override readonly exitCode: number;

  constructor(code: number) {
    super('');
    this.exitCode = code || 1;
  }
}

export interface SupervisorOptions {
  readonly count: number;
  /** Variables of the next worker besides those of this process. */
  readonly env: () => Readonly<Record<string, string>>;
  readonly onStart: (worker: Worker) => void;
  readonly onReport: (worker: Worker, report: WorkerReport) => void;
  readonly onEnd: (worker: Worker) => void;
  /** How long a worker may take to stop. */
  readonly stopMs: number;
}

/** The first wait before a worker is replaced, and the longest. */
const MIN_WAIT_MS = 100;
const MAX_WAIT_MS = 30_000;
/** A worker that lived for so long did not fail at its start. */
const STEADY_MS = 60_000;

/** Milliseconds before a worker is replaced, after so many short-lived ones in a row. */
export function backOff(failures: number): number {
  return Math.min(MAX_WAIT_MS, MIN_WAIT_MS * 2 ** Math.max(0, failures - 1));
}

/** Runs a constant number of workers. */
export class Supervisor {
  readonly #workers = new Set<Worker>();
  readonly #restarts = new Set<NodeJS.Timeout>();
  #state: 'starting' | 'steady' | 'ending' = 'starting';

  constructor(
    readonly options: SupervisorOptions,
    readonly log: Log,
  ) {}

  /**
   * Starts the workers, the first one alone, so that an error at the start is printed once. Resolves when all accept
   * requests; from then on a worker that ends is replaced. Throws ExitError when one ends before.
   */
  async start(): Promise<void> {
    try {
      await accepts(this.#fork(0));
      await Promise.all(Array.from({ length: this.options.count - 1 }, () => accepts(this.#fork(0))));
    } catch (error) {
      this.kill();
      throw error;
    }
    this.#state = 'steady';
  }

  /** Orders all workers to stop, and resolves when they have ended. Throws when one exited with an error. */
  async stop(): Promise<void> {
    const workers = this.#end();
    const timer = setTimeout(() => killAll(workers), this.options.stopMs);
    const exits = workers.map((worker) => once(worker, 'exit') as Promise<[number | null, string | null]>);
    for (const worker of workers) sendTo(worker, { order: 'stop' });
    const failed = (await Promise.all(exits)).filter(([code]) => code !== 0);
    clearTimeout(timer);
    if (failed.length > 0)
      throw new Error(`workers ended with ${failed.map(([code, signal]) => signal ?? code).join(', ')}`);
  }

  /** Kills all workers. */
  kill(): void {
    killAll(this.#end());
  }

  #end(): Worker[] {
    this.#state = 'ending';
    for (const timer of this.#restarts) clearTimeout(timer);
    return [...this.#workers];
  }

  /** Throws StartError. */
  #fork(failures: number): Worker {
    const worker = forkWorker(this.options.env());
    const startedAt = performance.now();
    this.#workers.add(worker);
    this.options.onStart(worker);
    worker.on('message', (report: WorkerReport) => this.options.onReport(worker, report));
    const hasEnded = () => {
      this.#workers.delete(worker);
      this.options.onEnd(worker);
    };
    worker.on('error', (error: Error) => {
      // A message could not be sent; `exit` follows.
      if (isStarted(worker)) return;
      delete cluster.workers?.[worker.id];
      hasEnded();
      this.#retry(failures, error);
    });
    worker.once('exit', (code: number | null, signal: string | null) => {
      hasEnded();
      // Code 0: the worker was stopped from outside.
      const isFailure = code !== 0 && performance.now() - startedAt < STEADY_MS;
      const failuresInRow = isFailure ? failures + 1 : 0;
      const facts = { worker: worker.process.pid, code, signal };
      this.#forkLater(failuresInRow, facts, 'a worker ended and is replaced');
    });
    return worker;
  }

  /** After the system has started no process. */
  #retry(failures: number, { message }: Error): void {
    this.#forkLater(failures + 1, { error: message }, 'a worker cannot be started');
  }

  #forkLater(failures: number, facts: object, event: string): void {
    if (this.#state !== 'steady') return;
    const waitMs = backOff(failures);
    this.log.warn({ ...facts, waitMs }, event);
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      try {
        this.#fork(failures);
      } catch (error) {
        this.#retry(failures, error as Error);
      }
    }, waitMs);
    this.#restarts.add(timer);
  }
}

/** Throws StartError where Node throws: without memory for a process. Without anything else, `error` follows. */
function forkWorker(env: Readonly<Record<string, string>>): Worker {
  try {
    // The supervisor listens as well.
    return cluster.fork(env).on('error', () => undefined);
  } catch (error) {
    throw notStarted(error as Error);
  }
}

const notStarted = ({ message }: Error) => new StartError(`a worker cannot be started: ${message}`);

/** Whether the system has started the process of a worker. If not, `error` is its only event. */
const isStarted = ({ process }: Worker): boolean => process.pid !== undefined;

/** Sends an order to a worker; does nothing when it has ended. */
export function sendTo(worker: Worker | undefined, order: WorkerOrder): void {
  if (worker?.isConnected()) worker.send(order, () => undefined);
}

/** Resolves when the worker accepts requests. */
function accepts(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.on('message', ({ report }: WorkerReport) => {
      if (report === 'ready') resolve();
    });
    worker.once('error', (error: Error) => {
      if (!isStarted(worker)) reject(notStarted(error));
    });
    worker.once('exit', (code: number | null, signal: string | null) =>
      reject(
        code === null
          ? new StartError(`a worker was ended by ${signal} while it started`)
          : new WorkerExited(code),
      ),
    );
  });
}

function killAll(workers: readonly Worker[]): void {
  for (const worker of workers) worker.process.kill('SIGKILL');
}
