import type { BatchLimits } from '../actions/batch-results.js';
import { forAllMatching } from '../actions/bulk.js';
import type { WriteSettings } from '../actions/conditional-write.js';
import { create, createNested } from '../actions/create.js';
import { get } from '../actions/get.js';
import { withIdempotency } from '../actions/idempotency.js';
import { type FeedPosition, list, listNested } from '../actions/list.js';
import { restrictCreationToOwn, restrictToOwnRecord } from '../actions/owner-check.js';
import { patch } from '../actions/patch.js';
import { checkReferences } from '../actions/permitted-references.js';
import type { ProtectedResource } from '../actions/protected-resource.js';
import { queryBy } from '../actions/query.js';
import { remove } from '../actions/remove.js';
import { replace } from '../actions/replace.js';
import type { Resource } from '../collection/resource.js';
import type { Db } from '../db/db.js';
import type { Feed } from '../events/feed.js';
import { type Action, type Route, requiring } from '../http/router.js';
import { type Collection, openCollection } from '../list/collection.js';
import type { Requirement, ScopeRequirement } from '../principal.js';

/** What the operator decides about the API. */
export interface ApiSettings extends WriteSettings, BatchLimits {
  /** Whether deleted ids are remembered: 410. */
  readonly tombstones: boolean;
  /** Seconds for which a response is stored for a repeat with the same Idempotency-Key. */
  readonly idempotencyTtlSeconds: number;
}

/** What the routes of collections need. `feed` is undefined with EVENTS=off. */
export interface Api {
  readonly db: Db;
  readonly collections: readonly Collection[];
  readonly settings: ApiSettings & ProtectedResource & { readonly publicPrefix: string };
  readonly feed: Feed | undefined;
  /** Undefined: the primary reads. */
  readonly read: Read | undefined;
  /** Undefined: requests and responses are those of this service. */
  readonly adapter: Adapter | undefined;
}

/** An action that only reads, made by `make` for the primary and for other servers that have the records as well. */
export type Read = (primary: Reader, make: (reader: Reader) => Action) => Action;

/** Gives the actions of collections the requests and responses of another program. `parent`: the path begins with its record. */
export interface Adapter {
  list(action: Action, reader: Reader, resource: Resource, parent?: Resource): Action;
  record(action: Action, reader: Reader, resource: Resource): Action;
  creation(action: Action, reader: Reader, resource: Resource, parent?: Resource): Action;
}

const NATIVE: Adapter = {
  list: (action) => action,
  record: (action) => action,
  creation: (action) => action,
};

/** The parts of a database that reading actions need. */
export interface Reader {
  readonly db: Db;
  readonly collections: readonly Collection[];
  readonly feed: FeedPosition | undefined;
}

const reading = (api: Api, make: (reader: Reader) => Action): Action => api.read?.(api, make) ?? make(api);

const ofName = (collections: readonly Collection[], { name }: Resource): Collection =>
  collections.find(({ resource }) => resource.name === name)!;

/** Opens all collections. */
export function openCollections(db: Db, resources: readonly Resource[], tombstones: boolean): Collection[] {
  return resources.map((resource) => openCollection(db, resource, tombstones));
}

export function idempotent({ db, collections, settings }: Api, action: Action): Action {
  return withIdempotency(db, settings.idempotencyTtlSeconds, collections, action);
}

/** The routes of the collections with the requests and responses of this service. */
export function nativeRoutes(api: Api): Route[] {
  const native = { ...api, adapter: undefined };
  return api.collections.flatMap((collection) => collectionRoutes(native, collection));
}

