import { type Endpoint, openRoutes } from '../api/endpoint.js';
import type { Services } from '../api/endpoints.js';
import { idempotent, openRecords } from '../api/record-actions.js';
import { recordEndpoints } from '../api/record-endpoints.js';
import type { NotReadyReason } from '../db/readiness.js';
import { type Action, createRouter, type Route, type Router } from '../http/router.js';
import type { Parts } from './app-parts.js';
import { memberOf } from './open-features.js';

export interface ApiRoutes {
  readonly routes: readonly Route[];
  readonly router: Router;
}

/** The routes of a service, for its endpoints and these further ones. */
export function routesOf(
  parts: Parts,
  notReadyReason: () => Promise<NotReadyReason>,
  furtherRoutes: readonly Route[],
): ApiRoutes {
  const { config, database, auth, collections, feed, idempotency, scrape, features } = parts;
  const { endpoints, errorTypes } = parts.description;
  const resources = collections.map(({ resource }) => resource);
  const api = {
    db: database.db,
    collections,
    feed,
    idempotency,
    settings: { ...config, accounts: auth.accounts },
    read: memberOf(features, 'read'),
    adapter: memberOf(features, 'adapter'),
  };
  const own: Omit<Services, 'router'> = {
    ...api,
    resources,
    endpoints,
    scrape,
    notReadyReason,
    records: openRecords(api),
    errorTypes,
  };
  const once = (action: Action) => idempotent(api, action);
  const recordRouter = () => {
    const services = { records: openRecords({ ...api, adapter: undefined }) };
    return createRouter(openRoutes(recordEndpoints(resources, false, false), () => services, once));
  };
  const ofFeatures = new Map(
    [...features].map(([name, feature]) => [name, feature.services?.(api, recordRouter)]),
  );
  const open = (each: readonly Endpoint[], services: unknown) =>
    openRoutes(each, ({ feature }) => (feature === undefined ? services : ofFeatures.get(feature)), once);
  const shared = [
    ...open(
      endpoints.filter(({ isSeparate }) => !isSeparate),
      own,
    ),
    ...furtherRoutes,
  ];
  const represented = [...features.values()].reduce<readonly Route[]>(
    (routes, feature) => feature.represent?.(routes, api) ?? routes,
    shared,
  );
  const separate = endpoints.filter(({ isSeparate }) => isSeparate);
  const all = [...represented, ...open(separate, { ...own, router: createRouter(represented) })];
  // json-server ignores a slash at the end of a path.
  return { routes: all, router: createRouter(all, config.anyParameters) };
}
