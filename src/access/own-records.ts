import type { ScopeRequirement } from '../auth/principal.js';
import type { Resource } from '../collection/resource.js';
import { unescapeName } from '../list/query-names.js';
import { isAbout, type Verb } from './rules.js';

/**
 * The field that a grant of a collection without access rules compares with the caller: `id` of callers, a reference of other
 * records. Undefined: no grant permits callers something with their own records. The conditions of access rules are compared by
 * statements of the database.
 */
export function ownField({ isRuled, grants }: Resource, verb: Verb): string | undefined {
  const grant = isRuled ? undefined : grants.find((each) => each.where !== undefined && isAbout(each, verb));
  const [name] = Object.keys((grant?.where ?? {}) as object);
  return name === undefined ? undefined : unescapeName(name);
}

/** The ownership that is sufficient for a caller with the scope `self`, by the grants of a collection. */
export function ownershipOf(resource: Resource, verb: Verb): ScopeRequirement['ownership'] {
  if (resource.isRuled) return 'rules';
  const field = ownField(resource, verb);
  if (field === undefined) return undefined;
  return field === 'id' ? 'path' : 'record';
}
