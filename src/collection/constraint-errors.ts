import { databaseErrorOf, FOREIGN_KEY_VIOLATION, UNIQUE_VIOLATION } from '../db/sqlstate.js';
import { conflict, unknownReference } from '../errors.js';
import type { Problem } from '../problem.js';
import type { Resource } from './resource.js';

/** The 409 or 422 of a constraint that a write breaks and its resource declares; undefined for any other error. */
export function constraintProblem(error: unknown, resource: Resource): Problem | undefined {
  const fault = databaseErrorOf(error);
  if (fault?.code === UNIQUE_VIOLATION) {
    const taken = resource.unique?.[fault.constraint_name ?? ''];
    return taken && conflict(taken.code, taken.field);
  }
  if (fault?.code === FOREIGN_KEY_VIOLATION && resource.parent)
    return unknownReference(resource.parent.field);
  return undefined;
}
