import { forwardReply, secretReply as reply, timeOf } from '../../actions/secret-reply.js';
import type { Db } from '../../db/db.js';
import { absent } from '../../errors/record-errors.js';
import { badRequest } from '../../errors/request-errors.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import { nextIdentity } from '../../uuid.js';
import {
  type Delivery,
  getDelivery,
  insertDeliveries,
  listDeliveries,
  PAGE,
  redeliver,
  STATUSES,
  type Status,
} from './delivery-store.js';
import { deliveryPending, webhookDisabled } from './errors.js';
import { type WebhookServices, webhookOf } from './webhook-actions.js';
import type { Webhook } from './webhook-store.js';

/** Lists the deliveries of a webhook, newest first, after `?after=<id>` and with `?status=`: 200, 400, 404. */
export async function listOfDeliveries({ db }: WebhookServices, request: Request): Promise<Reply> {
  const { after, status } = readQuery(request.query.parameters);
  const { id } = await webhookOf(db, request);
  const found = await listDeliveries(db, id, after, status);
  const page = found.slice(0, PAGE);
  const suffix = status === undefined ? '' : `&status=${status}`;
  const more = found.length > PAGE;
  const next = more ? `/webhooks/${id}/deliveries?after=${page.at(-1)!.id}${suffix}` : null;
  const data = page.map((each) => linked(request, id, each));
  return forwardReply(request, { data, limit: PAGE, next });
}

function readQuery(given: URLSearchParams): { after: string | undefined; status: Status | undefined } {
  const after = given.get('after') ?? undefined;
  const status = given.get('status') ?? undefined;
  if (after !== undefined && !isId(after)) throw badRequest('`after` takes the id of a delivery.');
  if (status !== undefined && !(STATUSES as readonly string[]).includes(status))
    throw badRequest(`\`status\` takes one of ${STATUSES.join(', ')}.`);
  return { after, status: status as Status | undefined };
}

/** Shows a delivery with its event: 200, 404. */
export async function oneDelivery({ db }: WebhookServices, request: Request): Promise<Reply> {
  const webhook = await webhookOf(db, request);
  const { delivery, body } = await deliveryOf(db, webhook.id, request);
  return reply(200, { ...linked(request, webhook.id, delivery), event: JSON.parse(body) });
}

/** Makes a delivery due now, with all its attempts again: 202, 404, 409. */
export async function redelivery({ db, wake }: WebhookServices, request: Request): Promise<Reply> {
  const webhook = await enabledOf(db, request);
  const { delivery } = await deliveryOf(db, webhook.id, request);
  const again = await redeliver(db, webhook.id, delivery.id);
  if (!again) throw deliveryPending();
  wake();
  return queued(request, webhook.id, again);
}

/** Sends an event of the type `webhooks.test` now: 202 with the address of its delivery, 404, 409. */
export async function testDelivery({ db, source, wake }: WebhookServices, request: Request): Promise<Reply> {
  const webhook = await enabledOf(db, request);
  const event = testEvent(source, `${request.prefix}/webhooks/${webhook.id}`);
  const [id] = await insertDeliveries(db.run, [event], [{ webhook: webhook.id, event: 0 }]);
  wake();
  const { delivery } = (await getDelivery(db, webhook.id, id!))!;
  return queued(request, webhook.id, delivery);
}

function queued(request: Request, webhookId: string, delivery: Delivery): Reply {
  const location = request.prefix + hrefOf(webhookId, delivery.id);
  return reply(202, linked(request, webhookId, delivery), ['Location', location]);
}

async function enabledOf(db: Db, request: Request): Promise<Webhook> {
  const webhook = await webhookOf(db, request);
  if (!webhook.enabled) throw webhookDisabled();
  return webhook;
}

const TEST_TYPE = 'webhooks.test';

/** A CloudEvents 1.0 envelope. It is its own record, so it waits for no other delivery. */
function testEvent(source: string, subject: string) {
  const { id, ms } = nextIdentity();
  const body = JSON.stringify({
    specversion: '1.0',
    id,
    source,
    type: TEST_TYPE,
    subject,
    time: timeOf(ms),
    datacontenttype: 'application/json',
    data: {},
  });
  return { id, type: TEST_TYPE, recordKey: `${TEST_TYPE}/${id}`, body };
}

const hrefOf = (webhookId: string, id: string) => `/webhooks/${webhookId}/deliveries/${id}`;

/** Whether it fits a bigint. */
const isId = (text: string) => /^[1-9]\d{0,17}$/.test(text);

async function deliveryOf(db: Db, webhookId: string, { params }: Request) {
  const id = params.delivery ?? '';
  const found = isId(id) ? await getDelivery(db, webhookId, id) : undefined;
  if (!found) throw absent('delivery', 'simple');
  return found;
}

/** A delivery, in versions whose lists have links with its own. */
function linked(
  { version, prefix }: Request,
  webhookId: string,
  delivery: Delivery,
): Record<string, unknown> {
  const fields = shown(delivery, `${prefix}/webhooks/${webhookId}`);
  if (version.lists === 'numbered') return fields;
  return { ...fields, _links: { self: { href: prefix + hrefOf(webhookId, delivery.id), method: 'GET' } } };
}

/** `webhook` is the path of the webhook, which is the subject of a test. */
function shown(delivery: Delivery, webhook: string): Record<string, unknown> {
  const { id, eventId, type, recordKey, status, attempts, lastStatus, lastError, lastBody } = delivery;
  return {
    id,
    event_id: eventId,
    type,
    subject: type === TEST_TYPE ? webhook : recordKey,
    status,
    tries: attempts,
    next_at: timeOf(delivery.next),
    created_at: timeOf(delivery.created),
    tried_at: timeOf(delivery.tried),
    ended_at: timeOf(delivery.ended),
    last_answer:
      attempts === 0 || (lastStatus ?? lastError) === null
        ? null
        : { status: lastStatus, error: lastError, body: lastBody },
  };
}
