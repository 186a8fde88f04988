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

/** How long a part of long work may last before other requests are served; milliseconds. */
const MAX_PART_MS = 8;

/** Work that takes longer than a tick should. It is done in parts, each of which is a long task. */
export class LongWork {
  readonly #now: () => number;
  #since: number;

  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#since = now();
  }

  /** Ends the present part if it has lasted long. */
  async pause(): Promise<void> {
    if (this.#now() - this.#since < MAX_PART_MS) return;
    await nextLongTask();
    this.#since = this.#now();
  }
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
