import { invalid } from '../../errors/input-errors.js';
import { isObject, type Json, type JsonObject } from '../../json.js';
import { compileOnFirstUse } from '../../validation/validation.js';
import { MAX_URL, readTarget, type TargetRules } from './target-url.js';
import type { WebhookFields } from './webhook-store.js';

const VERBS = ['created', 'updated', 'deleted'];

/** Fields that the service sets. A body may contain them; they are ignored. */
const READ_ONLY = ['disabled_reason', 'dropped_events', 'previous_secret_until'];

/** Reads a webhook's fields from a body. Throws 400. */
export type ReadFields = (input: Json | undefined, before?: WebhookFields) => WebhookFields;

/**
 * Validates `{url, types, description?, enabled?}` for a service with these collections. Fields that are missing or null
 * retain their value in `before`.
 */
export function fieldsOf(collections: readonly string[], rules: TargetRules): ReadFields {
  const check = compileOnFirstUse({
    schema: webhookSchema(collections),
    normalize: { url: ['trim'], description: ['trim', 'nfc'] },
  });
  return (input, before) => {
    const {
      url,
      types,
      description = '',
      enabled = true,
    } = check(merged(input, before)).fields as unknown as Given;
    const target = readTarget(url, rules);
    if (typeof target === 'string') throw invalid([{ path: '/url', message: target, keyword: 'format' }]);
    return { url: target.href, types, description, enabled };
  };
}

/** The JSON Schema of a webhook's fields for a service with these collections. */
export function webhookSchema(collections: readonly string[]) {
  const known = collections.flatMap((name) => [`${name}.*`, ...VERBS.map((verb) => `${name}.${verb}`)]);
  return {
    type: 'object' as const,
    required: ['url', 'types'],
    additionalProperties: false,
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
  };
}

type Given = Pick<WebhookFields, 'url' | 'types'> & Partial<WebhookFields>;

function merged(input: Json | undefined, before: WebhookFields | undefined): Json | undefined {
  if (!isObject(input)) return input;
  const given = Object.fromEntries(Object.entries(input).filter(([name]) => !READ_ONLY.includes(name)));
  if (!before) return given;
  const { url, types, description, enabled } = before;
  return { url, types: [...types], description, enabled, ...given } satisfies JsonObject;
}
