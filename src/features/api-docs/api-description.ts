import { openCollections } from '../../api/record-actions.js';
import { collectionsFor } from '../../app-parts.js';
import type { CredentialCache } from '../../auth/credentials/credential-cache.js';
import type { Auth } from '../../auth/open.js';
import type { Config } from '../../config/config.js';
import { connectAs } from '../../db/open.js';
import { resourcesOf } from '../../declarations/load-declarations.js';
import type { Declarations } from '../../declarations/read-declarations.js';
import { Feed } from '../../events/feed.js';
import { cannotRun, describeFeatures, type Openable } from '../../open-features.js';
import { routesOf } from '../../service-routes.js';
import { createLog } from '../../telemetry/log.js';
import { createMetrics } from '../../telemetry/metrics.js';
import type { ApiDocuments } from './api-documents.js';

/** Takes no connection: pools connect with their first statement. */
const NOWHERE = 'postgres://127.0.0.1:1/none';

/**
 * The documents about the API of a service with this configuration, these declarations and those of these features that it
 * turns on, without a database: the same routes, whose actions cannot run. Throws ConfigError, and StartError if an optional
 * package is missing.
 */
export async function describeApi(
  config: Config,
  declarations: Declarations,
  features: readonly Openable[],
): Promise<ApiDocuments> {
  const db = connectAs(config, NOWHERE, undefined);
  const resources = collectionsFor(config, resourcesOf(declarations, { prefix: config.publicPrefix }));
  const collections = openCollections(db, resources, config.tombstones);
  const hasKeys = config.auth.includes('api-key') || config.auth.includes('mtls');
  const lookup = hasKeys ? ({} as CredentialCache) : undefined;
  const auth = { lookup, requireCurrentPassword: cannotRun } as unknown as Auth;
  const feed = config.events ? (Object.assign(Object.create(Feed.prototype), { db }) as Feed) : undefined;
  const metrics = createMetrics();
  const core = {
    config,
    db,
    auth,
    metrics,
    collections,
    feed,
    log: createLog('silent'),
    counters: undefined,
  };
  const open = await describeFeatures(features, { ...core, sharedSchemas: declarations.shared });
  routesOf({
    config,
    database: { db },
    auth,
    collections,
    feed,
    registry: metrics.registry,
    features: open,
  });
  return open.get('api-docs') as ApiDocuments;
}
