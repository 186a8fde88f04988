import {
  databaseErrorOf,
  FOREIGN_KEY_VIOLATION,
  RESTRICT_VIOLATION,
  UNIQUE_VIOLATION,
} from '../db/database-errors.js';
import { type ObjectName, referenceName, uniqueName } from '../db/object-names.js';
import type { Problem } from '../errors/problem.js';
import { duplicate, referenced, unknownReference } from '../errors/record-errors.js';
import type { Resource } from './resource.js';

/** The 409 for a unique value, or the 422 for a reference, that creating or changing a record violates; undefined: neither. */
export function writeProblem(error: unknown, resource: Resource): Problem | undefined {
  const { name, columns, unique, references } = resource;
  const violation = databaseErrorOf(error);
  const isViolated = ({ all }: ObjectName) => all.includes(violation?.constraint_name ?? '');
  const column = (field: string) => columns.get(field)!.name;
  // The constraints of a collection that another service has renamed are named for its new name.
  const isAbout = (fields: readonly string[]) => violatedColumns(violation) === fields.map(column).join();
  if (violation?.code === UNIQUE_VIOLATION) {
    const isNamed = (fields: readonly string[]) => isViolated(uniqueName(name, fields.map(column)));
    const found =
      unique.find(({ fields }) => isNamed(fields) && isAbout(fields)) ??
      unique.find(({ fields }) => isNamed(fields)) ??
      unique.find(({ fields }) => isAbout(fields));
    return found && duplicate(found.fields, found.code);
  }
  if (violation?.code !== FOREIGN_KEY_VIOLATION) return undefined;
  const found =
    references.find(({ field }) => isViolated(referenceName(name, column(field)))) ??
    references.find(({ field }) => isAbout([field]));
  return found && unknownReference(found.field, found.singular);
}

/** The columns of a violated constraint, which the detail of the error names in any language: `(email, name)=(a@b.c, Ann)`. */
const violatedColumns = (violation: { readonly detail?: string } | undefined): string | undefined =>
  /\(([\w$]+(?: COLLATE "C")?(?:, [\w$]+(?: COLLATE "C")?)*)\)=\(/
    .exec(violation?.detail ?? '')?.[1]
    ?.replaceAll(' COLLATE "C"', '')
    .replaceAll(', ', ',');

/** The 409 for a record that cannot be deleted because others refer to it, of its own collection as well; undefined: another error. */
export function removalProblem(error: unknown, { singular }: Resource): Problem | undefined {
  const violation = databaseErrorOf(error);
  const isReferenced = violation?.code === FOREIGN_KEY_VIOLATION || violation?.code === RESTRICT_VIOLATION;
  return isReferenced ? referenced(singular, violation.table_name ?? '') : undefined;
}
