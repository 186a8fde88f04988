import type { Db, Row, Run } from '../db/db.js';
import { fill, readStatements } from '../db/statements.js';

export const STATUSES = ['pending', 'delivered', 'dead'] as const;
export type Status = (typeof STATUSES)[number];

/** A delivery as it is shown. Times in milliseconds since 1970. */
export interface Delivery {
  readonly id: string;
  readonly eventId: string;
  readonly type: string;
  readonly recordKey: string;
  readonly status: Status;
  readonly attempts: number;
  /** When it is tried next; undefined: it has ended, or waits for an earlier one of its record. */
  readonly next: number | undefined;
  readonly created: number;
  readonly tried: number | undefined;
  readonly ended: number | undefined;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly lastBody: string | null;
}

/** An event to tell webhooks of. */
export interface Told {
  readonly id: string;
  readonly type: string;
  /** Events with the same one are delivered in order. */
  readonly recordKey: string;
  /** The CloudEvents envelope, as it is sent. */
  readonly body: string;
}

/** Which webhook is told of which event, by its place in the list. */
export interface Telling {
  readonly webhook: string;
  readonly event: number;
}

/** A delivery that this process has the lease of. */
export interface Claimed {
  readonly id: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly body: string;
  /** With this one. */
  readonly tries: number;
  /** Seconds since it was first due. */
  readonly age: number;
  readonly url: string;
  /** The current one first. */
  readonly secrets: readonly string[];
}

/** How a try ended, as it is written down. */
export interface Result {
  readonly id: string;
  readonly tries: number;
  /** `back`: it was not tried to its end, and does not count. */
  readonly outcome: 'delivered' | 'dead' | 'retry' | 'back';
  /** Seconds until the next try. */
  readonly delay: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly body: string | null;
  /** The webhook is not to be used any more. */
  readonly disable: boolean;
}

const DELIVERY = `id::text, event_id, type, record_key, status, tries,
  (extract(epoch from next_at) * 1000)::float8 as next,
  (extract(epoch from created_at) * 1000)::float8 as created,
  (extract(epoch from tried_at) * 1000)::float8 as tried,
  (extract(epoch from ended_at) * 1000)::float8 as ended, last_status, last_error, last_body`;

const SQL = new Map(
  [...readStatements('webhooks.sql')].map(([name, text]) => [name, fill(text, { delivery: DELIVERY })]),
);

/** Deliveries of one answer. */
export const PAGE = 100;
/** Above every delivery's id. */
const ABOVE = '9223372036854775807';

/** The newest ones, or those older than `after`, of one status or all: up to PAGE, and one more when there is. */
export async function listDeliveries(
  db: Db,
  webhookId: string,
  after: string | undefined,
  status: Status | undefined,
): Promise<Delivery[]> {
  const args = [webhookId, after ?? ABOVE, status ?? null, PAGE + 1];
  return (await db.search(SQL.get('list_deliveries')!, args)).map(deliveryOf);
}

/** One with the body that it sends. */
export async function getDelivery(
  db: Db,
  webhookId: string,
  id: string,
): Promise<{ readonly delivery: Delivery; readonly body: string } | undefined> {
  const [row] = await db.run(SQL.get('get_delivery')!, [webhookId, id]);
  return row && { delivery: deliveryOf(row), body: String(row.body) };
}

/** Makes one due now, with all its tries before it; undefined: there is none, or it is under way or waits. */
export async function redeliver(db: Db, webhookId: string, id: string): Promise<Delivery | undefined> {
  const [row] = await db.run(SQL.get('redeliver')!, [webhookId, id]);
  return row && deliveryOf(row);
}

/** Gives the ids of the new deliveries. The webhooks' rows must be locked when there are others of their records. */
export async function insertDeliveries(
  run: Run,
  events: readonly Told[],
  tellings: readonly Telling[],
): Promise<string[]> {
  const told = events.map(({ id, type, recordKey, body }) => ({ id, type, record_key: recordKey, body }));
  const rows = await run(SQL.get('insert_deliveries')!, [JSON.stringify(told), JSON.stringify(tellings)]);
  return rows.map(({ id }) => String(id));
}

/** Takes leases of what is due. */
export async function claim(
  db: Db,
  owner: string,
  leaseSeconds: number,
  max: { readonly perWebhook: number; readonly all: number },
): Promise<Claimed[]> {
  const rows = await db.run(SQL.get('claim')!, [owner, leaseSeconds, max.perWebhook, max.all]);
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

/** Writes results down, in one transaction; those whose lease was taken over are left out. */
export async function finish(db: Db, owner: string, results: readonly (Result & { webhookId: string })[]) {
  const webhooks = new Set(results.map(({ webhookId }) => webhookId));
  await db.transaction(async (run) => {
    await run(SQL.get('lock_webhooks')!, [`{${[...webhooks].join(',')}}`]);
    await run(SQL.get('finish')!, [owner, JSON.stringify(results)]);
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
