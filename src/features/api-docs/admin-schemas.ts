import { CREDENTIAL_SCHEMA } from '../../api/key-input.js';
import { arrayOf, objectOf, type Schema, schemaRef } from '../../api/schema.js';
import type { JsonObject } from '../../json.js';
import { STATUSES } from '../webhooks/delivery-store.js';
import { webhookSchema } from '../webhooks/webhook-input.js';

const text: Schema = { type: 'string' };
const time: Schema = { type: 'string', format: 'date-time' };
const timeOrNull: Schema = { type: ['string', 'null'], format: 'date-time' };
const textOrNull: Schema = { type: ['string', 'null'] };
const id: Schema = { type: 'string', format: 'uuid' };
const OWN = { _version: { type: 'integer', minimum: 1 }, _links: schemaRef('Links') };

/** Lists of version 1 show things that operators manage without links. */
const managed = (fields: Readonly<Record<string, Schema>>): Schema =>
  objectOf({ ...fields, ...OWN }, [...Object.keys(fields), '_version']);

const listOf = (name: string): Schema =>
  objectOf({
    data: arrayOf(schemaRef(name)),
    meta: schemaRef('CursorMeta'),
    links: schemaRef('CursorLinks'),
  });

const withSecret = (name: string, member: string): Schema => ({
  allOf: [
    schemaRef(name),
    { ...objectOf({ [member]: text }, []), description: `\`${member}\` is shown once.` },
  ],
});

const key = managed({
  id,
  kind: { enum: ['key', 'certificate'] },
  label: text,
  subject: text,
  scopes: arrayOf(text),
  created_at: time,
  expires_at: timeOrNull,
  last_used_at: timeOrNull,
});

export const KEY_SCHEMAS: Readonly<Record<string, Schema>> = {
  Key: { ...key, description: 'An API key or a client certificate, which has a `thumbprint` (RFC 8705).' },
  KeyInput: CREDENTIAL_SCHEMA as unknown as JsonObject,
  NewKey: withSecret('Key', 'key'),
  KeyList: listOf('Key'),
};

export const VERSION_SCHEMAS: Readonly<Record<string, Schema>> = {
  VersionCalls: {
    ...objectOf({
      version: text,
      principal: text,
      last_address: text,
      last_called_at: time,
      days: arrayOf(
        objectOf({ day: { type: 'string', format: 'date' }, calls: { type: 'integer', minimum: 1 } }),
      ),
    }),
    description: 'A caller of a version. `other`: all beyond the number that a process remembers.',
  },
  VersionCallsList: listOf('VersionCalls'),
};

/** The schemas of webhooks for a service with these collections. */
export function webhookSchemas(collections: readonly string[]): Record<string, Schema> {
  const input = webhookSchema(collections) as unknown as JsonObject & { properties: JsonObject };
  const delivery = {
    id: text,
    event_id: text,
    type: text,
    subject: text,
    status: { enum: [...STATUSES] },
    tries: { type: 'integer', minimum: 0 },
    next_at: timeOrNull,
    created_at: time,
    tried_at: timeOrNull,
    ended_at: timeOrNull,
    last_answer: {
      ...objectOf({ status: { type: ['integer', 'null'] }, error: textOrNull, body: textOrNull }),
      type: ['object', 'null'],
    },
  };
  return {
    Webhook: managed({
      id,
      ...(input.properties as Record<string, Schema>),
      disabled_reason: textOrNull,
      dropped_events: { type: 'integer', minimum: 0 },
      previous_secret_until: timeOrNull,
      created_at: time,
      updated_at: time,
    }),
    WebhookInput: input,
    WebhookPatch: { ...input, required: [] },
    NewWebhook: withSecret('Webhook', 'secret'),
    WebhookList: listOf('Webhook'),
    Delivery: objectOf({ ...delivery, _links: schemaRef('Links') }, Object.keys(delivery)),
    DeliveryWithEvent: { allOf: [schemaRef('Delivery'), objectOf({ event: schemaRef('Event') })] },
    DeliveryList: listOf('Delivery'),
  };
}

/** The schemas of OAuth clients; `input` is that of a new one. */
export const clientSchemas = (input: Schema): Record<string, Schema> => ({
  Client: managed({
    id,
    name: text,
    type: { enum: ['public', 'confidential'] },
    grant_types: arrayOf(text),
    redirect_uris: arrayOf(text),
    post_logout_redirect_uris: arrayOf(text),
    scopes: arrayOf(text),
    token_format: { enum: ['jwt', 'opaque'] },
    id_token_signed_response_alg: { enum: ['ES256', 'RS256'] },
    created_at: time,
  }),
  ClientInput: input,
  ClientPatch: { ...input, required: [] },
  NewClient: withSecret('Client', 'secret'),
  ClientList: listOf('Client'),
});
