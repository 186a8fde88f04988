import { healthz, readyz } from './actions/admin/health.js';
import { createKey, getKey, listKeys, noKeys, revokeKey } from './actions/admin/keys.js';
import { showMetrics } from './actions/admin/metrics.js';
import type { CredentialCache } from './auth/credentials/credential-cache.js';
import type { Db } from './db/db.js';
import type { NotReadyReason } from './db/readiness.js';
import { listVersionCalls, VERSIONS_PATH } from './features/version-calls/list-version-calls.js';
import type { VersionCalls } from './features/version-calls/version-calls.js';
import {
  listOfDeliveries,
  oneDelivery,
  redelivery,
  testDelivery,
} from './features/webhooks/delivery-actions.js';
import type { Webhooks } from './features/webhooks/open.js';
import type { TargetRules } from './features/webhooks/target-url.js';
import {
  listOfWebhooks,
  newWebhook,
  oneWebhook,
  patchWebhook,
  removeWebhook,
  replaceWebhook,
  rotateWebhook,
} from './features/webhooks/webhook-actions.js';
import { fieldsOf } from './features/webhooks/webhook-input.js';
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

/** Who calls versions that retire. */
export function versionRoute(calls: Pick<VersionCalls, 'list'>): Route {
  return { path: VERSIONS_PATH, actions: { GET: requiring({ scopes: ['admin'] }, listVersionCalls(calls)) } };
}

/** Webhooks. `wake` is called when a delivery is due at once, `pass` before a webhook is created. */
export function webhookRoutes(
  db: Db,
  collections: readonly string[],
  rules: TargetRules,
  source: string,
  { wake, pass }: Pick<Webhooks, 'wake' | 'pass'>,
): Route[] {
  const needs: ScopeRequirement = { scopes: ['admin'] };
  const admin = (action: Action) => requiring(needs, action);
  const read = fieldsOf(collections, rules);
  const one = '/webhooks/:id';
  return [
    {
      path: '/webhooks',
      actions: { GET: admin(listOfWebhooks(db)), POST: admin(newWebhook(db, read, pass)) },
    },
    {
      path: one,
      actions: {
        GET: admin(oneWebhook(db)),
        PUT: admin(replaceWebhook(db, read)),
        PATCH: admin(patchWebhook(db, read)),
        DELETE: admin(removeWebhook(db)),
      },
    },
    { path: `${one}/rotate`, actions: { POST: admin(rotateWebhook(db)) } },
    { path: `${one}/test`, actions: { POST: admin(testDelivery(db, source, wake)) } },
    { path: `${one}/deliveries`, actions: { GET: admin(listOfDeliveries(db)) } },
    { path: `${one}/deliveries/:delivery`, actions: { GET: admin(oneDelivery(db)) } },
    {
      path: `${one}/deliveries/:delivery/redeliver`,
      actions: { POST: admin(redelivery(db, wake)) },
    },
  ];
}
