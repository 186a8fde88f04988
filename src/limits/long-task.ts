/** Work on a whole document or body of so many bytes is a long task. */
export const LONG_TASK_BYTES = 65_536;

const waiting: (() => void)[] = [];
let isScheduled = false;

/**
 * Resolves when a long task may begin. One begins in each tick of the event loop, so that short requests are served
 * between two of them. The requests in flight bound the number of waiting tasks.
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
