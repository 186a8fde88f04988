import type { Db, Row, Run } from '../db/db.js';
import { fill, readStatements } from '../db/statements.js';
import { webhookConflict } from '../errors.js';
import { nextIdentity } from '../uuid.js';
import { newSecret } from './secret.js';

/** What a client decides about a webhook. */
export interface WebhookFields {
  readonly url: string;
  readonly types: readonly string[];
  readonly description: string;
  readonly enabled: boolean;
}

/** A webhook as it is stored, but for its secrets. Times in milliseconds since 1970. */
export interface Webhook extends WebhookFields {
  readonly id: string;
  /** `gone`: its target answered 410. */
  readonly disabledReason: string | null;
  /** Events that it wanted and that were deleted before they became deliveries. */
  readonly droppedEvents: number;
  /** Until when the secret before this one is good as well; undefined: it is not. */
  readonly previousUntil: number | undefined;
  readonly created: number;
  readonly updated: number;
}

/** A webhook and the secret that nobody is shown again. */
export interface NewSecret {
  readonly webhook: Webhook;
  readonly secret: string;
}

/** Named so that no statement gives a secret away. */
const WEBHOOK = `id::text, url, array_to_json(types)::text as types, description, enabled, disabled_reason, dropped_events,
  (extract(epoch from case when previous_until > now() then previous_until end) * 1000)::float8 as previous_until,
  (extract(epoch from created_at) * 1000)::float8 as created,
  (extract(epoch from updated_at) * 1000)::float8 as updated`;

const SQL = new Map(
  [...readStatements('webhooks.sql')].map(([name, text]) => [name, fill(text, { webhook: WEBHOOK })]),
);

const MAX_WEBHOOKS = 1000;
/** Webhooks of one answer. */
export const PAGE = 100;
/** How long the secret before is good after a rotation. */
const OVERLAP_S = 86_400;

/** Throws 409 when there are too many. */
export async function createWebhook(db: Db, fields: WebhookFields): Promise<NewSecret> {
  const { id } = nextIdentity();
  const secret = newSecret();
  const args = [id, ...argumentsOf(fields), secret, MAX_WEBHOOKS];
  const [row] = await db.run(SQL.get('create_webhook')!, args);
  if (!row) throw webhookConflict('TOO_MANY_WEBHOOKS', `There may be at most ${MAX_WEBHOOKS} webhooks.`);
  return { webhook: webhookOf(row), secret };
}

/** The newest ones, or those older than the one with the id `after`: up to PAGE, and one more when there is. */
export async function listWebhooks(db: Db, after: string | undefined): Promise<Webhook[]> {
  const above = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  return (await db.run(SQL.get('list_webhooks')!, [after ?? above, PAGE + 1])).map(webhookOf);
}

export async function getWebhook(db: Db, id: string): Promise<Webhook | undefined> {
  const [row] = await db.run(SQL.get('get_webhook')!, [id]);
  return row && webhookOf(row);
}

/** Stores what `change` makes of the fields, one change at a time; undefined: there is none with this id. */
export async function changeWebhook(
  db: Db,
  id: string,
  change: (fields: WebhookFields) => WebhookFields,
): Promise<Webhook | undefined> {
  return await db.transaction(async (run: Run) => {
    const [row] = await run(SQL.get('lock_webhook')!, [id]);
    if (!row) return undefined;
    const [changed] = await run(SQL.get('change_webhook')!, [id, ...argumentsOf(change(webhookOf(row)))]);
    return webhookOf(changed!);
  });
}

/** Also when there is none. */
export async function deleteWebhook(db: Db, id: string): Promise<void> {
  await db.run(SQL.get('delete_webhook')!, [id]);
}

/** A new secret; the one before is good for a day more. Undefined: there is none with this id. */
export async function rotateSecret(db: Db, id: string): Promise<NewSecret | undefined> {
  const secret = newSecret();
  const [row] = await db.run(SQL.get('rotate_secret')!, [id, secret, OVERLAP_S]);
  return row && { webhook: webhookOf(row), secret };
}

function argumentsOf({ url, types, description, enabled }: WebhookFields) {
  return [url, JSON.stringify(types), description, String(enabled)];
}

function webhookOf(row: Row): Webhook {
  return {
    id: String(row.id),
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
