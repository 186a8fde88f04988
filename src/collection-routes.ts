import type { BatchLimits } from './actions/batch-results.js';
import { forAllMatching } from './actions/bulk.js';
import type { WriteSettings } from './actions/conditional-write.js';
import { create, createNested } from './actions/create.js';
import { get } from './actions/get.js';
import { withIdempotency } from './actions/idempotency.js';
import { type FeedPosition, list, listNested } from './actions/list.js';
import { restrictCreationToOwn, restrictToOwnRecord } from './actions/own-records.js';
import { patch } from './actions/patch.js';
import { checkReferences } from './actions/permitted-references.js';
import type { ProtectedResource } from './actions/protected-resource.js';
import { queryBy } from './actions/query.js';
import { remove } from './actions/remove.js';
import { replace } from './actions/replace.js';
import { type Collection, onReplica, openCollection } from './collection/collection.js';
import type { Resource } from './collection/resource.js';
import type { Db } from './db/db.js';
import type { Feed } from './events/feed.js';
import { asJsonServer } from './features/json-server/list.js';
import { asJsonServerCreation, asJsonServerRecord } from './features/json-server/records.js';
import { referenceTo, type Source } from './features/json-server/relations.js';
import type { Replica } from './features/replicas/replica.js';
import { fromReplicas } from './features/replicas/replica-fallback.js';
import type { Replicas } from './features/replicas/replicas.js';
import { type Action, type Route, requiring } from './http/router.js';
import type { Requirement, ScopeRequirement } from './principal.js';

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
  readonly settings: ApiSettings & ProtectedResource & { readonly publicPrefix: string };
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

/** The records that lists with COMPAT=json-server read: those of a collection, and of all that it may be related to. */
const sourceOf = ({ db, collections }: Reader, resource: Resource): Source => ({
  db,
  collection: ofName(collections, resource),
  related: collections,
});

const ofName = (collections: readonly Collection[], { name }: Resource): Collection =>
  collections.find(({ resource }) => resource.name === name)!;

/** Opens all collections. */
export function openCollections(db: Db, resources: readonly Resource[], tombstones: boolean): Collection[] {
  return resources.map((resource) => openCollection(db, resource, tombstones));
}

export function idempotent({ db, collections, settings }: Api, action: Action): Action {
  return withIdempotency(db, settings.idempotencyTtlSeconds, collections, action);
}

/** The routes of the collections with their own form of lists, whatever COMPAT says. */
export function nativeRoutes(api: Api): Route[] {
  const native = { ...api, settings: { ...api.settings, isJsonServer: false } };
  return api.collections.flatMap((collection) => collectionRoutes(native, collection));
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
  const removal: ScopeRequirement = { ...write, deletesAccount: resource.owner };
  const ofRecord = (action: Action) => (isChild ? restrictToOwnRecord(db, collection, action) : action);
  const getting = reading(api, (each) => {
    const opened = ofName(each.collections, resource);
    const action = get(opened, each.collections);
    const native = isChild ? restrictToOwnRecord(each.db, opened, action) : action;
    return settings.isJsonServer ? asJsonServerRecord(native, sourceOf(each, resource)) : native;
  });
  const references = checkReferences(collection, api.collections);
  const creating = create(collection, references);
  const creation = isChild ? restrictCreationToOwn(collection, creating) : creating;
  const patching = patch(collection, settings, references);
  const readAll = requirementOf(resource.scopes.read, isChild ? ownership : undefined);
  const source = (each: Reader) => sourceOf(each, resource);
  const native = ({ collections, feed }: Reader) => list(ofName(collections, resource), collections, feed);
  const listing = reading(api, (each) =>
    settings.isJsonServer ? asJsonServer(native(each), source(each)) : native(each),
  );
  const compatible = (action: Action) =>
    settings.isJsonServer ? asJsonServerRecord(action, source(api)) : action;
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
        POST: requiring(
          creator,
          idempotent(api, settings.isJsonServer ? asJsonServerCreation(creation, source(api)) : creation),
        ),
      },
    },
    {
      path: `/${name}/:id`,
      actions: {
        GET: requiring(read, getting),
        PUT: requiring(write, compatible(ofRecord(replace(collection, settings, references)))),
        PATCH: requiring(write, idempotent(api, compatible(ofRecord(patching)))),
        DELETE: requiring(removal, compatible(ofRecord(remove(collection, settings)))),
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
  const { isJsonServer } = api.settings;
  const native = ({ collections, feed }: Reader) => {
    const [child, owner] = [ofName(collections, collection.resource), ofName(collections, parent.resource)];
    return listNested(child, owner, collections, feed);
  };
  const field = referenceTo(collection.resource, parent.resource);
  const listing = reading(api, (each) =>
    isJsonServer ? asJsonServer(native(each), sourceOf(each, collection.resource), field) : native(each),
  );
  const nested = createNested(collection, checkReferences(collection, api.collections));
  const creation = isJsonServer
    ? asJsonServerCreation(nested, sourceOf(api, collection.resource), parent.resource)
    : nested;
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
