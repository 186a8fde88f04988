import { healthz, readyz } from './actions/admin/health.js';
import { createKey, getKey, listKeys, noKeys, revokeKey } from './actions/admin/keys.js';
import { showMetrics } from './actions/admin/metrics.js';
import type { CredentialCache } from './auth/credentials/credential-cache.js';
import type { Db } from './db/db.js';
import type { NotReadyReason } from './db/readiness.js';
import { type Action, type Route, requiring } from './http/router.js';
import type { Requirement, ScopeRequirement } from './principal.js';
import type { Metrics } from './telemetry/metrics.js';

/** Health checks, without a credential. */
export function healthRoutes(obstacle: () => Promise<NotReadyReason>): Route[] {
  const always = (action: Action) => ({ GET: { ...requiring('nothing', action), alwaysAvailable: true } });
  return [
    { path: '/healthz', actions: always(healthz) },
    { path: '/readyz', actions: always(readyz(obstacle)) },
  ];
}

/** The metrics, in maintenance as well. */
export function metricsRoute(registry: Metrics['registry'], needs: Requirement): Route {
  return {
    path: '/metrics',
    actions: { GET: { ...requiring(needs, showMetrics(registry)), alwaysAvailable: true } },
  };
}

/** API keys and certificates; `scopes` are those that they may have. Without a cache, keys are not accepted. */
export function keyRoutes(db: Db, cache: CredentialCache | undefined, scopes: readonly string[]): Route[] {
  if (!cache) return [{ path: '/keys', actions: { GET: requiring('nothing', noKeys) } }];
  const admin: ScopeRequirement = { scopes: ['admin'] };
  return [
    {
      path: '/keys',
      actions: { GET: requiring(admin, listKeys(db)), POST: requiring(admin, createKey(db, scopes)) },
    },
    {
      path: '/keys/:id',
      actions: { GET: requiring(admin, getKey(db)), DELETE: requiring(admin, revokeKey(db, cache)) },
    },
  ];
}
