import { BATCH_PATH, batch } from './actions/batch.js';
import { ERRORS_PATH, listErrors, showError } from './actions/errors.js';
import { newEventTicket } from './actions/event-tickets.js';
import { listEvents } from './actions/events.js';
import { home } from './actions/home.js';
import { METADATA_PATH, type ProtectedResource, protectedResource } from './actions/protected-resource.js';
import { whoami } from './actions/whoami.js';
import { type Api, collectionRoutes, idempotent, nestedRoutes } from './collection-routes.js';
import { usesHttps } from './config/edge.js';
import type { Feed } from './events/feed.js';
import { ApiDocuments } from './features/api-docs/api-documents.js';
import { docsRoutes } from './features/api-docs/docs-page.js';
import type { Mcp } from './features/mcp/mcp.js';
import { withPages } from './features/pages/routes.js';
import type { Site } from './features/pages/site.js';
import { createRouter, type Route, type Router, requiring } from './http/router.js';
import { ACCOUNT_DELETION, type ScopeRequirement } from './principal.js';

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
  const first = {
    path: '/',
    actions: { GET: requiring('nothing', home(resources, site.paths, api.settings.publicPrefix)) },
  };
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

/** The collections with their own form of lists, whatever COMPAT says. */
function toolRoutes(api: Api): Route[] {
  const native = { ...api, settings: { ...api.settings, isJsonServer: false } };
  return api.collections.flatMap((collection) => collectionRoutes(native, collection));
}

/** What a client needs to get an access token for these routes (RFC 9728). */
function metadataRoute(settings: ProtectedResource, routes: readonly Route[]): Route {
  const requirements = routes.flatMap(({ actions }) =>
    Object.values(actions).map(({ requires }) => requires),
  );
  const named = requirements.flatMap((each) => (typeof each === 'string' ? [] : each.scopes));
  const scopes = new Set([...named, 'self', ACCOUNT_DELETION, 'events:read', 'admin']);
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
    { path: '/events/tickets', actions: { POST: requiring(requirement, newEventTicket(feed.tickets)) } },
  ];
}
