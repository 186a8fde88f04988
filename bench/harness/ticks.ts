import { existsSync, openSync, readSync } from 'node:fs';

const { threadCpuUsage } = process as { readonly threadCpuUsage?: typeof process.cpuUsage };
const SCHEDSTAT = `/proc/self/task/${process.pid}/schedstat`;

/** The CPU time of the main thread in milliseconds, or of the process where no thread's is known. */
const cpuMs: () => number = clockOfThread();

function clockOfThread(): () => number {
  const sum = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1000;
  if (threadCpuUsage) return () => sum(threadCpuUsage());
  if (!existsSync(SCHEDSTAT)) return () => sum(process.cpuUsage());
  const file = openSync(SCHEDSTAT, 'r');
  const bytes = Buffer.alloc(64);
  return () => parseInt(bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0)), 10) / 1e6;
}

/** Shorter ticks may be those of a loop that waits. */
const MIN_MS = 0.3;

/** The work of the event loop until a promise is settled, in milliseconds of this thread. */
export interface Work<T> {
  readonly longest: number;
  /** The sum of all ticks. */
  readonly sum: number;
  readonly value: T;
}

/** The ticks of the event loop until some work is done. */
export async function ticksOf<T>(work: () => Promise<T>): Promise<Work<T>> {
  let [longest, sum] = [0, 0];
  let before = performance.now();
  let used = cpuMs();
  let over = false;
  const tick = (): void => {
    const lasted = Math.min(performance.now() - before, cpuMs() - used);
    longest = Math.max(longest, lasted);
    if (lasted > MIN_MS) sum += lasted;
    before = performance.now();
    used = cpuMs();
    if (!over) setImmediate(tick);
  };
  setImmediate(tick);
  const value = await work();
  over = true;
  return { longest, sum, value };
}
