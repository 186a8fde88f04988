import { timeOf } from '../../actions/secret-reply.js';
import type { Store } from '../../api/managed-endpoints.js';
import type { Db } from '../../db/db.js';
import { invalid } from '../../errors/input-errors.js';
import { absent } from '../../errors/record-errors.js';
import type { Request } from '../../http/request.js';
import type { Json } from '../../json.js';
import { parseUuid } from '../../uuid.js';
import { compileOnFirstUse } from '../../validation/validation.js';
import type { Webhooks } from './open-webhooks.js';
import { readTarget, type TargetRules } from './target-url.js';
import { webhookSchema } from './webhook-kind.js';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateSecret,
  type Webhook,
  type WebhookFields,
} from './webhook-store.js';

/** The services that endpoints of webhooks run with. */
export interface WebhookServices extends Pick<Webhooks, 'wake' | 'pass'> {
  readonly db: Db;
  /** Reads a webhook's fields from a body. Throws 400. */
  readonly read: (input: Json | undefined) => WebhookFields;
  /** The source of test events: the URL of the service. */
  readonly source: string;
}

/** Webhooks. */
export const STORED_WEBHOOKS: Store<
  Webhook,
  WebhookFields,
  Pick<WebhookServices, 'read'>,
  Omit<WebhookServices, 'read'>
> = {
  read: ({ read }, body) => read(body),
  prepare: ({ pass }) => pass(),
  create: createWebhook,
  list: listWebhooks,
  get: getWebhook,
  change: changeWebhook,
  remove: ({ db }, id, permit) => deleteWebhook(db, id, permit),
  rotate: rotateSecret,
  shown,
};

/** The webhook that a path names. Throws 404. */
export async function webhookOf(db: Db, { params }: Request): Promise<Webhook> {
  const id = parseUuid(params.id ?? '');
  const webhook = id && (await getWebhook(db, id));
  if (!webhook) throw absent('webhook', 'simple');
  return webhook;
}

/** Validates `{url, types, description?, enabled?}` for a service with these collections. */
export function readerOf(collections: readonly string[], rules: TargetRules): WebhookServices['read'] {
  const check = compileOnFirstUse({
    schema: webhookSchema(collections),
    normalize: { url: ['trim'], description: ['trim', 'nfc'] },
  });
  return (input) => {
    const { url, types, description = '', enabled = true } = check(input).fields as unknown as Given;
    const target = readTarget(url, rules);
    if (typeof target === 'string') throw invalid([{ path: '/url', message: target, keyword: 'format' }]);
    return { url: target.href, types, description, enabled };
  };
}

type Given = Pick<WebhookFields, 'url' | 'types'> & Partial<WebhookFields>;

function shown(webhook: Webhook): Record<string, unknown> {
  const {
    id,
    url,
    types,
    description,
    enabled,
    disabledReason,
    droppedEvents,
    previousUntil,
    created,
    updated,
  } = webhook;
  return {
    id,
    url,
    types,
    description,
    enabled,
    disabled_reason: disabledReason,
    dropped_events: droppedEvents,
    previous_secret_until: timeOf(previousUntil),
    created_at: timeOf(created),
    updated_at: timeOf(updated),
  };
}
