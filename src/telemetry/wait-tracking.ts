import { AsyncLocalStorage } from 'node:async_hooks';
import { context, ROOT_CONTEXT } from '@opentelemetry/api';

/** A request whose waits for the database are measured. */
export interface Waiter {
  /** Begins a wait for the named statement; the returned function ends it, with the error if it failed. */
  readonly wait: (name: string) => (error?: unknown) => void;
}

const waiters = new AsyncLocalStorage<Waiter | undefined>();
/** False until the first `track`: in Node 20, an AsyncLocalStorage in use slows every promise of the process. */
let tracked = false;

/** Runs the work of a request and reports its waits to `waiter`. */
export function track<T>(waiter: Waiter, work: () => T): T {
  tracked = true;
  return waiters.run(waiter, work);
}

/** Runs work and reports the wait to the current request, if any. */
export function trackWait<T, R>(name: string, work: (input: T) => Promise<R>, input: T): Promise<R> {
  const waiter = tracked ? waiters.getStore() : undefined;
  return waiter ? reported(waiter, name, work, input) : work(input);
}

/** Runs a statement and reports the wait to the current request, if any. */
export function trackStatement<T, R>(text: string, work: (input: T) => Promise<R>, input: T): Promise<R> {
  return tracked ? trackWait(nameOf(text), work, input) : work(input);
}

async function reported<T, R>(
  waiter: Waiter,
  name: string,
  work: (input: T) => Promise<R>,
  input: T,
): Promise<R> {
  const end = waiter.wait(name);
  try {
    const result = await work(input);
    end();
    return result;
  } catch (error) {
    end(error);
    throw error;
  }
}

/** Runs work that serves several requests, detached from the one that happens to start it. */
export function detached<T, R>(work: (input: T) => R, input: T): R {
  return tracked ? waiters.run(undefined, () => context.with(ROOT_CONTEXT, () => work(input))) : work(input);
}

const names = new Map<string, string>();

/** Names a statement for `nameOf`. Only for statements that are known at the start, since no name is removed. */
export function nameStatement(text: string, name: string): void {
  names.set(text, name);
}

/** The name of a statement, or else its first word; never its text or arguments. */
export function nameOf(text: string): string {
  return tracked ? (names.get(text) ?? text.split(/\W/, 1)[0] ?? '') : '';
}
