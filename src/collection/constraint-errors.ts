import {
  databaseErrorOf,
  FOREIGN_KEY_VIOLATION,
  RESTRICT_VIOLATION,
  UNIQUE_VIOLATION,
} from '../db/database-errors.js';
import type { Problem } from '../errors/problem.js';
import { duplicate, referenced, unknownReference } from '../errors/record-errors.js';
import { type Resource, referenceName, uniqueName } from './resource.js';

/** The 409 or 422 for a declared constraint that a write violates; undefined for any other error. */
export function constraintProblem(error: unknown, resource: Resource): Problem | undefined {
  const { name, columns, unique, references } = resource;
  const violation = databaseErrorOf(error);
  const column = (field: string) => columns.get(field)!.name;
  if (violation?.code === UNIQUE_VIOLATION) {
    const found = unique.find(({ field }) => uniqueName(name, column(field)) === violation.constraint_name);
    return found && duplicate(found.field, found.code);
  }
  if (violation?.code !== FOREIGN_KEY_VIOLATION && violation?.code !== RESTRICT_VIOLATION) return undefined;
  const found = references.find(
    ({ field }) => referenceName(name, column(field)) === violation.constraint_name,
  );
  // Of another collection: its records refer to this one.
  return found
    ? unknownReference(found.field, found.singular)
    : referenced(resource.singular, violation.table_name ?? '');
}
