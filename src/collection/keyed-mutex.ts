import { beyond } from '../errors/service-errors.js';

/** Callers that may wait for one key; one more is a 503. */
const MAX_WAITING = 1000;

/** Runs work one at a time for each key, in order of arrival. Different keys do not wait for each other. */
export function createKeyedMutex(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const queues = new Map<string, (() => void)[]>();

  return async (key, work) => {
    const queue = queues.get(key);
    if (queue && queue.length >= MAX_WAITING) throw beyond('record');
    if (queue) await new Promise<void>((start) => queue.push(start));
    else queues.set(key, []);
    try {
      return await work();
    } finally {
      const next = queues.get(key)?.shift();
      if (next) next();
      else queues.delete(key);
    }
  };
}