/** The two paths of a collection. */
export function collectionRoutes(api: Api, collection: Collection): Route[] {
  const { db, settings, adapter = NATIVE } = api;
  const { resource } = collection;
  const { name } = resource;
  const isChild = resource.isOwned;
  const ownership: ScopeRequirement['ownership'] = resource.owner ? 'path' : isChild ? 'record' : undefined;
  const read = requirementOf(resource.scopes.read, ownership);
  const write: ScopeRequirement = { scopes: [resource.scopes.write], ownership };
  const removal: ScopeRequirement = { ...write, deletesAccount: resource.owner };
  const ofRecord = (action: Action) => (isChild ? restrictToOwnRecord(db, collection, action) : action);
  const getting = reading(api, (each) => {
    const opened = ofName(each.collections, resource);
    const action = get(opened, each.collections);
    const native = isChild ? restrictToOwnRecord(each.db, opened, action) : action;
    return adapter.record(native, each, resource);
  });
  const references = checkReferences(collection, api.collections);
  const creating = create(collection, references);
  const creation = isChild ? restrictCreationToOwn(collection, creating) : creating;
  const patching = patch(collection, settings, references);
  const readAll = requirementOf(resource.scopes.read, isChild ? ownership : undefined);
  const native = ({ collections, feed }: Reader) => list(ofName(collections, resource), collections, feed);
  const listing = reading(api, (each) => adapter.list(native(each), each, resource));
  const adapted = (action: Action) => adapter.record(action, api, resource);
  const writeAll: ScopeRequirement = { scopes: [resource.scopes.write] };
  const creator = { scopes: write.scopes, ownership: isChild ? ownership : undefined };
  return [
    {
      path: `/${name}`,
      actions: {
        GET: requiring(readAll, listing),
        QUERY: requiring(readAll, queryBy(reading(api, native), resource)),
        PATCH: requiring(writeAll, idempotent(api, forAllMatching(db, collection, patching))),
        DELETE: requiring(writeAll, forAllMatching(db, collection, remove(collection, settings))),
        POST: requiring(creator, idempotent(api, adapter.creation(creation, api, resource))),
      },
    },
    {
      path: `/${name}/:id`,
      actions: {
        GET: requiring(read, getting),
        PUT: requiring(write, adapted(ofRecord(replace(collection, settings, references)))),
        PATCH: requiring(write, idempotent(api, adapted(ofRecord(patching)))),
        DELETE: requiring(removal, adapted(ofRecord(remove(collection, settings)))),
      },
    },
  ];
}

/** What reading requires; without a scope, nothing. */
function requirementOf(scope: string | undefined, ownership?: ScopeRequirement['ownership']): Requirement {
  return scope === undefined ? 'nothing' : { scopes: [scope], ownership };
}

/** The path of a collection under its parent. */
export function nestedRoutes(api: Api, collection: Collection): Route[] {
  const { name } = collection.resource;
  const parentName = collection.resource.parent?.to;
  const parent = api.collections.find(({ resource }) => resource.name === parentName);
  if (!parent) return [];
  const ownership = parent.resource.owner ? 'path' : undefined;
  const { read, write } = collection.resource.scopes;
  const ofParent = parent.resource.scopes.read;
  const { adapter = NATIVE } = api;
  const native = ({ collections, feed }: Reader) => {
    const [child, owner] = [ofName(collections, collection.resource), ofName(collections, parent.resource)];
    return listNested(child, owner, collections, feed);
  };
  const listing = reading(api, (each) =>
    adapter.list(native(each), each, collection.resource, parent.resource),
  );
  const nested = createNested(collection, checkReferences(collection, api.collections));
  const creation = adapter.creation(nested, api, collection.resource, parent.resource);
  const requirement = (...scopes: (string | undefined)[]): Requirement => {
    const required = scopes.filter((scope) => scope !== undefined);
    return required.length === 0 ? 'nothing' : { scopes: required, ownership };
  };
  return [
    {
      path: `/${parentName}/:id/${name}`,
      actions: {
        GET: requiring(requirement(read, ofParent), listing),
        QUERY: requiring(requirement(read, ofParent), queryBy(reading(api, native), collection.resource)),
        POST: requiring(requirement(write, ofParent), idempotent(api, creation)),
      },
    },
  ];
}
