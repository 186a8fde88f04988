import { timeOf } from '../../actions/secret-reply.js';
import { type Created, inTable, type Store, type Stored } from '../../api/managed-endpoints.js';
import type { Db, Row } from '../../db/db.js';
import { invalid } from '../../errors/input-errors.js';
import type { Json } from '../../json.js';
import { ABOVE_IDS, nextIdentity } from '../../uuid.js';
import { compileOnFirstUse } from '../../validation/validation.js';
import { filled, WEBHOOKS_SQL } from './delivery-store.js';
import { tooManyWebhooks } from './errors.js';
import type { Webhooks } from './open-webhooks.js';
import { newSecret } from './sign.js';
import { readTarget, type TargetRules } from './target-url.js';
import { webhookSchema } from './webhook-kind.js';

/** The fields of a webhook that clients set. */
export interface WebhookFields {
  readonly url: string;
  readonly types: readonly string[];
  readonly description: string;
  readonly enabled: boolean;
}

/** A stored webhook without its secrets, as a response has it beside its version. */
export interface Webhook extends Stored, WebhookFields {}

/** The services that endpoints of webhooks run with. */
export interface WebhookServices extends Pick<Webhooks, 'wake' | 'pass'> {
  readonly db: Db;
  /** Reads a webhook's fields from a body. Throws 400. */
  readonly read: (input: Json | undefined) => WebhookFields;
  /** The source of test events: the URL of the service. */
  readonly source: string;
}

/** A row with times in the format of RFC 3339. In the database they are milliseconds since 1970. */
export const withTimes = <Fields extends Row>(row: Fields, names: readonly (keyof Fields)[]): Fields => ({
  ...row,
  ...Object.fromEntries(names.map((name) => [name, timeOf((row[name] ?? undefined) as number | undefined)])),
});

/** Listed by name, so that no statement returns a secret. */
const WEBHOOK = `id::text, version, url, array_to_json(types)::text as types, description, enabled, disabled_reason, dropped_events,
  (extract(epoch from case when previous_until > now() then previous_until end) * 1000)::float8 as previous_secret_until,
  (extract(epoch from created_at) * 1000)::float8 as created_at,
  (extract(epoch from updated_at) * 1000)::float8 as updated_at`;

const SQL = filled(WEBHOOKS_SQL, { webhook: WEBHOOK });

const MAX_WEBHOOKS = 1000;
/** How long the previous secret is valid after a rotation. */
const OVERLAP_S = 86_400;

/** Webhooks. A creation is 409 if there are too many. */
export const STORED_WEBHOOKS: Store<
  Webhook,
  WebhookFields,
  Pick<WebhookServices, 'read'>,
  Omit<WebhookServices, 'read'>
> = {
  ...inTable(
    {
      list: SQL.list_webhooks,
      firstId: ABOVE_IDS,
      get: SQL.get_webhook,
      lock: SQL.lock_webhook,
      change: SQL.change_webhook,
      remove: SQL.delete_webhook,
    },
    webhookOf,
    argumentsOf,
  ),
  read: ({ read }, body) => read(body),
  prepare: ({ pass }) => pass(),
  create: async (db, fields) => {
    const secret = newSecret();
    const args = [nextIdentity().id, ...argumentsOf(fields), secret, MAX_WEBHOOKS];
    const created = withSecret(await db.run(SQL.create_webhook, args), secret);
    if (!created) throw tooManyWebhooks(MAX_WEBHOOKS);
    return created;
  },
  rotate: async (db, id) => {
    const secret = newSecret();
    return withSecret(await db.run(SQL.rotate_secret, [id, secret, OVERLAP_S]), secret);
  },
  shown: ({ version: _, ...shown }) => shown,
};

const withSecret = ([row]: readonly Row[], secret: string): Created<Webhook> | undefined =>
  row && { item: webhookOf(row), secret };

function argumentsOf({ url, types, description, enabled }: WebhookFields) {
  return [url, JSON.stringify(types), description, String(enabled)];
}

function webhookOf(row: Row): Webhook {
  return {
    ...withTimes(row, ['previous_secret_until', 'created_at', 'updated_at']),
    types: JSON.parse(String(row.types)) as string[],
    dropped_events: Number(row.dropped_events),
  } as unknown as Webhook;
}

/** Validates `{url, types, description?, enabled?}` for a service with these collections. */
export function readerOf(collections: readonly string[], rules: TargetRules): WebhookServices['read'] {
  const check = compileOnFirstUse({
    schema: webhookSchema(collections),
    normalize: { url: ['trim'], description: ['trim', 'nfc'] },
  });
  return (input) => {
    const { url, types, description = '', enabled = true } = check(input).fields as unknown as Given;
    const target = readTarget(url, rules);
    if (typeof target === 'string') throw invalid([{ path: '/url', message: target, keyword: 'format' }]);
    return { url: target.href, types, description, enabled };
  };
}

type Given = Pick<WebhookFields, 'url' | 'types'> & Partial<WebhookFields>;
