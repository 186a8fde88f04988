import { callerOf, type Principal } from '../auth/principal.js';
import type { Resource } from '../collection/resource.js';
import type { Request } from '../http/request.js';
import type { Collection } from '../list/open-collection.js';
import type { Others } from '../list/relations.js';
import { type Policy, requireReadable } from './policy.js';
import type { PolicyStore } from './policy-store.js';

/** A collection, of which each caller has a part. */
export interface ScopedCollection {
  readonly resource: Resource;
  readonly policy: Policy;
  readonly store: PolicyStore;
  /** The collection as there is for a caller. */
  as(caller: { readonly principal: Principal }): Collection;
  /** The collection as a whole, for the service itself and its operator. */
  readonly whole: Collection;
}

/** The collections to which relations lead. Its function throws 403 unless the caller may read all records of one. */
export function readable(
  related: readonly ScopedCollection[],
  { principal }: Pick<Request, 'principal'>,
): Others {
  const others = (name: string) => {
    const scoped = named(related, name);
    const { resource } = scoped;
    if (resource.hasRules) return { resource, access: scoped.as({ principal }).access };
    requireReadable(resource, principal);
    return { resource, access: undefined };
  };
  return Object.assign(others, { subject: callerOf(principal) });
}

/** The collection of a name. */
export const named = (related: readonly ScopedCollection[], name: string): ScopedCollection =>
  related.find(({ resource }) => resource.name === name)!;
