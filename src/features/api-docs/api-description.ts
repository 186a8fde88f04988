import { collectionsFor, openMcp } from '../../app-parts.js';
import type { CredentialCache } from '../../auth/credentials/credential-cache.js';
import { openCollections } from '../../collection-routes.js';
import type { Config } from '../../config/config.js';
import { connectAs } from '../../db/open.js';
import { resourcesOf } from '../../declarations/load-declarations.js';
import type { Declarations } from '../../declarations/read-declarations.js';
import { Feed } from '../../events/feed.js';
import type { Route } from '../../http/router.js';
import { routesOf } from '../../service-routes.js';
import { createMetrics } from '../../telemetry/metrics.js';
import type { ApiDocuments } from './api-documents.js';

/** Takes no connection: pools connect with their first statement. */
const NOWHERE = 'postgres://127.0.0.1:1/none';

/**
 * The documents about the API of a service with this configuration and these declarations, without a database: the same
 * routes, whose actions cannot run. Throws ConfigError, and StartError if an optional package is missing.
 */
export async function describeApi(config: Config, declarations: Declarations): Promise<ApiDocuments> {
  const db = connectAs(config, NOWHERE, undefined);
  const resources = collectionsFor(config, resourcesOf(declarations, { prefix: config.publicPrefix }));
  const collections = openCollections(db, resources, config.tombstones);
  const opened = collections.map(({ resource }) => resource);
  const hasKeys = config.auth.includes('api-key') || config.auth.includes('mtls');
  const issuerRoutes = config.authServer ? await describeIssuer(db) : undefined;
  const { documents } = routesOf({
    config,
    database: { db },
    auth: { lookup: hasKeys ? ({} as CredentialCache) : undefined, requireCurrentPassword: cannotRun },
    issuer: issuerRoutes && { routes: issuerRoutes },
    mcp: config.mcp ? await openMcp(config, opened, declarations.shared) : undefined,
    collections,
    feed: config.events ? (Object.assign(Object.create(Feed.prototype), { db }) as Feed) : undefined,
    replicas: undefined,
    registry: createMetrics().registry,
    webhooks: { wake: cannotRun, pass: cannotRun },
    versionCalls: { list: cannotRun },
  });
  return documents;
}

/** The routes of the embedded authorization server, without keys. */
async function describeIssuer(
  db: Parameters<typeof openCollections>[0],
): Promise<(scopes: readonly string[]) => Route[]> {
  const { clientRoutes } = await import('../issuer/client-routes.js');
  const { issuerRoutes } = await import('../issuer/routes.js');
  const handlers = { plain: cannotRun, limited: cannotRun };
  return (scopes) => [...clientRoutes(db, scopes), ...issuerRoutes(db, handlers, cannotRun, cannotRun)];
}

const cannotRun = (): never => {
  throw new Error('a route that is only described cannot run');
};
