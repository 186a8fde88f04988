import type { Db, Row, Run } from '../../db/db.js';
import { fill, type Statements, statements } from '../../db/statements.js';
import type { PruneTask } from '../../feature.js';

export const STATUSES: readonly string[] = ['pending', 'delivered', 'dead'];

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
  readonly webhook_id: string;
  readonly event_id: string;
  readonly body: string;
  /** Attempts, including this one. */
  readonly tries: number;
  /** Seconds since it was first due. */
  readonly age: number;
  readonly url: string;
  readonly secret: string;
  /** Null: only the current secret is valid. */
  readonly previous_secret: string | null;
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

/** Statements with their `:name` placeholders replaced. */
export const filled = <Name extends string>(
  texts: Statements<Name>,
  parts: Readonly<Record<string, string>>,
): Statements<Name> =>
  Object.fromEntries(
    Object.entries<string>(texts).map(([name, text]) => [name, fill(text, parts)]),
  ) as Statements<Name>;

/** The statements of the feature. */
// biome-ignore format: one name a line says no more
export const WEBHOOKS_SQL = statements('features/webhooks/webhooks.sql', [
  'create_webhook', 'list_webhooks', 'get_webhook', 'lock_webhook', 'change_webhook', 'delete_webhook',
  'rotate_secret', 'lock_cursor', 'move_cursor', 'lock_enabled', 'lock_webhooks', 'insert_deliveries', 'claim',
  'finish', 'list_deliveries', 'get_delivery', 'redeliver', 'prune_deliveries', 'past_ended', 'past_left',
  'change_segment', 'truncate_expired',
]);

/** The members of a delivery in a response, the times in milliseconds since 1970. */
const DELIVERY = `id::text, event_id, type, record_key as subject, status, tries,
  (extract(epoch from next_at) * 1000)::float8 as next_at,
  (extract(epoch from created_at) * 1000)::float8 as created_at,
  (extract(epoch from tried_at) * 1000)::float8 as tried_at,
  (extract(epoch from ended_at) * 1000)::float8 as ended_at, last_status, last_error, last_body`;

const SQL = filled(WEBHOOKS_SQL, { delivery: DELIVERY });

/** Deliveries in one response. */
export const PAGE = 100;
/** Above every delivery's id. */
const ABOVE = '9223372036854775807';

/** The newest deliveries, or those older than `after`, of one status or all: up to PAGE, plus one if there are more. */
export const listDeliveries = (
  db: Db,
  webhookId: string,
  after: string | undefined,
  status: string | undefined,
): Promise<readonly Row[]> =>
  db.search(SQL.list_deliveries, [webhookId, after ?? ABOVE, status ?? null, PAGE + 1]);

/** A delivery with its `body`. */
export const getDelivery = async (db: Db, webhookId: string, id: string): Promise<Row | undefined> =>
  (await db.run(SQL.get_delivery, [webhookId, id]))[0];

/** Makes a delivery due now, with all its attempts again. Undefined: it does not exist, is in flight, or waits. */
export const redeliver = async (db: Db, webhookId: string, id: string): Promise<Row | undefined> =>
  (await db.run(SQL.redeliver, [webhookId, id]))[0];

/** Returns the ids of the new deliveries. If there may be others of the same records, the webhooks' rows must be locked. */
export async function insertDeliveries(
  run: Run,
  events: readonly WebhookEvent[],
  deliveries: readonly NewDelivery[],
): Promise<string[]> {
  const rows = await run(SQL.insert_deliveries, [JSON.stringify(events), JSON.stringify(deliveries)]);
  return rows.map(({ id }) => String(id));
}

/** Leases deliveries that are due. */
export async function claim(
  db: Db,
  owner: string,
  leaseSeconds: number,
  max: { readonly perWebhook: number; readonly all: number },
): Promise<Claimed[]> {
  return (await db.run(SQL.claim, [owner, leaseSeconds, max.perWebhook, max.all])) as unknown as Claimed[];
}

/** Stores results in one transaction, except those whose lease another process has. */
export async function finish(db: Db, owner: string, results: readonly (Result & { webhookId: string })[]) {
  const webhooks = new Set(results.map(({ webhookId }) => webhookId));
  await db.transaction(async (run) => {
    await run(SQL.lock_webhooks, [`{${[...webhooks].join(',')}}`]);
    await run(SQL.finish, [owner, JSON.stringify(results)]);
  });
}

/** Delivered and dead deliveries expire after this time; segments that have only such ones are truncated. */
export const webhookPrunes = (retentionSeconds: number): readonly PruneTask[] =>
  [
    WEBHOOKS_SQL.truncate_expired,
    WEBHOOKS_SQL.change_segment,
    fill(WEBHOOKS_SQL.prune_deliveries, { past: WEBHOOKS_SQL.past_ended }),
    fill(WEBHOOKS_SQL.prune_deliveries, { past: WEBHOOKS_SQL.past_left }),
  ].map((text) => ({ text, args: [retentionSeconds] }));
