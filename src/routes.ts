import { BATCH_PATH, batch } from './actions/batch.js';
import { errorRoutes } from './actions/errors.js';
import { newEventTicket } from './actions/event-tickets.js';
import { listEvents } from './actions/events.js';
import { home } from './actions/home.js';
import { METADATA_PATH, type ProtectedResource, protectedResource } from './actions/protected-resource.js';
import { whoami } from './actions/whoami.js';
import { type Api, collectionRoutes, idempotent, nestedRoutes } from './api/record-actions.js';
import type { ProblemType } from './errors/problem.js';
import type { Feed } from './events/feed.js';
import { createRouter, type Route, type Router, requiring } from './http/router.js';
import type { OpenFeatures, RouteTable } from './open-features.js';
import { ACCOUNT_DELETION, type ScopeRequirement } from './principal.js';

export interface ApiRoutes {
  readonly routes: readonly Route[];
  readonly router: Router;
}

/**
 * Routes an API: its own paths, `others`, those of features, and a batch whose operations may be requests to all of them.
 * `scopes` are those of the API.
 */
export function routeApi(
  api: Api,
  others: readonly Route[],
  features: OpenFeatures,
  scopes: readonly string[],
): ApiRoutes {
  const open = [...features.values()];
  const table: RouteTable = { api, scopes, all: () => all };
  const errors = open.flatMap((feature) => feature.errors ?? []);
  const known = [
    ...apiRoutes(api, errors),
    ...others,
    ...open.flatMap((feature) => feature.routes?.(table) ?? []),
  ];
  const resources = api.collections.map(({ resource }) => resource);
  const paths = new Set(known.map(({ path }) => path));
  const first = {
    path: '/',
    actions: { GET: requiring('nothing', home(resources, paths, api.settings.publicPrefix)) },
  };
  const routes = open.reduce<readonly Route[]>(
    (all, feature) => feature.represent?.(all, api) ?? all,
    [...known, first],
  );
  const batches = batch(api.db, api.collections, createRouter(routes), api.settings);
  const batchRoute: Route = {
    path: BATCH_PATH,
    actions: { POST: requiring('credential', idempotent(api, batches)) },
  };
  const protocols = open.flatMap((feature) => feature.protocolRoutes?.(table) ?? []);
  const all: readonly Route[] = [...routes, batchRoute, ...protocols];
  return { routes: all, router: createRouter(all) };
}

/** The routes for clients, of which one explains these `errors` of features. Each path is available below /api/v1 and at the root. */
function apiRoutes(api: Api, errors: readonly ProblemType[]): Route[] {
  const { collections, settings, feed } = api;
  const routes: Route[] = [
    ...collections.flatMap((collection) => collectionRoutes(api, collection)),
    ...collections.flatMap((collection) => nestedRoutes(api, collection)),
    { path: '/whoami', actions: { GET: requiring('credential', whoami) } },
    ...errorRoutes(errors),
    ...(feed ? eventRoutes(feed) : []),
  ];
  return settings.auth.includes('bearer') ? [...routes, metadataRoute(settings, routes)] : routes;
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
