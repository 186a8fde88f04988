import { healthRoutes, keyRoutes, metricsRoute } from './admin-routes.js';
import type { Parts } from './app-parts.js';
import { knownScopes } from './auth/known-scopes.js';
import type { NotReadyReason } from './db/readiness.js';
import type { Route } from './http/router.js';
import { memberOf } from './open-features.js';
import { type ApiRoutes, routeApi } from './routes.js';

/** What the routes need of the parts of the service. */
export interface RouteParts extends Pick<Parts, 'config' | 'registry' | 'collections' | 'feed' | 'features'> {
  readonly database: Pick<Parts['database'], 'db'>;
  readonly auth: Pick<Parts['auth'], 'lookup' | 'requireCurrentPassword'>;
}

/** All routes of a service. */
export function routesOf(
  parts: RouteParts,
  notReadyReason: () => Promise<NotReadyReason> = async () => undefined,
  furtherRoutes: readonly Route[] = [],
): ApiRoutes {
  const { config, database, auth, collections, feed, registry, features } = parts;
  const { db } = database;
  const { requireCurrentPassword } = auth;
  const scopes = knownScopes(collections.map(({ resource }) => resource));
  const others = [
    ...healthRoutes(notReadyReason),
    ...(config.metricsPort !== undefined ? [] : [metricsRoute(registry, { scopes: ['admin'] })]),
    ...keyRoutes(db, auth.lookup, scopes),
    ...furtherRoutes,
  ];
  const settings = { ...config, requireCurrentPassword };
  const adapters = { read: memberOf(features, 'read'), adapter: memberOf(features, 'adapter') };
  return routeApi({ db, collections, settings, feed, ...adapters }, others, features, scopes);
}
