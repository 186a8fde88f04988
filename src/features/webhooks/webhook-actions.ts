import {
  type ManagedView,
  managedPage,
  managedReply,
  requireMatch,
} from '../../actions/admin/admin-replies.js';
import { whileSignedIn } from '../../actions/admin/signed-in.js';
import { timeOf } from '../../actions/secret-reply.js';
import type { Db } from '../../db/db.js';
import { absent } from '../../errors/record-errors.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
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

/** The services that endpoints of webhooks run with. */
export interface WebhookServices extends Pick<Webhooks, 'wake' | 'pass'> {
  readonly db: Db;
  readonly read: ReadFields;
  /** The source of test events: the URL of the service. */
  readonly source: string;
}

/** Lists webhooks, newest first, after `?after=<id>`: 200, 400. */
export function listOfWebhooks({ db }: WebhookServices, request: Request): Promise<Reply> {
  const page = { path: '/webhooks', limit: PAGE, invalid: '`after` takes the id of a webhook.' };
  return managedPage(request, page, (after) => listWebhooks(db, after), shown);
}

/** Creates a webhook, with its secret, which is shown once: 201, 400, 409. */
export async function newWebhook({ db, read, pass }: WebhookServices, request: Request): Promise<Reply> {
  const fields = read(request.body?.value);
  await pass();
  const { webhook, secret } = await whileSignedIn(db, request.principal, (db) => createWebhook(db, fields));
  return managedReply(request, shown(webhook), { status: 201, secrets: { secret } });
}

/** Shows a webhook: 200, 404. */
export async function oneWebhook({ db }: WebhookServices, request: Request): Promise<Reply> {
  return managedReply(request, shown(await webhookOf(db, request)));
}

/** Replaces all fields; missing ones get their defaults: 200, 400, 404. */
export const replaceWebhook = (services: WebhookServices, request: Request): Promise<Reply> =>
  change(services, request, ({ read }) => read(request.body?.value));

/** Changes fields with a merge patch (RFC 7396): 200, 400, 404. */
export const patchWebhook = (services: WebhookServices, request: Request): Promise<Reply> =>
  change(services, request, ({ read }, before) => read(request.body?.value, before));

async function change(
  services: WebhookServices,
  request: Request,
  make: (services: WebhookServices, before: WebhookFields) => WebhookFields,
): Promise<Reply> {
  const id = parseUuid(request.params.id ?? '');
  const changed =
    id &&
    (await whileSignedIn(services.db, request.principal, (db) =>
      changeWebhook(db, id, (before) => {
        requireMatch(request, shown(before));
        return make(services, before);
      }),
    ));
  if (!changed) throw absent('webhook', 'simple');
  return managedReply(request, shown(changed));
}

/** Deletes a webhook with its deliveries: 204, also if it does not exist. */
export async function removeWebhook({ db }: WebhookServices, request: Request): Promise<Reply> {
  const id = parseUuid(request.params.id ?? '');
  if (id !== undefined)
    await deleteWebhook(db, id, (current) => requireMatch(request, current && shown(current)));
  return { status: 204, headers: [] };
}

/** Creates a new secret, which is shown once; the previous one is valid for one more day: 200, 404. */
export async function rotateWebhook({ db }: WebhookServices, request: Request): Promise<Reply> {
  const id = parseUuid(request.params.id ?? '');
  const rotated = id && (await whileSignedIn(db, request.principal, (db) => rotateSecret(db, id)));
  if (!rotated) throw absent('webhook', 'simple');
  return managedReply(request, shown(rotated.webhook), { secrets: { secret: rotated.secret } });
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
