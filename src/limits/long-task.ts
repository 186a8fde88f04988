/** Bytes of a document or a body from which on what is done with it as a whole is a long task. */
export const LONG_TASK_BYTES = 65_536;

const waiting: (() => void)[] = [];
let isScheduled = false;

/**
 * Resolves when a long task may begin: one begins in each tick of the event loop, so that short requests are served
 * between two of them. What waits is bounded by the requests in flight.
 */
export function nextLongTask(): Promise<void> {
  return new Promise((begin) => {
    waiting.push(begin);
    schedule();
  });
}

function schedule(): void {
  if (isScheduled || waiting.length === 0) return;
  isScheduled = true;
  setImmediate(beginNext);
}

function beginNext(): void {
  isScheduled = false;
  const begin = waiting.shift();
  schedule();
  begin?.();
}
