import type { DocumentSettings } from './actions/api-documents.js';
import type { BatchLimits } from './actions/batch-results.js';
import { forAllMatching } from './actions/bulk.js';
import type { WriteSettings } from './actions/conditional-write.js';
import { create, createNested } from './actions/create.js';
import { get } from './actions/get.js';
import { withIdempotency } from './actions/idempotency.js';
import { asJsonServer } from './actions/json-server.js';
import { type FeedPosition, list, listNested } from './actions/list.js';
import { restrictCreationToOwn, restrictToOwnRecord } from './actions/own-records.js';
import { patch } from './actions/patch.js';
import type { ProtectedResource } from './actions/protected-resource.js';
import { queryBy } from './actions/query.js';
import { remove } from './actions/remove.js';
import { replace } from './actions/replace.js';
import { fromReplicas } from './actions/replica-fallback.js';
import { type Collection, onReplica, openCollection } from './collection/collection.js';
import type { Resource } from './collection/resource.js';
import type { Db } from './db/db.js';
import type { Feed } from './events/feed.js';
import { type Action, type Route, requiring } from './http/router.js';
import type { Requirement, ScopeRequirement } from './principal.js';
import type { Replica } from './replicas/replica.js';
import type { Replicas } from './replicas/replicas.js';

/** What the operator decides about the API. */
export interface ApiSettings extends WriteSettings, BatchLimits {
  /** Whether deleted ids are remembered: 410. */
  readonly tombstones: boolean;
  /** Lists have the parameters and responses of json-server. */
  readonly isJsonServer: boolean;
  /** Seconds for which a response is stored for a repeat with the same Idempotency-Key. */
  readonly idempotencyTtlSeconds: number;
}

/** What the routes of collections need. `feed` is undefined with EVENTS=off. */
export interface Api {
  readonly db: Db;
  readonly collections: readonly Collection[];
  readonly settings: ApiSettings &
    ProtectedResource &
    Omit<DocumentSettings, 'resources' | 'hasEvents'> & { readonly publicPrefix: string };
  readonly feed: Feed | undefined;
  /** Undefined: the primary reads. */
  readonly replicas: OpenReplicas | undefined;
}

/** The replicas, and what reading actions need of each. */
export interface OpenReplicas {
  readonly replicas: Replicas;
  readonly readers: ReadonlyMap<Replica, Reader>;
}

/** What reading actions need, of the primary or of a replica. */
interface Reader {
  readonly db: Db;
  readonly collections: readonly Collection[];
  readonly feed: FeedPosition | undefined;
}

/** An action that only reads. `make` makes it for the primary and for each replica. */
function reading(api: Api, make: (reader: Reader) => Action): Action {
  if (!api.replicas) return make(api);
  const { replicas, readers } = api.replicas;
  const actions = [...readers].map(([replica, reader]) => [replica, make(reader)] as const);
  return fromReplicas(replicas, make(api), new Map(actions));
}

/** Opens the collections of each replica. */
export function openReaders(
  replicas: Replicas,
  collections: readonly Collection[],
  feed: Feed | undefined,
  tombstones: boolean,
): OpenReplicas {
  const readers = replicas.all.map((replica): [Replica, Reader] => {
    const { db } = replica;
    const cursor = () => feed?.cursorAt(replica.replayed ?? 0);
    const opened = collections.map((collection) => onReplica(collection, db, tombstones));
    return [replica, { db, collections: opened, feed: { cursor } }];
  });
  return { replicas, readers: new Map(readers) };
}

const ofName = (collections: readonly Collection[], { name }: Resource): Collection =>
  collections.find(({ resource }) => resource.name === name)!;

/** Opens all collections. */
export function openCollections(db: Db, resources: readonly Resource[], tombstones: boolean): Collection[] {
  return resources.map((resource) => openCollection(db, resource, tombstones));
}

export function idempotent({ db, collections, settings }: Api, action: Action): Action {
  return withIdempotency(db, settings.idempotencyTtlSeconds, collections, action);
}

/** The two paths of a collection. */
export function collectionRoutes(api: Api, collection: Collection): Route[] {
  const { db, settings } = api;
  const { resource } = collection;
  const { name } = resource;
  const isChild = resource.isOwned;
  const ownership: ScopeRequirement['ownership'] = resource.owner ? 'path' : isChild ? 'record' : undefined;
  const read = requirementOf(resource.scopes.read, ownership);
  const write: ScopeRequirement = { scopes: [resource.scopes.write], ownership };
  const ofRecord = (action: Action) => (isChild ? restrictToOwnRecord(db, collection, action) : action);
  const getting = reading(api, ({ db, collections }) => {
    const opened = ofName(collections, resource);
    return isChild ? restrictToOwnRecord(db, opened, get(opened)) : get(opened);
  });
  const creation = isChild ? restrictCreationToOwn(collection, create(collection)) : create(collection);
  const readAll = requirementOf(resource.scopes.read, isChild ? ownership : undefined);
  const compatible = settings.isJsonServer ? asJsonServer : (action: Action) => action;
  const listing = reading(api, ({ collections, feed }) =>
    compatible(list(ofName(collections, resource), collections, feed)),
  );
  const writeAll: ScopeRequirement = { scopes: [resource.scopes.write] };
  const creator = { scopes: write.scopes, ownership: isChild ? ownership : undefined };
  return [
    {
      path: `/${name}`,
      actions: {
        GET: requiring(readAll, listing),
        QUERY: requiring(readAll, queryBy(listing)),
        PATCH: requiring(
          writeAll,
          idempotent(api, forAllMatching(db, collection, patch(collection, settings))),
        ),
        DELETE: requiring(writeAll, forAllMatching(db, collection, remove(collection, settings))),
        POST: requiring(creator, idempotent(api, creation)),
      },
    },
    {
      path: `/${name}/:id`,
      actions: {
        GET: requiring(read, getting),
        PUT: requiring(write, ofRecord(replace(collection, settings))),
        PATCH: requiring(write, idempotent(api, ofRecord(patch(collection, settings)))),
        DELETE: requiring(write, ofRecord(remove(collection, settings))),
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
  const compatible = api.settings.isJsonServer ? asJsonServer : (action: Action) => action;
  const listing = reading(api, ({ collections, feed }) => {
    const [child, owner] = [ofName(collections, collection.resource), ofName(collections, parent.resource)];
    return compatible(listNested(child, owner, collections, feed));
  });
  const requirement = (...scopes: (string | undefined)[]): Requirement => {
    const required = scopes.filter((scope) => scope !== undefined);
    return required.length === 0 ? 'nothing' : { scopes: required, ownership };
  };
  return [
    {
      path: `/${parentName}/:id/${name}`,
      actions: {
        GET: requiring(requirement(read, ofParent), listing),
        QUERY: requiring(requirement(read, ofParent), queryBy(listing)),
        POST: requiring(requirement(write, ofParent), idempotent(api, createNested(collection))),
      },
    },
  ];
}
