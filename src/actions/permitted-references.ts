import { knownIds } from '../access/fields.js';
import type { Guarded } from '../access/guarded-collection.js';
import { readsAll } from '../access/rules.js';
import { type Reference, referredIds } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import { forbidden } from '../errors/caller-errors.js';
import type { Problem } from '../errors/problem.js';
import type { Request } from '../http/request.js';
import type { JsonObject } from '../json.js';
import { ownIds } from './owner-check.js';

/**
 * Rejects with 403 if a write refers to a record that the caller may not read, whether the record exists or not. `present`: the
 * record before the write, whose references may stay. Undefined: the caller may read all that the write refers to.
 */
export type CheckReferences = (
  input: ValidatedInput,
  request: Request,
  present?: () => Promise<JsonObject | undefined> | JsonObject | undefined,
) => Promise<void> | undefined;

/** The records of a collection to which the caller may refer. */
type Reach = 'none' | 'own' | 'all';

/** A reference to a collection of which the caller may refer to its own records at most. */
interface LimitedReference {
  readonly reference: Reference;
  readonly target: Guarded;
  readonly id: string;
  readonly reach: Exclude<Reach, 'all'>;
}

/**
 * The check of a collection's writes. A caller that may write only its own records refers with `restrict` only to records that
 * are its own as well: otherwise it could prevent others from deleting theirs.
 */
export function checkReferences(guarded: Guarded, related: readonly Guarded[]): CheckReferences {
  const limitedBy = limitedReferences(guarded, related);
  return (input, request, present) => {
    const limited = limitedBy(input, request);
    if (limited.length === 0) return undefined;
    return (async () => {
      const isOwnReference = await ownReferences(limited, request);
      const others = limited.filter((each) => !isOwnReference(each));
      if (others.length === 0) return;
      const before = (await present?.()) ?? {};
      const denied = others.find(({ reference, id }) => !knownIds(input, before, reference).has(id));
      if (denied) throw problemOf(denied, guarded, request);
    })();
  };
}

/** As `checkReferences`, for the creation of many records. Resolves to the 403 of each, undefined for a record that may be created. */
export function checkManyReferences(
  guarded: Guarded,
  related: readonly Guarded[],
): (inputs: readonly ValidatedInput[], request: Request) => Promise<(Problem | undefined)[]> {
  const limitedBy = limitedReferences(guarded, related);
  return async (inputs, request) => {
    const limited = inputs.map((input) => limitedBy(input, request));
    const isOwnReference = await ownReferences(limited.flat(), request);
    return limited.map((references) => {
      const denied = references.find((each) => !isOwnReference(each));
      return denied && problemOf(denied, guarded, request);
    });
  };
}

function limitedReferences({ resource }: Guarded, related: readonly Guarded[]) {
  // The caller does not choose what the service sets.
  const isGiven = ({ field }: Reference) => !resource.set.some((each) => each.field === field);
  const targets = resource.references.filter(isGiven).map((reference) => ({
    reference,
    target: related.find((each) => each.resource.name === reference.to)!,
  }));
  return (input: ValidatedInput, request: Request): LimitedReference[] =>
    targets.flatMap(({ reference, target }) => {
      const reach = reachOf(request, reference, target);
      return reach === 'all'
        ? []
        : referredIds(input.fields, reference).map(({ id }) => ({ reference, target, id, reach }));
    });
}

/** Finds out which references are to own records of the caller, by one statement for each collection. */
async function ownReferences(
  limited: readonly LimitedReference[],
  request: Request,
): Promise<(reference: LimitedReference) => boolean> {
  const named = new Map<Guarded, Set<string>>();
  for (const { target, id, reach } of limited)
    if (reach === 'own') named.set(target, (named.get(target) ?? new Set<string>()).add(id));
  const own = new Map<Guarded, ReadonlySet<string>>();
  for (const [target, ids] of named) own.set(target, await ownIds(target, 'read', [...ids], request));
  return ({ target, id, reach }) => reach === 'own' && own.get(target)!.has(id);
}

function problemOf({ target }: LimitedReference, { resource }: Guarded, { principal }: Request): Problem {
  const isReadable = readsAll(target.resource, principal);
  return forbidden([isReadable ? resource.scopes.write : target.resource.scopes.read]);
}

function reachOf({ principal, permission }: Request, { onDelete }: Reference, target: Guarded): Reach {
  // A collection with rules is checked where the record is written.
  if (target.ruled || principal.scopes.has('admin')) return 'all';
  const isBound = permission === 'own' && onDelete === 'restrict';
  if (!isBound && readsAll(target.resource, principal)) return 'all';
  return principal.scopes.has('self') ? 'own' : 'none';
}
