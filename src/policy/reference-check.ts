import type { Principal } from '../auth/principal.js';
import { type Reference, type Resource, referredIds } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import type { Run } from '../db/db.js';
import { forbidden } from '../errors/caller-errors.js';
import type { Problem } from '../errors/problem.js';
import { unknownReference } from '../errors/record-errors.js';
import type { JsonObject } from '../json.js';
import { type Access, among } from '../list/condition.js';
import { parseUuid } from '../uuid.js';
import { knownIds } from './column-mask.js';
import { ownField } from './ownership.js';
import { grantsFor, isUnlimited } from './policy.js';
import { readAccess } from './row-filter.js';
import type { ScopedCollection } from './scoped-collection.js';

/** A caller that writes records of a collection. */
interface Writer {
  readonly resource: Resource;
  /** The collection of a name. */
  readonly other: (name: string) => ScopedCollection;
  readonly principal: Principal;
}

/** A reference to a record of a collection of which the caller may refer to some records alone. */
interface LimitedReference {
  readonly field: string;
  readonly singular: string;
  readonly target: ScopedCollection;
  /** The records to which the caller may refer. */
  readonly access: Access;
  readonly id: string;
  /** The place of the id in an array. */
  readonly index: number | undefined;
}

/**
 * The records to which a caller may refer by a field of a collection: those that it may read. A caller that may write its own records
 * alone refers with `restrict` to its own: otherwise it could prevent others from deleting theirs. Undefined: all.
 */
function referable({ resource, other, principal }: Writer, { field, to, onDelete }: Reference) {
  // The caller does not choose the record that the service names.
  if (resource.set.some((each) => each.field === field)) return undefined;
  const { policy, store } = other(to);
  const readable = readAccess(policy, principal);
  if (readable || store || onDelete !== 'restrict' || writesAll(resource, principal)) return readable;
  return readAccess(policy, principal, ({ where }) => where !== undefined);
}

/** Whether a caller may write more records of a collection than its own. Access rules say for themselves which these are. */
const writesAll = (resource: Resource, principal: Principal): boolean =>
  resource.hasRules || grantsFor(resource, 'update', resource, principal).some(isUnlimited);

/** Whether a caller may refer to some records alone by any field of a collection. */
export const hasLimitedReferences = (writer: Writer): boolean =>
  writer.resource.references.some((reference) => referable(writer, reference) !== undefined);

/**
 * Throws 422 if a write sets a reference to a record that the caller may not read, as for one to no record. `before`: the record.
 * `counts`: to which collections it looks.
 */
export async function requireReferable(
  writer: Writer,
  input: ValidatedInput,
  before: JsonObject,
  run: Run | undefined,
  counts?: (target: ScopedCollection) => boolean,
): Promise<void> {
  const [problem] = await referenceProblems(writer, [input], before, run, counts);
  if (problem) throw problem;
}

/** The problem that `requireReferable` throws for each of some writes. Each collection is looked up once for all. */
export async function referenceProblems(
  writer: Writer,
  inputs: readonly ValidatedInput[],
  before: JsonObject,
  run: Run | undefined,
  counts: (target: ScopedCollection) => boolean = () => true,
): Promise<(Problem | undefined)[]> {
  const limits = writer.resource.references.flatMap((reference) => {
    const target = writer.other(reference.to);
    const access = counts(target) ? referable(writer, reference) : undefined;
    return access ? [{ reference, access, target }] : [];
  });
  const writes = inputs.map((input) =>
    limits.flatMap(({ reference, access, target }): LimitedReference[] => {
      const present = knownIds(input, before, reference);
      const { field, singular } = reference;
      return referredIds(input.fields, reference)
        .filter(({ id }) => !present.has(id))
        .map((each) => ({ ...each, field, singular, access, target }));
    }),
  );
  const named = new Map<Access, { readonly target: ScopedCollection; readonly ids: Set<string> }>();
  for (const { target, access, id } of writes.flat())
    named.set(access, { target, ids: (named.get(access)?.ids ?? new Set<string>()).add(id) });
  const found = new Map<Access, ReadonlySet<string>>();
  for (const [access, { target, ids }] of named)
    found.set(access, await referableIds(target, access, [...ids], writer, run));
  return writes.map((references) => {
    const missing = references.find(({ access, id }) => !found.get(access)!.has(id));
    return missing && problemOf(missing, writer);
  });
}

/** The ids of records to which a caller may refer, of some. */
async function referableIds(
  target: ScopedCollection,
  access: Access,
  ids: readonly string[],
  caller: Pick<Writer, 'principal'>,
  run: Run | undefined,
): Promise<ReadonlySet<string>> {
  if (access.grants.length === 0) return new Set();
  // The caller's own record needs no statement.
  if (ownField(target.resource, 'read') === 'id') return new Set([parseUuid(caller.principal.subject) ?? '']);
  const [id] = ids;
  // Requests of several callers share the statement about one record.
  if (target.store && ids.length === 1)
    return new Set((await target.as(caller).exists(id!, run)) ? [id!] : []);
  return new Set(await target.whole.ids({ ...among(ids), access }, ids.length, run));
}

/** A caller that may read all records learns why it may not refer to one. */
function problemOf(reference: LimitedReference, { resource, principal }: Writer): Problem {
  const { target, field, singular, index } = reference;
  const isReadable = readAccess(target.policy, principal) === undefined;
  return isReadable ? forbidden([resource.scopes.write]) : unknownReference(field, singular, index);
}
