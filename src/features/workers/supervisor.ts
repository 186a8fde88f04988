import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { ExitError } from '../../errors/exit-error.js';
import { StartError } from '../../process/listen.js';
import type { Log } from '../../telemetry/log.js';
import { singleFlight } from '../../work/shared-runs.js';
import { Channel } from './channel.js';

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
  /** Variables of the workers besides those of this process. */
  readonly env: Readonly<Record<string, string>>;
  /** How long a worker may take to stop. */
  readonly stopMs: number;
}

/** How long a worker may take to give its metrics; one that is busy for longer is left out. */
export const RESPONSE_MS = 1000;
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
  /** The URL of the workers; empty until the first one is ready. */
  url = '';
  readonly #workers = new Map<Worker, Channel>();
  readonly #restarts = new Set<NodeJS.Timeout>();
  #state: 'starting' | 'steady' | 'ending' = 'starting';
  /** The metrics of every worker that responds in time. Calls meanwhile share them. */
  readonly #collect = singleFlight(async () => {
    const replies = [...this.#workers.values()].map((channel) => channel.ask('metrics', RESPONSE_MS));
    return (await Promise.all(replies)).filter((metrics) => metrics !== undefined);
  });

  constructor(
    readonly options: SupervisorOptions,
    readonly log: Log,
    public maintenance: boolean,
    /** The port of the next worker. With 0, Node has workers share the port that the first one found. */
    public port: number,
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
    this.#sendAll('stop');
    const failed = (await Promise.all(exits)).filter(([code]) => code !== 0);
    clearTimeout(timer);
    if (failed.length > 0)
      throw new Error(`workers ended with ${failed.map(([code, signal]) => signal ?? code).join(', ')}`);
  }

  /** Has all workers read their certificates again. */
  reload(): void {
    this.#sendAll('reload');
  }

  toggleMaintenance(): boolean {
    this.maintenance = !this.maintenance;
    this.#sendAll('maintenance', this.maintenance);
    return this.maintenance;
  }

  /** Kills all workers. */
  kill(): void {
    killAll(this.#end());
  }

  #end(): Worker[] {
    this.#state = 'ending';
    for (const timer of this.#restarts) clearTimeout(timer);
    return [...this.#workers.keys()];
  }

  #sendAll(...message: Parameters<Channel['send']>): void {
    for (const channel of this.#workers.values()) channel.send(...message);
  }

  /** Throws StartError. */
  #fork(failures: number): Worker {
    const { port, maintenance, options } = this;
    const env = { ...options.env, PORT: String(port), MAINTENANCE: maintenance ? 'on' : 'off' };
    const worker = forkWorker(env);
    const startedAt = performance.now();
    const channel = new Channel(worker, {
      ready: (url: string) => this.#onReady(worker, channel, url),
      collect: this.#collect,
      leave: () => true,
    });
    this.#workers.set(worker, channel);
    const hasEnded = () => this.#workers.delete(worker);
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

  #onReady(worker: Worker, channel: Channel, url: string): void {
    if (this.url !== '' && url !== this.url) {
      // No worker listened any more when this one did, so that it found another port. The next ones need the number.
      this.port = Number(new URL(this.url).port);
      worker.process.kill('SIGKILL');
      return;
    }
    this.url = url;
    // The maintenance may have changed while the worker started.
    channel.send('maintenance', this.maintenance);
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

/** Resolves when the worker accepts requests. */
function accepts(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.on('message', ({ name }: { readonly name?: string }) => {
      if (name === 'ready') resolve();
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
