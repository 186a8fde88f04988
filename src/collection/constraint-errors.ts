import {
  databaseErrorOf,
  FOREIGN_KEY_VIOLATION,
  RESTRICT_VIOLATION,
  UNIQUE_VIOLATION,
} from '../db/database-errors.js';
import { collectionOf, type ObjectName, referenceName, uniqueName } from '../db/object-names.js';
import type { Problem } from '../errors/problem.js';
import { duplicate, referenced, unknownReference } from '../errors/record-errors.js';
import { type JsonObject, member } from '../json.js';
import type { Reference, Resource } from './resource.js';

/** The 409 for a unique value, or the 422 for a reference, that creating or changing a record violates; undefined: neither. */
export function writeProblem(error: unknown, resource: Resource, record?: JsonObject): Problem | undefined {
  const { name, columns, unique, references } = resource;
  const violation = databaseErrorOf(error);
  const isViolated = ({ all }: ObjectName) => all.includes(violation?.constraint_name ?? '');
  const column = (field: string) => columns.get(field)!.name;
  // The constraints of a collection that another service has renamed are named for its new name.
  const isAbout = (fields: readonly string[]) => violatedColumns(violation) === fields.map(column).join();
  if (violation?.code === UNIQUE_VIOLATION) {
    const isNamed = (fields: readonly string[]) => isViolated(uniqueName(name, fields.map(column)));
    const found =
      unique.find(({ fields }) => isAbout(fields)) ?? unique.find(({ fields }) => isNamed(fields));
    return found && duplicate(found.fields, found.code);
  }
  if (violation?.code !== FOREIGN_KEY_VIOLATION) return undefined;
  const found =
    references.find(({ field }) => isViolated(referenceName(name, column(field)))) ??
    references.find(({ field }) => isAbout([field]));
  return found && unknownReference(found.field, found.singular, violatedIndex(found, violation, record));
}

/** The place in an array of the id that the detail of the error names; undefined: it is unknown, or the field is no array. */
function violatedIndex(
  { field, isList }: Reference,
  violation: { readonly detail?: string },
  record: JsonObject = {},
): number | undefined {
  const ids = isList ? member(record, field) : undefined;
  const id = /\)=\(([0-9a-f-]{36})\)/.exec(violation.detail ?? '')?.[1];
  const index = Array.isArray(ids) ? ids.indexOf(id ?? '') : -1;
  return index < 0 ? undefined : index;
}

/** The columns of a violated constraint, which the detail of the error names in any language: `(email, name)=(a@b.c, Ann)`. */
const violatedColumns = (violation: { readonly detail?: string } | undefined): string | undefined =>
  /\(([\w$]+(?: COLLATE "C")?(?:, [\w$]+(?: COLLATE "C")?)*)\)=\(/
    .exec(violation?.detail ?? '')?.[1]
    ?.replaceAll(' COLLATE "C"', '')
    .replaceAll(', ', ',');

/** The 409 for a record that cannot be deleted because others refer to it, of its own collection as well; undefined: another error. */
export function removalProblem(error: unknown, { singular, referredBy }: Resource): Problem | undefined {
  const violation = databaseErrorOf(error);
  const isReferenced = violation?.code === FOREIGN_KEY_VIOLATION || violation?.code === RESTRICT_VIOLATION;
  if (!isReferenced) return undefined;
  // The links of an array have a table of their own.
  const by = referredBy.find(({ links }) => links !== undefined && links === violation.table_name);
  return referenced(singular, by?.collection ?? collectionOf(violation.table_name ?? ''));
}
