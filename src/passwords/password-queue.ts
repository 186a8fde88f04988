import { availableParallelism } from 'node:os';
import { beyond } from '../errors/service-errors.js';
import { WorkSlots } from '../work/shared-runs.js';

/** Hashes in progress or waiting. */
const MAX_QUEUED = 16;

const slotsOf = (maxRunning: number) => new WorkSlots(maxRunning, MAX_QUEUED - maxRunning);

/** Concurrent hashes. The other cores and threads are left to requests without a password. */
let slots = slotsOf(Math.max(1, Math.min(Math.floor(availableParallelism() / 2), 2)));

/** More hashes at once only wait. */
export const maxConcurrentHashes = (): number => slots.maxRunning;

/** Allows as many concurrent hashes as there are cores, for a process that serves no requests. */
export function hashOnAllCores(): void {
  slots = slotsOf(Math.min(availableParallelism(), MAX_QUEUED));
}

/** Runs a hash when less than the maximum are running. Throws 503 when too many wait. */
export async function queueHash<T>(work: () => Promise<T>): Promise<T> {
  const hash = slots.run(work);
  if (!hash) throw beyond('passwords');
  return hash;
}

/**
 * Passwords in one request, whose hash takes a quarter second of a processor each: operations of a batch, which hold
 * a transaction, and records of a body with many.
 */
export const MAX_PASSWORDS = { batch: 10, records: 1000 };
