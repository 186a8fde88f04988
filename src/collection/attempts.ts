import { setTimeout } from 'node:timers/promises';
import { beyond } from '../errors/service-errors.js';

/** Attempts of a write while others change, create or delete its record. */
const MAX_ATTEMPTS = 24;
/** Attempts without a pause before the next one. */
const IMMEDIATE_ATTEMPTS = 3;

/** Repeats a step until it has a result; undefined: others have changed a record meanwhile. Rejects with 503 after too many attempts. */
export async function inAttempts<T>(step: (attempt: number) => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    // A random pause, so that the same two processes do not collide again.
    if (attempt >= IMMEDIATE_ATTEMPTS) await setTimeout(Math.random() * 2 * attempt);
    const result = await step(attempt);
    if (result !== undefined) return result;
  }
  throw beyond('record');
}
