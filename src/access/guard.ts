import QuickLRU from 'quick-lru';
import type { Principal } from '../auth/principal.js';
import type { Collection } from '../list/open-collection.js';
import { CallersCollection } from './callers-collection.js';
import type { Guarded, Ruled } from './guarded-collection.js';
import { type CreateRuled, openRuledCreations } from './ruled-creations.js';
import { dependsOnTime } from './rules.js';

const MAX_KNOWN = 1000;

/** Opens collections to callers, with the access rules of each. Throws 400 for invalid rules. */
export function guardAll(
  collections: readonly Collection[],
  ruledOf: (collection: Collection) => Ruled | undefined,
): Guarded[] {
  const all: Guarded[] = collections.map((whole) =>
    guard(whole, ruledOf(whole), (name) => byName.get(name)!),
  );
  const byName = new Map(all.map((each) => [each.resource.name, each]));
  return all;
}

function guard(whole: Collection, ruled: Ruled | undefined, other: (name: string) => Guarded): Guarded {
  const { resource } = whole;
  let isLimited: boolean | undefined;
  let creations: { readonly create: CreateRuled | undefined } | undefined;
  const createRuled: CreateRuled = async (input, principal) => {
    creations ??= { create: ruled && openRuledCreations(ruled, other) };
    return creations.create?.(input, principal);
  };
  /** Collections as there are for the last callers: the requests with a credential have one principal while it is cached. */
  const known = new QuickLRU<Principal, Collection>({ maxSize: MAX_KNOWN / 2 });
  const isTimed = ruled !== undefined && dependsOnTime(ruled.rules);
  const open = (principal: Principal): Collection => {
    const collection = new CallersCollection(whole, ruled, other, principal, createRuled).collection();
    if (!isTimed) known.set(principal, collection);
    return collection;
  };
  return {
    resource,
    ruled,
    whole,
    as: ({ principal }) => {
      isLimited ??=
        ruled !== undefined ||
        [...resource.references.map(({ to }) => to), ...resource.children].some((name) => other(name).ruled);
      return isLimited ? (known.get(principal) ?? open(principal)) : whole;
    },
  };
}
