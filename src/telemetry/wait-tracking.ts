import { AsyncLocalStorage } from 'node:async_hooks';
import { context, ROOT_CONTEXT } from '@opentelemetry/api';

/** A request that is told of each time it waits for the database. */
export interface Waiter {
  /** A wait begins; the function ends it, with the error that it ended in. `name`: what is waited for. */
  readonly wait: (name: string) => (error?: unknown) => void;
}

const waiters = new AsyncLocalStorage<Waiter | undefined>();
/** Until a service asks for it nothing is tracked: in Node 20 the storage costs every promise of the process. */
let tracked = false;

/** Runs the work of a request, whose waits are told to `waiter`. */
export function track<T>(waiter: Waiter, work: () => T): T {
  tracked = true;
  return waiters.run(waiter, work);
}

/** Runs work on what is given, for which the present request, if there is one, waits. */
export function trackWait<T, R>(name: string, work: (given: T) => Promise<R>, given: T): Promise<R> {
  const waiter = tracked ? waiters.getStore() : undefined;
  return waiter ? told(waiter, name, work, given) : work(given);
}

async function told<T, R>(
  waiter: Waiter,
  name: string,
  work: (given: T) => Promise<R>,
  given: T,
): Promise<R> {
  const end = waiter.wait(name);
  try {
    const result = await work(given);
    end();
    return result;
  } catch (error) {
    end(error);
    throw error;
  }
}

/** Runs work that belongs to no request in particular: it would else belong to the one that happened to start it. */
export function detached<T>(work: () => T): T {
  return tracked ? waiters.run(undefined, () => context.with(ROOT_CONTEXT, work)) : work();
}

const names = new Map<string, string>();

/** Gives a statement the name under which it is waited for. Only for those that are known at the start. */
export function nameStatement(text: string, name: string): void {
  names.set(text, name);
}

/** The name of a statement, or else its first word; never its text, nor what goes with it. */
export function nameOf(text: string): string {
  return tracked ? (names.get(text) ?? text.split(/\W/, 1)[0] ?? '') : '';
}
