import { BATCH_PATH, batch } from './actions/batch.js';
import type { BatchLimits } from './actions/batch-results.js';
import type { WriteSettings } from './actions/conditional-write.js';
import { create, createNested } from './actions/create.js';
import { listEvents } from './actions/events.js';
import { get } from './actions/get.js';
import { withIdempotency } from './actions/idempotency.js';
import { list, listNested } from './actions/list.js';
import { restrictCreationToOwn, restrictToOwnRecord } from './actions/own-records.js';
import { patch } from './actions/patch.js';
import { METADATA_PATH, type ProtectedResource, protectedResource } from './actions/protected-resource.js';
import { remove } from './actions/remove.js';
import { replace } from './actions/replace.js';
import { whoami } from './actions/whoami.js';
import { type Collection, openCollection } from './collection/collection.js';
import { isOwned, type Resource, withChildren } from './collection/resource.js';
import type { Db } from './db/db.js';
import type { Feed } from './events/feed.js';
import { type Action, createRouter, type Route, type Router, requiring } from './http/router.js';
import type { ScopeRequirement } from './principal.js';

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
  readonly settings: ApiSettings & ProtectedResource;
  readonly feed: Feed | undefined;
}

/** Opens all collections. Throws if one does not fit the schema. */
export function openCollections(
  db: Db,
  resources: readonly Resource[],
  tombstones: boolean,
): Promise<Collection[]> {
  return Promise.all(withChildren(resources).map((resource) => openCollection(db, resource, tombstones)));
}

export interface ApiRoutes {
  readonly routes: readonly Route[];
  readonly router: Router;
}

/** Routes an API: its own paths, `others`, and a batch whose operations may be requests to all of them. */
export function routeApi(api: Api, others: readonly Route[]): ApiRoutes {
  const routes = [...apiRoutes(api), ...others];
  const batches = batch(api.db, api.collections, createRouter(routes), api.settings);
  const batchRoute: Route = {
    path: BATCH_PATH,
    actions: { POST: requiring('credential', idempotent(api, batches)) },
  };
  const all = [...routes, batchRoute];
  return { routes: all, router: createRouter(all) };
}

/** The routes for clients. Each path is available below /api/v1 and at the root. */
function apiRoutes(api: Api): Route[] {
  const { collections, settings, feed } = api;
  const routes: Route[] = [
    ...collections.flatMap((collection) => collectionRoutes(api, collection)),
    ...collections.flatMap((collection) => nestedRoutes(api, collection)),
    { path: '/whoami', actions: { GET: requiring('credential', whoami) } },
    ...(feed ? [eventRoute(feed)] : []),
  ];
  return settings.auth.includes('bearer') ? [...routes, metadataRoute(settings, routes)] : routes;
}

function idempotent({ db, collections, settings }: Api, action: Action): Action {
  return withIdempotency(db, settings.idempotencyTtlSeconds, collections, action);
}

/** The two paths of a collection. */
function collectionRoutes(api: Api, collection: Collection): Route[] {
  const { db, settings, feed } = api;
  const { resource } = collection;
  const { name } = resource;
  const isChild = isOwned(resource);
  const ownership: ScopeRequirement['ownership'] = resource.owner ? 'path' : isChild ? 'record' : undefined;
  const read: ScopeRequirement = { scopes: [`${name}:read`], ownership };
  const write: ScopeRequirement = { scopes: [`${name}:write`], ownership };
  const ofRecord = (action: Action) => (isChild ? restrictToOwnRecord(db, collection, action) : action);
  const creation = isChild ? restrictCreationToOwn(collection, create(collection)) : create(collection);
  const creator = { scopes: write.scopes, ownership: isChild ? ownership : undefined };
  return [
    {
      path: `/${name}`,
      actions: {
        GET: requiring({ scopes: read.scopes }, list(collection, feed)),
        POST: requiring(creator, idempotent(api, creation)),
      },
    },
    {
      path: `/${name}/:id`,
      actions: {
        GET: requiring(read, ofRecord(get(collection))),
        PUT: requiring(write, ofRecord(replace(collection, settings))),
        PATCH: requiring(write, idempotent(api, ofRecord(patch(collection, settings)))),
        DELETE: requiring(write, ofRecord(remove(collection, settings))),
      },
    },
  ];
}

/** The path of a collection under its parent. */
function nestedRoutes(api: Api, collection: Collection): Route[] {
  const { name } = collection.resource;
  const parentName = collection.resource.parent?.resource.name;
  const parent = api.collections.find(({ resource }) => resource.name === parentName);
  if (!parent) return [];
  const requirement = (verb: string): ScopeRequirement => ({
    scopes: [`${name}:${verb}`, `${parentName}:read`],
    ownership: parent.resource.owner ? 'path' : undefined,
  });
  return [
    {
      path: `/${parentName}/:id/${name}`,
      actions: {
        GET: requiring(requirement('read'), listNested(collection, parent, api.feed)),
        POST: requiring(requirement('write'), idempotent(api, createNested(collection))),
      },
    },
  ];
}

/** What a client needs to get an access token for these routes (RFC 9728). */
function metadataRoute(settings: ProtectedResource, routes: readonly Route[]): Route {
  const requirements = routes.flatMap(({ actions }) =>
    Object.values(actions).map(({ requires }) => requires),
  );
  const named = requirements.flatMap((each) => (typeof each === 'string' ? [] : each.scopes));
  const scopes = new Set([...named, 'self', 'events:read', 'admin']);
  return {
    path: METADATA_PATH,
    actions: { GET: requiring('nothing', protectedResource(settings, [...scopes])) },
  };
}

/** The feed of changes; with `self` alone, changes of the caller's own records. */
function eventRoute(feed: Feed): Route {
  return {
    path: '/events',
    actions: { GET: requiring({ scopes: ['events:read'], ownership: 'record' }, listEvents(feed)) },
  };
}
