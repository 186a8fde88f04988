import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { ExitError } from '../exit-error.js';
import { StartError } from '../process/listen.js';
import type { Log } from '../telemetry/log.js';
import type { Order, Report } from './messages.js';

/** A worker exited while it started, and has printed why. */
class WorkerEnded extends ExitError {
  override readonly exitCode: number;

  constructor(code: number) {
    super('');
    this.exitCode = code || 1;
  }
}

/** The workers of a primary, kept at their number. */
export interface Crew {
  /** Tells all to stop, and resolves when they have ended. Throws when one did not end in order. */
  stop(): Promise<void>;
  /** Ends all at once. */
  kill(): void;
}

export interface CrewOptions {
  readonly count: number;
  /** Variables of the next worker besides those of this process. */
  readonly env: () => Readonly<Record<string, string>>;
  readonly onStart: (worker: Worker) => void;
  readonly onReport: (worker: Worker, report: Report) => void;
  readonly onEnd: (worker: Worker) => void;
  /** How long a worker that was told to stop may take. */
  readonly stopMs: number;
}

/** The first wait before a worker is replaced, and the longest. */
const FIRST_MS = 100;
const LONGEST_MS = 30_000;
/** What ends a worker that lived for so long was not there from its start. */
const STEADY_MS = 60_000;

/** Milliseconds before a worker is replaced, after so many in a row that lived shortly. */
export function backOff(failures: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, failures - 1));
}

/**
 * Starts the workers, the first alone, so that what keeps it from starting is told once; resolves when all answer.
 * From then on one that ends is replaced, however often. Throws ExitError when one ends before.
 */
export async function startCrew(options: CrewOptions, log: Log): Promise<Crew> {
  const living = new Set<Worker>();
  const waits = new Set<NodeJS.Timeout>();
  let state: 'starting' | 'steady' | 'ending' = 'starting';

  /** Fills one place, and fills it again whenever its worker ends. */
  function fill(failures: number): Worker {
    const worker = cluster.fork(options.env());
    const since = performance.now();
    living.add(worker);
    options.onStart(worker);
    worker.on('message', (report: Report) => options.onReport(worker, report));
    // A message that did not reach it: its end tells the rest.
    worker.on('error', () => undefined);
    worker.once('exit', (code: number | null, signal: string | null) => {
      living.delete(worker);
      options.onEnd(worker);
      if (state !== 'steady') return;
      // One that ended in order was asked to, and is not at fault.
      const isShort = code !== 0 && performance.now() - since < STEADY_MS;
      const inRow = isShort ? failures + 1 : 0;
      const waitMs = backOff(inRow);
      log.warn({ worker: worker.process.pid, code, signal, waitMs }, 'a worker ended and is replaced');
      later(waitMs, inRow);
    });
    return worker;
  }

  function later(waitMs: number, failures: number): void {
    const wait = setTimeout(() => {
      waits.delete(wait);
      fill(failures);
    }, waitMs);
    waits.add(wait);
  }

  function end(): Worker[] {
    state = 'ending';
    for (const wait of waits) clearTimeout(wait);
    return [...living];
  }

  const kill = (): void => {
    for (const worker of end()) worker.process.kill('SIGKILL');
  };

  try {
    await answers(fill(0));
    await Promise.all(Array.from({ length: options.count - 1 }, () => answers(fill(0))));
  } catch (error) {
    kill();
    throw error;
  }
  state = 'steady';
  return { stop: () => stopAll(end(), options.stopMs), kill };
}

/** Tells a worker something; one that is gone hears nothing. */
export function tell(worker: Worker | undefined, order: Order): void {
  if (worker?.isConnected()) worker.send(order, () => undefined);
}

/** Resolves when the worker answers requests. */
function answers(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.on('message', ({ report }: Report) => {
      if (report === 'ready') resolve();
    });
    worker.once('exit', (code: number | null, signal: string | null) =>
      reject(
        code === null
          ? new StartError(`a worker was ended by ${signal} while it started`)
          : new WorkerEnded(code),
      ),
    );
  });
}

async function stopAll(workers: readonly Worker[], stopMs: number): Promise<void> {
  const impatient = setTimeout(() => {
    for (const worker of workers) worker.process.kill('SIGKILL');
  }, stopMs);
  const ends = workers.map((worker) => once(worker, 'exit') as Promise<[number | null, string | null]>);
  for (const worker of workers) tell(worker, { order: 'stop' });
  const bad = (await Promise.all(ends)).filter(([code]) => code !== 0);
  clearTimeout(impatient);
  if (bad.length > 0)
    throw new Error(`workers ended with ${bad.map(([code, signal]) => signal ?? code).join(', ')}`);
}
