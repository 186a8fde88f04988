import type { Value } from './db/connect.js';
import { unknownReference } from './errors.js';
import type { Json, JsonObject } from './json.js';
import type { Resource } from './resource.js';
import { parseUuid } from './uuid.js';
import { compileCheck } from './validate.js';

/** What a client wants to store, checked: the record's fields, its columns, and a password apart. */
export interface Draft {
  readonly fields: JsonObject;
  readonly columns: readonly Value[];
  readonly password: string | undefined;
  /** The password's hash, when it was made beforehand. */
  readonly passwordHash?: string | undefined;
}

/**
 * Compiles a declaration to what makes a draft of a client's body. That throws the 400 with every failure, or
 * the 422 of a reference that names no record.
 */
export function compileDraft(resource: Resource): (input: Json | undefined) => Draft {
  const check = compileCheck(resource);
  return (input) => {
    const { fields, writeOnly } = check(input);
    if (resource.parent) canonicalReference(fields, resource.parent.field);
    const columns = Object.keys(resource.columns).map((field) => (fields[field] ?? null) as Value);
    return { fields, columns, password: writeOnly.password as string | undefined };
  };
}

function canonicalReference(fields: JsonObject, field: string): void {
  const id = parseUuid(String(fields[field]));
  if (id === undefined) throw unknownReference(field);
  fields[field] = id;
}
