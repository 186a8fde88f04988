import { JSON_TYPE } from '../../collection/representation.js';
import type { Db } from '../../db/db.js';
import { absent, badRequest } from '../../errors.js';
import type { Request } from '../../http/request.js';
import type { Action } from '../../http/router.js';
import { parseUuid } from '../../uuid.js';
import type { Webhooks } from '../../webhooks/open.js';
import type { ReadFields } from '../../webhooks/webhook-input.js';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  PAGE,
  rotateSecret,
  type Webhook,
  type WebhookFields,
} from '../../webhooks/webhook-store.js';
import { notInBatch, secretReply as reply, timeOf } from '../not-in-batch.js';

/** The webhooks, the newest first; those after `?after=<id>`: 200, 400. */
export function listOfWebhooks(db: Db): Action {
  return notInBatch('webhooks', {
    offers: [JSON_TYPE],
    run: async ({ query }) => {
      const after = new URLSearchParams(query).get('after');
      const id = parseUuid(after ?? '');
      if (after !== null && id === undefined) throw badRequest('`after` takes the id of a webhook.');
      const found = await listWebhooks(db, id);
      const page = found.slice(0, PAGE);
      const next = found.length > PAGE ? `/webhooks?after=${page.at(-1)!.id}` : null;
      return reply(200, { data: page.map(shown), links: { next } });
    },
  });
}

/** A new webhook, with its secret, shown this once: 201, 400, 409. */
export function newWebhook(db: Db, read: ReadFields, pass: Webhooks['pass']): Action {
  return notInBatch('webhooks', {
    accepts: [JSON_TYPE],
    run: async ({ body }) => {
      const fields = read(body?.value);
      await pass();
      const { webhook, secret } = await createWebhook(db, fields);
      return reply(201, { ...shown(webhook), secret }, ['Location', `/webhooks/${webhook.id}`]);
    },
  });
}

/** One of them: 200, 404. */
export function oneWebhook(db: Db): Action {
  return notInBatch('webhooks', {
    offers: [JSON_TYPE],
    run: async (request) => reply(200, shown(await webhookOf(db, request))),
  });
}

/** All fields anew; those that are left out have their defaults: 200, 400, 404. */
export function replaceWebhook(db: Db, read: ReadFields): Action {
  return change(db, [JSON_TYPE], (body) => read(body?.value));
}

/** The fields that are given (RFC 7396): 200, 400, 404. */
export function patchWebhook(db: Db, read: ReadFields): Action {
  return change(db, [JSON_TYPE, 'application/merge-patch+json'], (body, before) => read(body?.value, before));
}

function change(
  db: Db,
  takes: readonly string[],
  make: (body: Request['body'], before: WebhookFields) => WebhookFields,
): Action {
  return notInBatch('webhooks', {
    accepts: takes,
    run: async ({ params, body }) => {
      const id = parseUuid(params.id ?? '');
      const changed = id && (await changeWebhook(db, id, (before) => make(body, before)));
      if (!changed) throw absent('webhook', 'simple');
      return reply(200, shown(changed));
    },
  });
}

/** Takes one away, with its deliveries: 204, also when there was none. */
export function removeWebhook(db: Db): Action {
  return notInBatch('webhooks', {
    run: async ({ params }) => {
      const id = parseUuid(params.id ?? '');
      if (id !== undefined) await deleteWebhook(db, id);
      return { status: 204, headers: [] };
    },
  });
}

/** A new secret, shown this once; the one before is good for a day more: 200, 404. */
export function rotateWebhook(db: Db): Action {
  return notInBatch('webhooks', {
    run: async ({ params }) => {
      const id = parseUuid(params.id ?? '');
      const rotated = id && (await rotateSecret(db, id));
      if (!rotated) throw absent('webhook', 'simple');
      return reply(200, { ...shown(rotated.webhook), secret: rotated.secret });
    },
  });
}

/** The webhook that a path names. Throws 404. */
export async function webhookOf(db: Db, { params }: Request): Promise<Webhook> {
  const id = parseUuid(params.id ?? '');
  const webhook = id && (await getWebhook(db, id));
  if (!webhook) throw absent('webhook', 'simple');
  return webhook;
}

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
