import type { Value } from '../db/db.js';
import { invalid, invalidBody, unknownReference } from '../errors.js';
import { isObject, type Json, type JsonObject, member } from '../json.js';
import { parseUuid } from '../uuid.js';
import { compileCheck } from '../validation.js';
import type { Resource } from './resource.js';

/** A validated body: the record's fields, its columns, and separately a password. */
export interface ValidatedInput {
  readonly fields: JsonObject;
  readonly columns: readonly Value[];
  readonly password: string | undefined;
  /** The current password, which proves that the caller may change it. */
  readonly currentPassword: string | undefined;
  /** The hash of the password: made beforehand, or imported. */
  readonly passwordHash: string | undefined;
}

/** Where a record comes from: a client's request, or an operator's file. */
export type Origin = 'request' | 'import';

/** Compiles the validation of bodies. It throws 400 with every failure, or 422 for a reference to a missing record. */
export function compileInput(
  resource: Resource,
): (input: Json | undefined, origin?: Origin) => ValidatedInput {
  const check = compileCheck(resource);
  return (input, origin = 'request') => {
    if (resource.importOnly && origin === 'request') requireRequestFields(input, resource.importOnly);
    const { fields, writeOnly } = check(input);
    if (resource.parent) canonicalizeReference(fields, resource.parent);
    const columns = Object.keys(resource.columns).map((field) => (fields[field] ?? null) as Value);
    return { fields, columns, ...passwordsIn(writeOnly) };
  };
}

function passwordsIn(writeOnly: JsonObject): Omit<ValidatedInput, 'fields' | 'columns'> {
  const { password, current_password, password_hash } = writeOnly as Record<string, string | undefined>;
  if (password !== undefined && password_hash !== undefined)
    throw invalidBody('must not be given together with password', 'not', '/password_hash');
  return { password, currentPassword: current_password, passwordHash: password_hash };
}

/** Throws 400 for fields that requests may not set. */
function requireRequestFields(input: Json | undefined, importOnly: readonly string[]): void {
  if (!isObject(input)) return;
  const failures = importOnly
    .filter((name) => (member(input, name) ?? null) !== null)
    .map((name) => ({ path: `/${name}`, message: 'can be set by an import only', keyword: 'importOnly' }));
  if (failures.length > 0) throw invalid(failures);
}

function canonicalizeReference(
  fields: JsonObject,
  { field, resource }: NonNullable<Resource['parent']>,
): void {
  const id = parseUuid(String(fields[field]));
  if (id === undefined) throw unknownReference(field, resource.singular);
  fields[field] = id;
}
