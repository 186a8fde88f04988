import { healthRoutes, keyRoutes, metricsRoute, versionRoute, webhookRoutes } from './admin-routes.js';
import type { Parts } from './app-parts.js';
import { knownScopes } from './auth/known-scopes.js';
import type { NotReadyReason } from './db/readiness.js';
import { targetRules } from './features/webhooks/open.js';
import { isRetiring } from './http/api-version.js';
import type { Route } from './http/router.js';
import { type ApiRoutes, routeApi } from './routes.js';

/** What the routes need of the parts of the service. */
export interface RouteParts
  extends Pick<Parts, 'config' | 'registry' | 'mcp' | 'collections' | 'feed' | 'replicas'> {
  readonly database: Pick<Parts['database'], 'db'>;
  readonly auth: Pick<Parts['auth'], 'lookup' | 'requireCurrentPassword'>;
  readonly issuer: Pick<NonNullable<Parts['issuer']>, 'routes'> | undefined;
  readonly webhooks: Pick<Parts['webhooks'], 'wake' | 'pass'>;
  readonly versionCalls: Pick<Parts['versionCalls'], 'list'>;
}

/** All routes of a service. */
export function routesOf(
  parts: RouteParts,
  notReadyReason: () => Promise<NotReadyReason> = async () => undefined,
  furtherRoutes: readonly Route[] = [],
): ApiRoutes {
  const { config, database, auth, issuer, mcp, collections, feed, replicas, registry, webhooks } = parts;
  const { db } = database;
  const settings = {
    ...config,
    requireCurrentPassword: auth.requireCurrentPassword,
    isRateLimited: config.rateLimit !== undefined,
    retiring: Object.keys(config.retirement).filter((number) => isRetiring(config.retirement[number]!)),
  };
  const resources = collections.map(({ resource }) => resource);
  const names = resources.map(({ name }) => name);
  const others = [
    ...healthRoutes(notReadyReason),
    ...(config.metricsPort !== undefined ? [] : [metricsRoute(registry, { scopes: ['admin'] })]),
    ...keyRoutes(db, auth.lookup, knownScopes(resources)),
    versionRoute(parts.versionCalls),
    ...webhookRoutes(db, names, targetRules(config), config.publicUrl ?? '/', webhooks),
    ...(issuer
      ? issuer.routes(knownScopes(resources), collections.find(({ resource }) => resource.hasPasswords)!)
      : []),
    ...furtherRoutes,
  ];
  return routeApi({ db, collections, settings, feed, replicas }, others, mcp);
}
