import { beyond } from '../errors/service-errors.js';

/** Attempts of a write while other requests change, create or delete its record. */
const MAX_ATTEMPTS = 8;

/** The number of the attempt after this one, from 0 on. Throws 503 when there were enough. */
export function nextAttempt(attempt: number, max = MAX_ATTEMPTS): number {
  if (attempt + 1 >= max) throw beyond('record');
  return attempt + 1;
}
