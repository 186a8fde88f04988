import QuickLRU from 'quick-lru';
import type { Principal } from '../auth/principal.js';
import type { Resource } from '../collection/resource.js';
import type { Db } from '../db/db.js';
import type { Collection } from '../list/open-collection.js';
import { CallersCollection } from './callers-collection.js';
import { hasLimitedReferences } from './checked-references.js';
import type { Guarded } from './guarded-collection.js';
import { openRuledReads } from './ruled-reads.js';
import { RuledWrites } from './ruled-writes.js';
import { dependsOnTime, rulesOf } from './rules.js';

const MAX_KNOWN = 1000;

/** Opens collections of a database to callers, with the policy of each. Throws 400 for invalid access rules. */
export function guardAll(db: Db, collections: readonly Collection[]): Guarded[] {
  const resources = collections.map(({ resource }) => resource);
  const all: Guarded[] = collections.map((whole) => guard(db, whole, resources, (name) => byName.get(name)!));
  const byName = new Map(all.map((each) => [each.resource.name, each]));
  return all;
}

function guard(
  db: Db,
  whole: Collection,
  resources: readonly Resource[],
  other: (name: string) => Guarded,
): Guarded {
  const { resource } = whole;
  const policy = rulesOf(resource, resources);
  const ruled = resource.isRuled ? { rules: policy, reads: openRuledReads(db, resource, policy) } : undefined;
  let writes: RuledWrites | undefined;
  const ruledWrites = (): RuledWrites | undefined => {
    // On Citus a function writes, whose statements have no such conditions.
    if (db.engine.writesMany) writes ??= ruled && new RuledWrites(ruled, other);
    return writes;
  };
  /** Collections as there are for the last callers: the requests with a credential have one principal while it is cached. */
  const known = new QuickLRU<Principal, Collection>({ maxSize: MAX_KNOWN / 2 });
  const isTimed = dependsOnTime(policy);
  const open = (principal: Principal): Collection => {
    const isLimited = ruled !== undefined || hasLimitedReferences({ resource, other, principal });
    const collection = isLimited
      ? new CallersCollection(whole, ruled, other, principal, ruledWrites).collection()
      : whole;
    if (!isTimed) known.set(principal, collection);
    return collection;
  };
  return {
    resource,
    policy,
    ruled,
    whole,
    as: ({ principal }) => known.get(principal) ?? open(principal),
  };
}
