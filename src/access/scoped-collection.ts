import type { Principal } from '../auth/principal.js';
import type { Resource } from '../collection/resource.js';
import type { Collection } from '../list/open-collection.js';
import type { PolicyStore } from './policy-store.js';
import type { Rules } from './rules.js';

/** A collection, of which each caller has a part. */
export interface Guarded {
  readonly resource: Resource;
  readonly policy: Rules;
  /** Undefined: there are no access rules, and the scopes of a caller decide before a record is read. */
  readonly store: PolicyStore | undefined;
  /** The collection as there is for a caller. */
  as(caller: { readonly principal: Principal }): Collection;
  /** The collection as a whole, for the service itself and its operator. */
  readonly whole: Collection;
}
