import type { Principal } from '../auth/principal.js';
import type { Resource } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import type { Run } from '../db/db.js';
import { accessDenied } from '../errors/record-errors.js';
import { referenceProblems } from './checked-references.js';
import { fieldsIn, requireSettable } from './fields.js';
import type { Guarded, Ruled } from './guarded-collection.js';
import type { Candidacy } from './ruled-statements.js';
import { isChangedByCreation, type Rules, type Verb } from './rules.js';

/** A caller that creates records of a collection. */
interface Creator {
  readonly resource: Resource;
  readonly ruled: Ruled | undefined;
  readonly other: (name: string) => Guarded;
  readonly principal: Principal;
}

/** Throws 403 unless the grants that hold for a new record permit it, and each field that it sets. */
export function requireCreatable(
  resource: Resource,
  rules: Rules,
  { mask }: Candidacy,
  input: ValidatedInput,
): void {
  if (mask === 0) throw accessDenied('No access rule permits you to create this record.');
  requireSettable(resource, fieldsIn(rules, mask), input, undefined);
}

/** Resolves to the error of each of the first new records, undefined for one that the caller may create, as a Collection does. */
export async function creationErrors(
  creator: Creator,
  inputs: readonly ValidatedInput[],
  run: Run,
): Promise<unknown[]> {
  const { resource, ruled, principal } = creator;
  const decided = isChangedByCreations(creator) ? inputs.slice(0, 1) : inputs;
  const [unreadable, found] = await Promise.all([
    referenceProblems(creator, decided, {}, run),
    ruled?.reads.creations(decided, principal, run),
  ]);
  return decided.map((input, at) => {
    if (unreadable[at] || !ruled || !found) return unreadable[at];
    try {
      requireCreatable(resource, ruled.rules, found[at]!, input);
      return undefined;
    } catch (error) {
      return error;
    }
  });
}

/** Whether the creation of one record can change whether the caller may create another one. */
function isChangedByCreations({ resource, ruled, other }: Creator): boolean {
  const isChanged = (each: Ruled | undefined, verb: Verb) =>
    each !== undefined &&
    isChangedByCreation(
      each.rules.grants.filter(({ verbs }) => verbs.has(verb)),
      resource,
    );
  return (
    isChanged(ruled, 'create') || resource.references.some(({ to }) => isChanged(other(to).ruled, 'read'))
  );
}
