import type { Created } from '../../api/managed-endpoints.js';
import type { Db, Row, Run } from '../../db/db.js';
import { filled } from '../../db/statements.js';
import { nextIdentity } from '../../uuid.js';
import { tooManyWebhooks } from './errors.js';
import { newSecret } from './secret.js';
import { WEBHOOKS_SQL } from './webhook-statements.js';

/** The fields of a webhook that clients set. */
export interface WebhookFields {
  readonly url: string;
  readonly types: readonly string[];
  readonly description: string;
  readonly enabled: boolean;
}

/** A stored webhook without its secrets. Times in milliseconds since 1970. */
export interface Webhook extends WebhookFields {
  readonly id: string;
  /** Counts changes, from 1. */
  readonly version: number;
  /** `gone`: its target responded with 410. */
  readonly disabledReason: string | null;
  /** Events for it that were deleted before they became deliveries. */
  readonly droppedEvents: number;
  /** Until when the previous secret is valid too; undefined: it is not. */
  readonly previousUntil: number | undefined;
  readonly created: number;
  readonly updated: number;
}

/** Listed by name, so that no statement returns a secret. */
const WEBHOOK = `id::text, version, url, array_to_json(types)::text as types, description, enabled, disabled_reason, dropped_events,
  (extract(epoch from case when previous_until > now() then previous_until end) * 1000)::float8 as previous_until,
  (extract(epoch from created_at) * 1000)::float8 as created,
  (extract(epoch from updated_at) * 1000)::float8 as updated`;

const SQL = filled(WEBHOOKS_SQL, { webhook: WEBHOOK });

const MAX_WEBHOOKS = 1000;
/** How long the previous secret is valid after a rotation. */
const OVERLAP_S = 86_400;

/** Throws 409 if there are too many. */
export async function createWebhook(db: Pick<Db, 'run'>, fields: WebhookFields): Promise<Created<Webhook>> {
  const { id } = nextIdentity();
  const secret = newSecret();
  const args = [id, ...argumentsOf(fields), secret, MAX_WEBHOOKS];
  const [row] = await db.run(SQL.create_webhook, args);
  if (!row) throw tooManyWebhooks(MAX_WEBHOOKS);
  return { item: webhookOf(row), secret };
}

/** The newest webhooks, or those older than the one with the id `after`: up to `max`. */
export async function listWebhooks(db: Db, after: string | undefined, max: number): Promise<Webhook[]> {
  const above = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  return (await db.run(SQL.list_webhooks, [after ?? above, max])).map(webhookOf);
}

export async function getWebhook(db: Db, id: string): Promise<Webhook | undefined> {
  const [row] = await db.run(SQL.get_webhook, [id]);
  return row && webhookOf(row);
}

/** Changes the fields with `change`, one change at a time. Undefined: there is no such webhook. */
export async function changeWebhook(
  db: Pick<Db, 'transaction'>,
  id: string,
  change: (webhook: Webhook) => WebhookFields,
): Promise<Webhook | undefined> {
  return await db.transaction(async (run: Run) => {
    const [row] = await run(SQL.lock_webhook, [id]);
    if (!row) return undefined;
    const [changed] = await run(SQL.change_webhook, [id, ...argumentsOf(change(webhookOf(row)))]);
    return webhookOf(changed!);
  });
}

/** Whether there was one. `permit` receives what is about to be deleted, and may throw. */
export async function deleteWebhook(
  db: Db,
  id: string,
  permit: (webhook: Webhook | undefined) => void,
): Promise<boolean> {
  return await db.transaction(async (run: Run) => {
    const [row] = await run(SQL.lock_webhook, [id]);
    permit(row && webhookOf(row));
    if (row) await run(SQL.delete_webhook, [id]);
    return row !== undefined;
  });
}

/** Creates a new secret; the previous one is valid for one more day. Undefined: there is no such webhook. */
export async function rotateSecret(db: Pick<Db, 'run'>, id: string): Promise<Created<Webhook> | undefined> {
  const secret = newSecret();
  const [row] = await db.run(SQL.rotate_secret, [id, secret, OVERLAP_S]);
  return row && { item: webhookOf(row), secret };
}

function argumentsOf({ url, types, description, enabled }: WebhookFields) {
  return [url, JSON.stringify(types), description, String(enabled)];
}

function webhookOf(row: Row): Webhook {
  return {
    id: String(row.id),
    version: Number(row.version),
    url: String(row.url),
    types: JSON.parse(String(row.types)) as string[],
    description: String(row.description),
    enabled: row.enabled === true,
    disabledReason: row.disabled_reason as string | null,
    droppedEvents: Number(row.dropped_events),
    previousUntil: typeof row.previous_until === 'number' ? row.previous_until : undefined,
    created: Number(row.created),
    updated: Number(row.updated),
  };
}
