import type { Guarded } from '../access/guarded-collection.js';
import { readablePart } from '../access/readable-part.js';
import { readsAll } from '../access/rules.js';
import type { Principal } from '../auth/principal.js';
import type { Resource } from '../collection/resource.js';
import { forbidden } from '../errors/caller-errors.js';
import { invalidQuery } from '../errors/input-errors.js';
import { Problem } from '../errors/problem.js';
import type { Request } from '../http/request.js';
import type { Others } from '../list/relations.js';

/** Throws 403 unless the scopes of a caller permit it to read all records of a collection. */
export function requireReadable(resource: Resource, principal: Principal): void {
  if (!readsAll(resource, principal)) throw forbidden([resource.scopes.read]);
}

/** The collections to which relations lead. Its function throws 403 unless the caller may read all records of one. */
export const readable =
  (related: readonly Guarded[], { principal }: Pick<Request, 'principal'>): Others =>
  (name) => {
    const guarded = named(related, name);
    const { resource } = guarded;
    if (guarded.ruled) return { resource, access: guarded.as({ principal }).access };
    requireReadable(resource, principal);
    return { resource, access: undefined };
  };

/**
 * Reads parameters of a request about a collection. An error about them is that of the collection as the caller may know it, so that its
 * message names no other fields and relations. Throws 400, 403.
 */
export function readAs<T>(
  { resource }: Pick<Guarded, 'resource'>,
  related: readonly Guarded[],
  request: Pick<Request, 'principal'>,
  read: (resource: Resource, others: Others) => T,
): T {
  const others = readable(related, request);
  try {
    return read(resource, others);
  } catch (error) {
    if (!(error instanceof Problem && error.code === invalidQuery.type.code)) throw error;
    const resources = related.map((each) => each.resource);
    const known = (each: Resource) => readablePart(each, resources, request.principal);
    read(known(resource), (name) => {
      const other = others(name);
      return { ...other, resource: known(other.resource) };
    });
    throw error;
  }
}

/** The collection of a name. */
export const named = (related: readonly Guarded[], name: string): Guarded =>
  related.find(({ resource }) => resource.name === name)!;
