import { knownIds } from '../access/fields.js';
import type { Guarded } from '../access/guarded-collection.js';
import { readsAll } from '../access/rules.js';
import { type Reference, referredIds } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import { forbidden } from '../errors/caller-errors.js';
import type { Request } from '../http/request.js';
import type { JsonObject } from '../json.js';
import { isOwn } from './owner-check.js';

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

/**
 * The check of a collection's writes. A caller that may write only its own records refers with `restrict` only to records that
 * are its own as well: otherwise it could prevent others from deleting theirs.
 */
export function checkReferences({ resource }: Guarded, related: readonly Guarded[]): CheckReferences {
  // The caller does not choose what the service sets.
  const isGiven = ({ field }: Reference) => !resource.set.some((each) => each.field === field);
  const targets = resource.references.filter(isGiven).map((reference) => ({
    reference,
    target: related.find((each) => each.resource.name === reference.to)!,
  }));
  return (input, request, present) => {
    const limited = targets.flatMap(({ reference, target }) => {
      const reach = reachOf(request, reference, target);
      return reach === 'all'
        ? []
        : referredIds(input.fields, reference).map(({ id }) => ({ reference, target, id, reach }));
    });
    if (limited.length === 0) return undefined;
    return (async () => {
      let before: JsonObject | undefined;
      for (const { reference, target, id, reach } of limited) {
        if (reach === 'own' && (await isOwn(target, 'read', id, request))) continue;
        before ??= (await present?.()) ?? {};
        if (knownIds(input, before, reference).has(id)) continue;
        const isReadable = readsAll(target.resource, request.principal);
        throw forbidden([isReadable ? resource.scopes.write : target.resource.scopes.read]);
      }
    })();
  };
}

function reachOf({ principal, permission }: Request, { onDelete }: Reference, target: Guarded): Reach {
  // A collection with rules is checked where the record is written.
  if (target.ruled || principal.scopes.has('admin')) return 'all';
  const isBound = permission === 'own' && onDelete === 'restrict';
  if (!isBound && readsAll(target.resource, principal)) return 'all';
  return principal.scopes.has('self') ? 'own' : 'none';
}
