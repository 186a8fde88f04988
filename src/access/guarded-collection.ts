import type { Principal } from '../auth/principal.js';
import type { Resource } from '../collection/resource.js';
import type { Collection } from '../list/open-collection.js';
import type { RuledReads } from './ruled-reads.js';
import type { Rules } from './rules.js';

/** The rules of a collection with the statements that find out which grants hold; undefined: its scopes alone decide. */
export interface Ruled {
  readonly rules: Rules;
  readonly reads: RuledReads;
}

/** A collection, of which each caller has a part. */
export interface Guarded {
  readonly resource: Resource;
  readonly policy: Rules;
  /** Undefined: there are no access rules. */
  readonly ruled: Ruled | undefined;
  /** The collection as there is for a caller. */
  as(caller: { readonly principal: Principal }): Collection;
  /** The collection as a whole, for the service itself and its operator. */
  readonly whole: Collection;
}
