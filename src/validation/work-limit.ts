import { existsSync, readFileSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import { createContext, Script } from 'node:vm';

/** How long a pattern that may backtrack without end can block the process in one validation. */
const MAX_PATTERN_MS = 50;

/** Limits of one validation. */
export interface Limits {
  readonly work: number;
  /** Failures of alternatives that it may hold. */
  readonly failures: number;
  /** Time of the processor for patterns. */
  readonly patternMs?: number | undefined;
}

/** A validation exceeds its limit. */
export class WorkLimitError extends Error {
  constructor(readonly reason: string) {
    super(reason);
  }
}

/** A pattern needs the time limit, in which the validation then starts again. */
class TimeLimitNeeded extends Error {}

const NEEDED = new TimeLimitNeeded();
let remaining = Number.POSITIVE_INFINITY;
let maxFailures: number | undefined;
let isTimed = false;

/** Counts work of the validation that runs. Throws WorkLimitError. */
export function spend(units: number): void {
  remaining -= units;
  if (remaining < 0) throw new WorkLimitError('takes too many comparisons to validate');
}

/** Throws WorkLimitError. */
export function requireFewErrors(count: number): void {
  if (maxFailures !== undefined && count > maxFailures) throw new WorkLimitError('has too many failures');
}

/**
 * Compares a text with a pattern that may take more than linear time: within a limited validation only while its time is
 * limited as well. A timer cannot interrupt a comparison, but the deadline of a script can.
 */
export function testSlowPattern(pattern: RegExp, text: string): boolean {
  if (maxFailures !== undefined && !isTimed) throw NEEDED;
  return pattern.test(text);
}

/** Validates within limits. Throws WorkLimitError. */
export function withinLimits(
  { work, failures, patternMs = MAX_PATTERN_MS }: Limits,
  validate: () => boolean,
): boolean {
  [remaining, maxFailures] = [work, failures];
  try {
    return validate();
  } catch (error) {
    if (error !== NEEDED) throw error;
    isTimed = true;
    return withinTime(patternMs, () => {
      remaining = work;
      return validate();
    });
  } finally {
    [remaining, maxFailures, isTimed] = [Number.POSITIVE_INFINITY, undefined, false];
  }
}

const sandbox: { validate?: () => boolean } = createContext({});
const script = new Script('validate()');

/**
 * The times of the attempts, in quarters of the time of the processor. The first three are made in any case: the thread may collect
 * garbage in one of them. A process that gets too little of the processor has the further ones.
 */
const ATTEMPTS = [1, 1, 1, 2, 4, 8, 8, 8];
const CERTAIN_ATTEMPTS = 3;

/**
 * The deadline of a script is one of the clock. A process that had to wait for the processor, or that collected garbage
 * meanwhile, tries again until most of the time of the processor is used. A comparison that overran its deadline, since it was
 * putting a long text on a stack, would do so again.
 */
function withinTime(maxMs: number, validate: () => boolean): boolean {
  sandbox.validate = validate;
  const share = Math.ceil(maxMs / 4);
  let used = 0;
  try {
    for (const [made, shares] of ATTEMPTS.entries()) {
      if (made >= CERTAIN_ATTEMPTS && used > maxMs / 2) break;
      const [before, heap] = [processorTime(), getHeapStatistics().used_heap_size];
      try {
        return script.runInContext(sandbox, { timeout: shares * share }) as boolean;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      }
      const worked = processorTime() - before;
      const hasCollected = getHeapStatistics().used_heap_size < heap;
      if (worked > shares * share + maxMs / 5 && !hasCollected) break;
      used += worked;
    }
    throw new WorkLimitError('takes too long to compare with a pattern');
  } finally {
    delete sandbox.validate;
  }
}

const { threadCpuUsage } = process as { readonly threadCpuUsage?: () => NodeJS.CpuUsage };
/** Linux's time of the processor that the thread has used, in nanoseconds, and two more numbers. */
const THREAD_TIMES = '/proc/thread-self/schedstat';

/**
 * Time of the processor that this thread has used until now; milliseconds. Before Node 24, Linux knows it. Other systems
 * know the time of the process, which includes that of the threads that compile code and collect garbage.
 */
function processorTime(): number {
  if (!threadCpuUsage && existsSync(THREAD_TIMES))
    return Number.parseInt(readFileSync(THREAD_TIMES, 'utf8'), 10) / 1e6;
  const { user, system } = (threadCpuUsage ?? process.cpuUsage)();
  return (user + system) / 1000;
}
