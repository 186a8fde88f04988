import {
  type ManagedView,
  managedList,
  managedReply,
  requireMatch,
} from '../../actions/admin/admin-replies.js';
import { whileSignedIn } from '../../actions/admin/signed-in.js';
import { notInBatch, timeOf } from '../../actions/secret-reply.js';
import { JSON_TYPE } from '../../collection/representation.js';
import type { Db } from '../../db/db.js';
import { absent } from '../../errors/record-errors.js';
import { badRequest } from '../../errors/request-errors.js';
import type { Request } from '../../http/request.js';
import type { Action } from '../../http/router.js';
import { parseUuid } from '../../uuid.js';
import type { Webhooks } from './open.js';
import type { ReadFields } from './webhook-input.js';
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
} from './webhook-store.js';

/** Lists webhooks, newest first, after `?after=<id>`: 200, 400. */
export function listOfWebhooks(db: Db): Action {
  return notInBatch('webhooks', {
    offers: [JSON_TYPE],
    parameters: ['after'],
    run: async (request) => {
      const after = new URLSearchParams(request.query).get('after');
      const id = parseUuid(after ?? '');
      if (after !== null && id === undefined) throw badRequest('`after` takes the id of a webhook.');
      const found = await listWebhooks(db, id);
      const page = found.slice(0, PAGE);
      const next = found.length > PAGE ? `/webhooks?after=${page.at(-1)!.id}` : null;
      return managedList(request, page.map(shown), PAGE, next);
    },
  });
}

/** Creates a webhook, with its secret, which is shown once: 201, 400, 409. */
export function newWebhook(db: Db, read: ReadFields, pass: Webhooks['pass']): Action {
  return notInBatch('webhooks', {
    accepts: [JSON_TYPE],
    run: async (request) => {
      const fields = read(request.body?.value);
      await pass();
      const { webhook, secret } = await whileSignedIn(db, request.principal, (db) =>
        createWebhook(db, fields),
      );
      return managedReply(request, shown(webhook), { status: 201, secrets: { secret } });
    },
  });
}

/** Shows a webhook: 200, 404. */
export function oneWebhook(db: Db): Action {
  return notInBatch('webhooks', {
    offers: [JSON_TYPE],
    run: async (request) => managedReply(request, shown(await webhookOf(db, request))),
  });
}

/** Replaces all fields; missing ones get their defaults: 200, 400, 404. */
export function replaceWebhook(db: Db, read: ReadFields): Action {
  return change(db, [JSON_TYPE], (body) => read(body?.value));
}

/** Changes fields with a merge patch (RFC 7396): 200, 400, 404. */
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
    run: async (request) => {
      const id = parseUuid(request.params.id ?? '');
      const changed =
        id &&
        (await whileSignedIn(db, request.principal, (db) =>
          changeWebhook(db, id, (before) => {
            requireMatch(request, shown(before));
            return make(request.body, before);
          }),
        ));
      if (!changed) throw absent('webhook', 'simple');
      return managedReply(request, shown(changed));
    },
  });
}

/** Deletes a webhook with its deliveries: 204, also if it does not exist. */
export function removeWebhook(db: Db): Action {
  return notInBatch('webhooks', {
    run: async (request) => {
      const id = parseUuid(request.params.id ?? '');
      if (id !== undefined)
        await deleteWebhook(db, id, (current) => requireMatch(request, current && shown(current)));
      return { status: 204, headers: [] };
    },
  });
}

/** Creates a new secret, which is shown once; the previous one is valid for one more day: 200, 404. */
export function rotateWebhook(db: Db): Action {
  return notInBatch('webhooks', {
    run: async (request) => {
      const id = parseUuid(request.params.id ?? '');
      const rotated = id && (await whileSignedIn(db, request.principal, (db) => rotateSecret(db, id)));
      if (!rotated) throw absent('webhook', 'simple');
      return managedReply(request, shown(rotated.webhook), { secrets: { secret: rotated.secret } });
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

function shown(webhook: Webhook): ManagedView {
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
  const fields = {
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
  return { path: `/webhooks/${id}`, version: webhook.version, fields };
}
