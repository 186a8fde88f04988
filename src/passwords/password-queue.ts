import { availableParallelism } from 'node:os';
import { unavailable } from '../errors/service-errors.js';

/** Concurrent hashes. The other cores and threads are left to requests without a password. */
let maxConcurrent = Math.max(1, Math.min(Math.floor(availableParallelism() / 2), 2));
/** Hashes in progress or waiting. */
const MAX_QUEUED = 16;

let running = 0;
const waiting: (() => void)[] = [];

/** More hashes at once only wait. */
export const maxConcurrentHashes = (): number => maxConcurrent;

/** Allows as many concurrent hashes as there are cores, for a process that serves no requests. */
export function hashOnAllCores(): void {
  maxConcurrent = Math.min(availableParallelism(), MAX_QUEUED);
}

/** Runs a hash when less than the maximum are running. Throws 503 when too many wait. */
export async function queueHash<T>(work: () => Promise<T>): Promise<T> {
  if (running + waiting.length >= MAX_QUEUED) throw unavailable('Too many passwords are being checked.');
  if (running >= maxConcurrent) await new Promise<void>((admit) => waiting.push(admit));
  else running++;
  try {
    return await work();
  } finally {
    // The next hash takes over, so `running` stays the same.
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}
