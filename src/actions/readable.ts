import { requireReadable } from '../access/rules.js';
import type { Guarded } from '../access/scoped-collection.js';
import type { Request } from '../http/request.js';
import type { Others } from '../list/relations.js';

/** The collections to which relations lead. Its function throws 403 unless the caller may read all records of one. */
export const readable =
  (related: readonly Guarded[], { principal }: Pick<Request, 'principal'>): Others =>
  (name) => {
    const guarded = named(related, name);
    const { resource } = guarded;
    if (guarded.store) return { resource, access: guarded.as({ principal }).access };
    requireReadable(resource, principal);
    return { resource, access: undefined };
  };

/** The collection of a name. */
export const named = (related: readonly Guarded[], name: string): Guarded =>
  related.find(({ resource }) => resource.name === name)!;
