import { databaseErrorOf, FOREIGN_KEY_VIOLATION, UNIQUE_VIOLATION } from '../db/sqlstate.js';
import { duplicate, unknownReference } from '../errors.js';
import type { Problem } from '../problem.js';
import type { Resource } from './resource.js';

/** The 409 or 422 for a declared constraint that a write violates; undefined for any other error. */
export function constraintProblem(error: unknown, { unique, parent }: Resource): Problem | undefined {
  const violation = databaseErrorOf(error);
  if (violation?.code === UNIQUE_VIOLATION) {
    const constraint = unique[violation.constraint_name ?? ''];
    return constraint && duplicate(constraint.field, constraint.code);
  }
  if (violation?.code === FOREIGN_KEY_VIOLATION && parent)
    return unknownReference(parent.field, parent.resource.singular);
  return undefined;
}
