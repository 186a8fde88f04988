import type { Db } from '../../db/db.js';
import { type Action, type Route, requiring } from '../../http/router.js';
import type { ScopeRequirement } from '../../principal.js';
import { listOfDeliveries, oneDelivery, redelivery, testDelivery } from './delivery-actions.js';
import type { Webhooks } from './open.js';
import type { TargetRules } from './target-url.js';
import {
  listOfWebhooks,
  newWebhook,
  oneWebhook,
  patchWebhook,
  removeWebhook,
  replaceWebhook,
  rotateWebhook,
} from './webhook-actions.js';
import { fieldsOf } from './webhook-input.js';

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
