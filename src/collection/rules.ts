import { createHash } from 'node:crypto';
import type { Resource } from './resource.js';

/** To be raised when a rule comes to mean something else without being declared anew: in validate.ts, or in email.ts. */
const MEANING = 1;

/** What a field of this collection has to be, as a number: the same as long as the declaration says the same; never 0. */
export function rulesOf({ schema, normalize, parent }: Resource): number {
  const declared = JSON.stringify([MEANING, schema, normalize, parent]);
  return createHash('sha256').update(declared).digest().readInt32BE() || 1;
}
