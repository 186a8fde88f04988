import type { Guarded } from '../access/guarded-collection.js';
import type { Request } from '../http/request.js';
import type { Others } from '../list/relations.js';
import { permit, readingOf } from '../principal.js';

/** The collections to which relations lead. Its function throws 403 unless the caller may read all records of one. */
export const readable =
  (related: readonly Guarded[], { principal }: Pick<Request, 'principal'>): Others =>
  (name) => {
    const guarded = named(related, name);
    const { resource } = guarded;
    if (guarded.ruled) return { resource, access: guarded.as({ principal }).access };
    permit(principal, readingOf([resource.scopes]), {});
    return { resource, access: undefined };
  };

/** The collection of a name. */
export const named = (related: readonly Guarded[], name: string): Guarded =>
  related.find(({ resource }) => resource.name === name)!;
