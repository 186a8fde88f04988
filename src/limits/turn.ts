import type { JsonObject } from '../json.js';

/** Work on a document or body of so many bytes begins in a tick of its own. */
export const LONG_TASK_BYTES = 65_536;

/** How long loops may work in one tick of the event loop before other requests are served; milliseconds. */
const MAX_PART_MS = 8;

const waiting: (() => void)[] = [];
let isScheduled = false;
/** When the first loop of the present tick called `turn`; undefined: none has. */
let began: number | undefined;
let now = () => performance.now();

/**
 * Every loop over what a request brings calls this function before each step, and waits for the promise that it returns.
 * The function returns no promise while the present tick may go on: the loops of all requests share the milliseconds of a tick.
 */
export function turn(): Promise<void> | undefined {
  const time = now();
  if (began === undefined) {
    began = time;
    schedule();
    return undefined;
  }
  return time - began < MAX_PART_MS ? undefined : nextTurn();
}

/**
 * Resolves in a later tick. One waiting part of work begins in each tick, so that short requests are served between two
 * of them. The requests in flight bound the number of waiting parts.
 */
export function nextTurn(): Promise<void> {
  return new Promise((begin) => {
    waiting.push(begin);
    schedule();
  });
}

/** Does work whose steps end where it yields. */
export async function inTurns<T>(work: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    await turn();
  }
}

/** Replaces the clock for a test, which then counts steps instead of milliseconds. Returns a function that undoes it. */
export function replaceTurnClock(clock: () => number): () => void {
  const before = now;
  now = clock;
  return () => {
    now = before;
  };
}

/** Parses the document of a record and returns the result of `use`. A long document is parsed in a tick of its own. */
export function ofDocument<T>(text: string, use: (record: JsonObject) => T): T | Promise<T> {
  const parse = () => use(JSON.parse(text) as JsonObject);
  return text.length > LONG_TASK_BYTES ? nextTurn().then(parse) : parse();
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(endTick);
}

function endTick(): void {
  isScheduled = false;
  const begin = waiting.shift();
  began = begin && now();
  if (begin) schedule();
  begin?.();
}
