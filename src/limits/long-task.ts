import type { JsonObject } from '../json.js';

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

/** Parses the document of a record and returns the result of `use`. A long document is parsed in one task and used in the next. */
export function ofDocument<T>(text: string, use: (record: JsonObject) => T): T | Promise<T> {
  return text.length > LONG_TASK_BYTES ? ofLongDocument(text, use) : use(JSON.parse(text) as JsonObject);
}

async function ofLongDocument<T>(text: string, use: (record: JsonObject) => T): Promise<T> {
  await nextLongTask();
  const record = JSON.parse(text) as JsonObject;
  await nextLongTask();
  return use(record);
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
