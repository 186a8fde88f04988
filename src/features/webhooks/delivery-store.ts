import type { Db, Row, Run } from '../../db/db.js';
import { filled } from '../../db/statements.js';
import { WEBHOOKS_SQL } from './webhook-statements.js';

export const STATUSES = ['pending', 'delivered', 'dead'] as const;
export type Status = (typeof STATUSES)[number];

/** A delivery. Times in milliseconds since 1970. */
export interface Delivery {
  readonly id: string;
  readonly eventId: string;
  readonly type: string;
  readonly recordKey: string;
  readonly status: Status;
  readonly attempts: number;
  /** The time of the next attempt; undefined: it has ended, or waits for an earlier delivery of its record. */
  readonly next: number | undefined;
  readonly created: number;
  readonly tried: number | undefined;
  readonly ended: number | undefined;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly lastBody: string | null;
}

/** An event for webhooks. */
export interface WebhookEvent {
  readonly id: string;
  readonly type: string;
  /** Events with the same key are delivered in order. */
  readonly recordKey: string;
  /** The CloudEvents envelope, as it is sent. */
  readonly body: string;
}

/** A webhook and the index of an event for it. */
export interface NewDelivery {
  readonly webhook: string;
  readonly event: number;
}

/** A delivery that this process has leased. */
export interface Claimed {
  readonly id: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly body: string;
  /** Attempts, including this one. */
  readonly tries: number;
  /** Seconds since it was first due. */
  readonly age: number;
  readonly url: string;
  /** The current secret first. */
  readonly secrets: readonly string[];
}

/** The result of an attempt. */
export interface Result {
  readonly id: string;
  readonly tries: number;
  /** `back`: the attempt was not completed, and is ignored. */
  readonly outcome: 'delivered' | 'dead' | 'retry' | 'back';
  /** Seconds until the next attempt. */
  readonly delay: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly body: string | null;
  /** Whether the webhook is to be disabled. */
  readonly disable: boolean;
}

const DELIVERY = `id::text, event_id, type, record_key, status, tries,
  (extract(epoch from next_at) * 1000)::float8 as next,
  (extract(epoch from created_at) * 1000)::float8 as created,
  (extract(epoch from tried_at) * 1000)::float8 as tried,
  (extract(epoch from ended_at) * 1000)::float8 as ended, last_status, last_error, last_body`;

const SQL = filled(WEBHOOKS_SQL, { delivery: DELIVERY });

/** Deliveries in one response. */
export const PAGE = 100;
/** Above every delivery's id. */
const ABOVE = '9223372036854775807';

/** The newest deliveries, or those older than `after`, of one status or all: up to PAGE, plus one if there are more. */
export async function listDeliveries(
  db: Db,
  webhookId: string,
  after: string | undefined,
  status: Status | undefined,
): Promise<Delivery[]> {
  const args = [webhookId, after ?? ABOVE, status ?? null, PAGE + 1];
  return (await db.search(SQL.list_deliveries, args)).map(deliveryOf);
}

/** A delivery with its body. */
export async function getDelivery(
  db: Db,
  webhookId: string,
  id: string,
): Promise<{ readonly delivery: Delivery; readonly body: string } | undefined> {
  const [row] = await db.run(SQL.get_delivery, [webhookId, id]);
  return row && { delivery: deliveryOf(row), body: String(row.body) };
}

/** Makes a delivery due now, with all its attempts again. Undefined: it does not exist, is in flight, or waits. */
export async function redeliver(db: Db, webhookId: string, id: string): Promise<Delivery | undefined> {
  const [row] = await db.run(SQL.redeliver, [webhookId, id]);
  return row && deliveryOf(row);
}

/** Returns the ids of the new deliveries. If there may be others of the same records, the webhooks' rows must be locked. */
export async function insertDeliveries(
  run: Run,
  events: readonly WebhookEvent[],
  deliveries: readonly NewDelivery[],
): Promise<string[]> {
  const rowsOfEvents = events.map(({ id, type, recordKey, body }) => ({
    id,
    type,
    record_key: recordKey,
    body,
  }));
  const rows = await run(SQL.insert_deliveries, [JSON.stringify(rowsOfEvents), JSON.stringify(deliveries)]);
  return rows.map(({ id }) => String(id));
}

/** Leases deliveries that are due. */
export async function claim(
  db: Db,
  owner: string,
  leaseSeconds: number,
  max: { readonly perWebhook: number; readonly all: number },
): Promise<Claimed[]> {
  const rows = await db.run(SQL.claim, [owner, leaseSeconds, max.perWebhook, max.all]);
  return rows.map((row) => ({
    id: String(row.id),
    webhookId: String(row.webhook_id),
    eventId: String(row.event_id),
    body: String(row.body),
    tries: Number(row.tries),
    age: Number(row.age),
    url: String(row.url),
    secrets: [row.secret, row.previous_secret].filter((secret) => typeof secret === 'string'),
  }));
}

/** Stores results in one transaction, except those whose lease another process has. */
export async function finish(db: Db, owner: string, results: readonly (Result & { webhookId: string })[]) {
  const webhooks = new Set(results.map(({ webhookId }) => webhookId));
  await db.transaction(async (run) => {
    await run(SQL.lock_webhooks, [`{${[...webhooks].join(',')}}`]);
    await run(SQL.finish, [owner, JSON.stringify(results)]);
  });
}

function deliveryOf(row: Row): Delivery {
  return {
    id: String(row.id),
    eventId: String(row.event_id),
    type: String(row.type),
    recordKey: String(row.record_key),
    status: row.status as Status,
    attempts: Number(row.tries),
    next: millis(row.next),
    created: Number(row.created),
    tried: millis(row.tried),
    ended: millis(row.ended),
    lastStatus: row.last_status as number | null,
    lastError: row.last_error as string | null,
    lastBody: row.last_body as string | null,
  };
}

function millis(value: Row[string] | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
