import { forwardReply, secretReply as reply, timeOf } from '../../actions/secret-reply.js';
import type { Db, Row } from '../../db/db.js';
import { absent } from '../../errors/record-errors.js';
import { badRequest } from '../../errors/request-errors.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import { nextIdentity, parseUuid } from '../../uuid.js';
import {
  getDelivery,
  insertDeliveries,
  listDeliveries,
  PAGE,
  redeliver,
  STATUSES,
} from './delivery-store.js';
import { deliveryPending, webhookDisabled } from './errors.js';
import { STORED_WEBHOOKS, type Webhook, type WebhookServices, withTimes } from './webhook-store.js';

/** Lists the deliveries of a webhook, newest first, after `?after=<id>` and with `?status=`: 200, 400, 404. */
export async function listOfDeliveries({ db }: WebhookServices, request: Request): Promise<Reply> {
  const { parameters } = request.query;
  const [after, status] = [parameters.get('after') ?? undefined, parameters.get('status') ?? undefined];
  if (after !== undefined && !isId(after)) throw badRequest('`after` takes the id of a delivery.');
  if (status !== undefined && !STATUSES.includes(status))
    throw badRequest(`\`status\` takes one of ${STATUSES.join(', ')}.`);
  const { id } = await webhookOf(db, request);
  const found = await listDeliveries(db, id, after, status);
  const page = found.slice(0, PAGE);
  const suffix = status === undefined ? '' : `&status=${status}`;
  const more = found.length > PAGE;
  const next = more ? `/webhooks/${id}/deliveries?after=${page.at(-1)!.id}${suffix}` : null;
  const data = page.map((each) => linked(request, id, each));
  return forwardReply(request, { data, limit: PAGE, next });
}

/** Shows a delivery with its event: 200, 404. */
export async function oneDelivery({ db }: WebhookServices, request: Request): Promise<Reply> {
  const webhook = await webhookOf(db, request);
  const { body, ...delivery } = await deliveryOf(db, webhook.id, request);
  return reply(200, { ...linked(request, webhook.id, delivery), event: JSON.parse(String(body)) });
}

/** Makes a delivery due now, with all its attempts again: 202, 404, 409. */
export async function redelivery({ db, wake }: WebhookServices, request: Request): Promise<Reply> {
  const webhook = await enabledOf(db, request);
  const { id } = await deliveryOf(db, webhook.id, request);
  const again = await redeliver(db, webhook.id, String(id));
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
  const { body: _, ...delivery } = (await getDelivery(db, webhook.id, id!))!;
  return queued(request, webhook.id, delivery);
}

function queued(request: Request, webhookId: string, delivery: Row): Reply {
  const location = request.prefix + hrefOf(webhookId, delivery.id);
  return reply(202, linked(request, webhookId, delivery), ['Location', location]);
}

/** The webhook that a path names. Throws 404. */
async function webhookOf(db: Db, { params }: Request): Promise<Webhook> {
  const id = parseUuid(params.id ?? '');
  const webhook = id && (await STORED_WEBHOOKS.get(db, id));
  if (!webhook) throw absent('webhook', 'simple');
  return webhook;
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

const hrefOf = (webhookId: string, id: unknown) => `/webhooks/${webhookId}/deliveries/${id}`;

/** Whether it fits a bigint. */
const isId = (text: string) => /^[1-9]\d{0,17}$/.test(text);

async function deliveryOf(db: Db, webhookId: string, { params }: Request) {
  const id = params.delivery ?? '';
  const found = isId(id) ? await getDelivery(db, webhookId, id) : undefined;
  if (!found) throw absent('delivery', 'simple');
  return found;
}

/** A delivery, in versions whose lists have links with its own. The subject of a test is the path of the webhook. */
function linked({ version, prefix }: Request, webhookId: string, row: Row): Record<string, unknown> {
  const { last_status: status, last_error: error, last_body: body, ...delivery } = row;
  const fields = {
    ...withTimes(delivery, ['next_at', 'created_at', 'tried_at', 'ended_at']),
    ...(row.type === TEST_TYPE ? { subject: `${prefix}/webhooks/${webhookId}` } : {}),
    last_answer: row.tries === 0 || (status ?? error) === null ? null : { status, error, body },
  };
  if (version.lists === 'numbered') return fields;
  return { ...fields, _links: { self: { href: prefix + hrefOf(webhookId, row.id), method: 'GET' } } };
}
