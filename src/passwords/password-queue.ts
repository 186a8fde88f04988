import { availableParallelism } from 'node:os';
import { unavailable } from '../errors.js';

/** Requests without a password keep cores and threads of their own. */
let atOnce = Math.max(1, Math.min(Math.floor(availableParallelism() / 2), 2));
/** Hashes in progress or waiting; one more is a 503. */
const MAX_QUEUED = 16;

let running = 0;
const waiting: (() => void)[] = [];

/** For a process that serves no requests: as many hashes at once as there are cores. */
export function hashOnAllCores(): void {
  atOnce = Math.min(availableParallelism(), MAX_QUEUED);
}

/** Runs a hash when there is a place for it. Throws unavailable when too many wait. */
export async function queueHash<T>(work: () => Promise<T>): Promise<T> {
  if (running + waiting.length >= MAX_QUEUED) throw unavailable('Too many passwords are being checked.');
  if (running >= atOnce) await new Promise<void>((admit) => waiting.push(admit));
  else running++;
  try {
    return await work();
  } finally {
    // The next one keeps the place.
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}
