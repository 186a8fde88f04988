import type { Collection } from '../list/collection.js';
import { CallersCollection } from './callers-collection.js';
import type { Guarded, Ruled } from './guarded-collection.js';

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
  return {
    resource,
    ruled,
    whole,
    as: ({ principal }) => {
      isLimited ??= ruled !== undefined || resource.references.some(({ to }) => other(to).ruled);
      return isLimited ? new CallersCollection(whole, ruled, other, principal).collection() : whole;
    },
  };
}
