import { isOwned, type Resource } from '../collection/resource.js';
import { badRequest, forbidden } from '../errors.js';
import { includes, type Principal } from '../principal.js';
import { parseUuid } from '../uuid.js';
import type { Event } from './event.js';

/** Which events somebody may have, and asked for. */
export interface Filter {
  /** Null: all. */
  readonly types: readonly string[] | null;
  /** Only those of the owner. */
  readonly ownTypes: readonly string[];
  readonly owner: string | null;
  /** The same for filters that let the same through. */
  readonly key: string;
}

const VERBS = ['created', 'updated', 'deleted'];

/**
 * What `types` asks for (a comma list of `users.created`, `users.*`; null: everything), as far as the principal may
 * read it: a collection that it may read, or with `self` its own record and what is below it. Throws 400 for a type
 * that there is not, 403 for one of a collection that it may not read at all.
 */
export function filterOf(
  { scopes, subject }: Principal,
  asked: string | null,
  resources: readonly Resource[],
): Filter {
  if (asked === null && scopes.has('admin')) return filter(null, [], null);
  const owner = scopes.has('self') ? (parseUuid(subject) ?? null) : null;
  const [types, ownTypes]: [string[], string[]] = [[], []];
  for (const [type, resource] of asked === null ? allTypes(resources) : typesOf(asked, resources)) {
    const scope = `${resource.name}:read`;
    const may = (name: string) => scopes.has('admin') || includes(scopes, name);
    if (may('events:read') && may(scope)) types.push(type);
    else if (owner !== null && (resource.owner || isOwned(resource))) ownTypes.push(type);
    else if (asked !== null) throw forbidden(['events:read', scope]);
  }
  return filter(types, ownTypes, ownTypes.length === 0 ? null : owner);
}

/** Whether it lets an event through. */
export function admits({ types, ownTypes, owner }: Filter, event: Event): boolean {
  if (types === null || types.includes(event.type)) return true;
  return owner !== null && event.owner === owner && ownTypes.includes(event.type);
}

function filter(types: string[] | null, ownTypes: string[], owner: string | null): Filter {
  const key = JSON.stringify([types?.toSorted() ?? null, ownTypes.toSorted(), owner]);
  return { types, ownTypes, owner, key };
}

function allTypes(resources: readonly Resource[]): Map<string, Resource> {
  return new Map(
    resources.flatMap((resource) => VERBS.map((verb) => [`${resource.name}.${verb}`, resource] as const)),
  );
}

function typesOf(asked: string, resources: readonly Resource[]): Map<string, Resource> {
  const all = allTypes(resources);
  const found = new Map<string, Resource>();
  for (const name of asked.split(',').map((text) => text.trim())) {
    const [collection, verb] = name.split('.');
    const named = verb === '*' ? VERBS.map((each) => `${collection}.${each}`) : [name];
    for (const type of named) {
      const resource = all.get(type);
      if (!resource)
        throw badRequest(`\`types\` takes a list of: ${[...all.keys()].join(', ')}, users.* ...`);
      found.set(type, resource);
    }
  }
  return found;
}
