import { type Principal, STRANGER } from '../auth/principal.js';
import { EVENT_VERBS, type Resource } from '../collection/resource.js';
import { forbidden } from '../errors/caller-errors.js';
import { badRequest } from '../errors/request-errors.js';
import type { Access, Condition } from '../list/condition.js';
import { grantsFor, isPublic, isUnlimited, mayRead, policyOf } from '../policy/policy.js';
import { readAccess } from '../policy/row-filter.js';
import { parseUuid } from '../uuid.js';
import type { Event } from './event.js';

/** Which events a reader requested and may read. */
export interface Filter {
  /** Types of which all events match. */
  readonly types: readonly string[];
  /** Types of which only the owner's events match. */
  readonly ownTypes: readonly string[];
  readonly owner: string | null;
  /** Conditions on the records of a collection, whose types alone are requested. Undefined: all its changes match. */
  readonly live: Live | undefined;
  /** The collections with access rules whose events the reader may read in part, by their names. */
  readonly policies: ReadonlyMap<string, EventPolicy>;
  /** Equal for equal filters. */
  readonly key: string;
}

/** The access rules for the events of a collection. */
export interface EventPolicy {
  readonly resource: Resource;
  /** The grants of the reader as of now: the values of its claims and the time are in them. */
  readonly access: () => Access;
  /** Whether the reader sees who made a change: it has a credential, and the collection does not hide that. */
  readonly showsActors: boolean;
}

/** Whether a caller sees who changed the records of a collection that it may read. */
export const showsActors = ({ hidesActors }: Resource, principal: Principal): boolean =>
  !hidesActors && principal !== STRANGER;

/** Whether the records of events are compared with conditions, beyond what the types say. */
export const isCompared = ({ live, policies }: Filter): boolean => live !== undefined || policies.size > 0;

/** Conditions that the record of a change must fulfil before or after it. */
export interface Live {
  readonly resource: Resource;
  /** The conditions that all hold. */
  readonly conditions: readonly Condition[];
}

/**
 * The filter for `types` (a comma-separated list like `users.created, users.*`; null: all), as far as the principal may
 * read: collections within its scopes, and with `self` its own record and records that belong to it. Throws 400 for an
 * unknown type, 403 for a type of a collection that it may not read at all.
 */
export function filterOf(
  principal: Principal,
  requested: string | null,
  resources: readonly Resource[],
): Filter {
  const { scopes, subject } = principal;
  const mayFollow = scopes.has('admin') || scopes.has('events:read');
  /** With `self` alone, a reader follows what access rules permit, and its own records. */
  const grantsOf = (resource: Resource) =>
    grantsFor(resource, 'read', resource, principal).filter(
      ({ where }) => mayFollow || (scopes.has('self') && (resource.hasRules || where)),
    );
  const owner = parseUuid(subject) ?? null;
  const [types, ownTypes]: [string[], string[]] = [[], []];
  const policies = new Map<string, EventPolicy>();
  for (const [type, resource] of requested === null
    ? allTypes(resources)
    : typesOf(requested, resources, principal)) {
    const grants = grantsOf(resource);
    if (grants.some(isUnlimited)) types.push(type);
    else if (grants.length > 0 && resource.hasRules) {
      types.push(type);
      policies.set(resource.name, {
        resource,
        access: () => readAccess(policyOf(resource, resources), principal)!,
        showsActors: showsActors(resource, principal),
      });
    } else if (grants.length > 0 && owner !== null) ownTypes.push(type);
    else if (requested !== null)
      throw forbidden(['events:read', ...(isPublic(resource) ? [] : [resource.scopes.read])]);
  }
  const own = ownTypes.length === 0 ? null : owner;
  const key = [types.toSorted(), ownTypes.toSorted(), own];
  // Readers with other values of their grants read other events.
  const values = policies.size === 0 ? [] : [subject, [...scopes].sort(), principal.claims ?? {}];
  return { types, ownTypes, owner: own, live: undefined, policies, key: JSON.stringify([...key, ...values]) };
}

/** Whether an event matches. */
export function admitsEvent({ types, ownTypes, owner }: Filter, event: Event): boolean {
  if (types.includes(event.type)) return true;
  return owner !== null && event.owner === owner && ownTypes.includes(event.type);
}

/** A filter with conditions, which `read` reads for the one collection of its types. Throws 400 if there are several. */
export function withConditions(
  filter: Filter,
  resources: readonly Resource[],
  read: (resource: Resource) => readonly Condition[],
): Filter {
  const types = [...filter.types, ...filter.ownTypes];
  const names = new Set(types.map((type) => type.slice(0, type.lastIndexOf('.'))));
  const resource = resources.find(({ name }) => names.has(name));
  if (!resource || names.size > 1)
    throw badRequest('`filter` is about the records of one collection: `types` must name the types of one.');
  const conditions = read(resource);
  const key = `${filter.key} ${resource.name} ${textOf(conditions)}`;
  return { ...filter, live: { resource, conditions }, key };
}

/** Conditions as text, with the access of the caller to the records of relations: readers share what they may all read. */
const textOf = (conditions: readonly Condition[]): string =>
  JSON.stringify(conditions, (name, value) => (name === 'other' ? (value as Resource).name : value));

function allTypes(resources: readonly Resource[]): Map<string, Resource> {
  return new Map(
    resources.flatMap((resource) =>
      EVENT_VERBS.map((verb) => [`${resource.name}.${verb}`, resource] as const),
    ),
  );
}

function typesOf(
  requested: string,
  resources: readonly Resource[],
  principal: Principal,
): Map<string, Resource> {
  const all = allTypes(resources);
  const readable = [...all].flatMap(([type, resource]) => (mayRead(resource, principal) ? [type] : []));
  const found = new Map<string, Resource>();
  for (const name of requested.split(',').map((text) => text.trim())) {
    const [collection, verb] = name.split('.');
    const named = verb === '*' ? EVENT_VERBS.map((each) => `${collection}.${each}`) : [name];
    for (const type of named) {
      const resource = all.get(type);
      if (!resource)
        throw badRequest(
          `\`types\` must be a list of: ${readable.join(', ') || 'none'}. \`<collection>.*\` means all of a collection.`,
        );
      found.set(type, resource);
    }
  }
  return found;
}
