import { ID, type Schema, TEXT_OR_NULL, TIME, TIME_OR_NULL } from '../../api/doc.js';
import type { InputSchema, Kind } from '../../api/kind.js';
import { EVENT_VERBS } from '../../collection/resource.js';
import { MAX_URL } from './target-url.js';

/** Members that the service sets. */
const READ_ONLY = {
  disabled_reason: TEXT_OR_NULL,
  dropped_events: { type: 'integer', minimum: 0 },
  previous_secret_until: TIME_OR_NULL,
} as const;

/** The JSON Schema of a webhook's fields for a service with these collections. */
export function webhookSchema(collections: readonly string[]) {
  const known = collections.flatMap((name) => [`${name}.*`, ...EVENT_VERBS.map((verb) => `${name}.${verb}`)]);
  return {
    type: 'object' as const,
    required: ['url', 'types'],
    additionalProperties: false as const,
    properties: {
      url: { type: 'string', minLength: 1, maxLength: MAX_URL },
      types: {
        type: 'array',
        minItems: 1,
        maxItems: known.length + 1,
        uniqueItems: true,
        items: { type: 'string', enum: ['*', ...known] },
      },
      description: { type: 'string', maxLength: 500 },
      enabled: { type: 'boolean' },
    },
  } satisfies InputSchema;
}

/** Webhooks. */
export const WEBHOOK: Kind = {
  path: '/webhooks',
  type: 'Webhook',
  singular: 'webhook',
  one: 'a webhook',
  many: 'webhooks',
  order: 'newest first',
  limit: 100,
  homeLink: { name: 'webhooks', position: 8 },
  secret: 'secret',
  creationErrors: ['TOO_MANY_WEBHOOKS'],
  canChange: true,
  rotation: 'Create a new secret; the previous one is valid for one more day',
  ignored: Object.keys(READ_ONLY),
  input: webhookSchema,
  members: (collections) => ({
    id: ID,
    ...(webhookSchema(collections).properties as unknown as Record<string, Schema>),
    ...READ_ONLY,
    created_at: TIME,
    updated_at: TIME,
  }),
  page: {
    columns: ['url', 'types', 'description', 'enabled', 'disabled_reason'],
    inputs: () => ({ url: { format: 'uri' }, enabled: { default: true } }),
    links: { deliveries: 'Deliveries' },
    buttons: { test: 'Send a test event', rotate: 'Create a new secret' },
  },
};
