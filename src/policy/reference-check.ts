import type { Principal } from '../auth/principal.js';
import { type Reference, type Resource, referredIds } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import type { Run } from '../db/db.js';
import { forbidden } from '../errors/caller-errors.js';
import type { Problem } from '../errors/problem.js';
import { unknownReference } from '../errors/record-errors.js';
import type { JsonObject } from '../json.js';
import { type Access, among } from '../list/condition.js';
import { knownIds } from './column-mask.js';
import { givenReferences, readAccess, referableGrants } from './row-filter.js';
import type { ScopedCollection } from './scoped-collection.js';

/** A caller that writes records of a collection. */
interface Writer {
  readonly resource: Resource;
  /** The collection of a name. */
  readonly other: (name: string) => ScopedCollection;
  readonly principal: Principal;
}

/** A reference to a collection of which the caller may refer to some records alone. */
interface LimitedReference {
  readonly reference: Reference;
  readonly target: ScopedCollection;
  /** The records to which the caller may refer. */
  readonly access: Access;
}

const limitedReferences = ({ resource, other, principal }: Writer): LimitedReference[] =>
  givenReferences(resource).flatMap((reference) => {
    const target = other(reference.to);
    const grants = referableGrants(resource, reference, target.policy, principal);
    const access = readAccess(target.policy, principal, grants);
    return access ? [{ reference, target, access }] : [];
  });

/** Whether a caller may refer to some records alone by any field of a collection. */
export const hasLimitedReferences = (writer: Writer): boolean => limitedReferences(writer).length > 0;

/**
 * The 422 for each of some writes that sets a reference to a record that the caller may not read, as for one to no record. `before`:
 * the record. Each collection is looked up once for all.
 */
export async function referenceProblems(
  writer: Writer,
  inputs: readonly ValidatedInput[],
  before: JsonObject,
  run: Run | undefined,
): Promise<(Problem | undefined)[]> {
  const limits = limitedReferences(writer);
  const idsIn = (input: ValidatedInput, { reference }: LimitedReference) => {
    const present = knownIds(input, before, reference);
    return referredIds(input.fields, reference).filter(({ id }) => !present.has(id));
  };
  const named = new Map<Access, { readonly target: ScopedCollection; readonly ids: Set<string> }>();
  for (const limit of limits) {
    const { ids } = named.get(limit.access) ?? { ids: new Set<string>() };
    for (const { id } of inputs.flatMap((input) => idsIn(input, limit))) ids.add(id);
    if (ids.size > 0) named.set(limit.access, { target: limit.target, ids });
  }
  const found = new Map<Access, ReadonlySet<string>>();
  for (const [access, { target, ids }] of named) {
    const isAny = access.grants.length > 0;
    const all = isAny ? await target.whole.ids({ ...among([...ids]), access }, ids.size, run) : [];
    found.set(access, new Set(all));
  }
  return inputs.map((input) => {
    for (const limit of limits) {
      const missing = idsIn(input, limit).find(({ id }) => !found.get(limit.access)!.has(id));
      if (missing) return problemOf(limit, missing.index, writer);
    }
    return undefined;
  });
}

/** A caller that may read all records learns why it may not refer to one. */
function problemOf(
  { target, reference: { field, singular } }: LimitedReference,
  index: number | undefined,
  { resource, principal }: Writer,
): Problem {
  const isReadable = readAccess(target.policy, principal) === undefined;
  return isReadable ? forbidden([resource.scopes.write]) : unknownReference(field, singular, index);
}
