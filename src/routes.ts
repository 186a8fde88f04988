import { ApiDocuments, type DocumentSettings } from './actions/api-documents.js';
import { BATCH_PATH, batch } from './actions/batch.js';
import type { BatchLimits } from './actions/batch-results.js';
import { forAllMatching } from './actions/bulk.js';
import type { WriteSettings } from './actions/conditional-write.js';
import { create, createNested } from './actions/create.js';
import { ERRORS_PATH, listErrors, showError } from './actions/errors.js';
import { newEventTicket } from './actions/event-tickets.js';
import { listEvents } from './actions/events.js';
import { get } from './actions/get.js';
import { home } from './actions/home.js';
import { withIdempotency } from './actions/idempotency.js';
import { asJsonServer } from './actions/json-server.js';
import { list, listNested } from './actions/list.js';
import { restrictCreationToOwn, restrictToOwnRecord } from './actions/own-records.js';
import { patch } from './actions/patch.js';
import { METADATA_PATH, type ProtectedResource, protectedResource } from './actions/protected-resource.js';
import { queryBy } from './actions/query.js';
import { remove } from './actions/remove.js';
import { replace } from './actions/replace.js';
import { whoami } from './actions/whoami.js';
import { withPages } from './browser/routes.js';
import type { Site } from './browser/site.js';
import { type Collection, openCollection } from './collection/collection.js';
import type { Resource } from './collection/resource.js';
import { usesHttps } from './config/edge.js';
import type { Db } from './db/db.js';
import { docsRoutes } from './docs-page/docs-page.js';
import type { Feed } from './events/feed.js';
import { type Action, createRouter, type Route, type Router, requiring } from './http/router.js';
import type { Mcp } from './mcp/mcp.js';
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
  readonly settings: ApiSettings &
    ProtectedResource &
    Omit<DocumentSettings, 'resources' | 'hasEvents'> & { readonly publicPrefix: string };
  readonly feed: Feed | undefined;
}

/** Opens all collections. */
export function openCollections(db: Db, resources: readonly Resource[], tombstones: boolean): Collection[] {
  return resources.map((resource) => openCollection(db, resource, tombstones));
}

export interface ApiRoutes {
  readonly routes: readonly Route[];
  readonly router: Router;
  readonly documents: ApiDocuments;
  readonly site: Site;
}

/**
 * Routes an API: its own paths, `others`, a batch whose operations may be requests to all of them, and with `mcp` the tools
 * that stand for requests to the collections.
 */
export function routeApi(api: Api, others: readonly Route[], mcp?: Mcp): ApiRoutes {
  const resources = api.collections.map(({ resource }) => resource);
  const described = { ...api.settings, resources, hasEvents: api.feed !== undefined };
  const documents = new ApiDocuments(described, () => all);
  const known = [...apiRoutes(api), ...others, ...documents.routes(), ...docsRoutes(api.settings.issuer)];
  const site = siteOf(api, new Set(known.map(({ path }) => path)));
  const first = { path: '/', actions: { GET: requiring('nothing', home(resources, site.paths)) } };
  const routes = withPages([...known, first], site);
  const batches = batch(api.db, api.collections, createRouter(routes), api.settings);
  const batchRoute: Route = {
    path: BATCH_PATH,
    actions: { POST: requiring('credential', idempotent(api, batches)) },
  };
  const tools = mcp ? [mcp.route(createRouter(toolRoutes(api)))] : [];
  const all: readonly Route[] = [...routes, batchRoute, ...tools];
  return { routes: all, router: createRouter(all), documents, site };
}

/** What the pages of an API know about it. */
function siteOf({ db, collections, feed, settings }: Api, paths: ReadonlySet<string>): Site {
  const { publicPrefix: prefix, publicUrl, auth } = settings;
  return { db, collections, feed, paths, prefix, publicUrl, auth, isSecure: usesHttps(settings) };
}

/** The routes for clients. Each path is available below /api/v1 and at the root. */
function apiRoutes(api: Api): Route[] {
  const { collections, settings, feed } = api;
  const routes: Route[] = [
    ...collections.flatMap((collection) => collectionRoutes(api, collection)),
    ...collections.flatMap((collection) => nestedRoutes(api, collection)),
    { path: '/whoami', actions: { GET: requiring('credential', whoami) } },
    { path: ERRORS_PATH, actions: { GET: requiring('nothing', listErrors) } },
    { path: `${ERRORS_PATH}/:code`, actions: { GET: requiring('nothing', showError) } },
    ...(feed ? eventRoutes(feed) : []),
  ];
  return settings.auth.includes('bearer') ? [...routes, metadataRoute(settings, routes)] : routes;
}

function idempotent({ db, collections, settings }: Api, action: Action): Action {
  return withIdempotency(db, settings.idempotencyTtlSeconds, collections, action);
}

/** The collections with their own form of lists, whatever COMPAT says. */
function toolRoutes(api: Api): Route[] {
  const native = { ...api, settings: { ...api.settings, isJsonServer: false } };
  return api.collections.flatMap((collection) => collectionRoutes(native, collection));
}

/** The two paths of a collection. */
function collectionRoutes(api: Api, collection: Collection): Route[] {
  const { db, settings, feed } = api;
  const { resource } = collection;
  const { name } = resource;
  const isChild = resource.isOwned;
  const ownership: ScopeRequirement['ownership'] = resource.owner ? 'path' : isChild ? 'record' : undefined;
  const read = requirementOf(resource.scopes.read, ownership);
  const write: ScopeRequirement = { scopes: [resource.scopes.write], ownership };
  const ofRecord = (action: Action) => (isChild ? restrictToOwnRecord(db, collection, action) : action);
  const creation = isChild ? restrictCreationToOwn(collection, create(collection)) : create(collection);
  const readAll = requirementOf(resource.scopes.read, isChild ? ownership : undefined);
  const compatible = settings.isJsonServer ? asJsonServer : (action: Action) => action;
  const listing = compatible(list(collection, api.collections, feed));
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
        GET: requiring(read, ofRecord(get(collection))),
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
function nestedRoutes(api: Api, collection: Collection): Route[] {
  const { name } = collection.resource;
  const parentName = collection.resource.parent?.to;
  const parent = api.collections.find(({ resource }) => resource.name === parentName);
  if (!parent) return [];
  const ownership = parent.resource.owner ? 'path' : undefined;
  const { read, write } = collection.resource.scopes;
  const ofParent = parent.resource.scopes.read;
  const compatible = api.settings.isJsonServer ? asJsonServer : (action: Action) => action;
  const listing = compatible(listNested(collection, parent, api.collections, api.feed));
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
function eventRoutes(feed: Feed): Route[] {
  const requirement: ScopeRequirement = { scopes: ['events:read'], ownership: 'record' };
  return [
    { path: '/events', actions: { GET: requiring(requirement, listEvents(feed)) } },
    { path: '/events/tickets', actions: { POST: requiring(requirement, newEventTicket(feed.db)) } },
  ];
}
