import { arrayOf, objectOf, type Schema, schemaRef } from '../../api/schema.js';

const text: Schema = { type: 'string' };

/** A code of an error. */
const ERROR_ENTRY: Readonly<Record<string, Schema>> = {
  code: text,
  status: { type: 'integer' },
  shapes: arrayOf(text),
  message: text,
  cause: text,
  remedy: text,
};

/** Schemas of the service's own resources. */
export const SERVICE_SCHEMAS: Readonly<Record<string, Schema>> = {
  Home: objectOf({
    name: text,
    versions: { type: 'object', additionalProperties: text },
    collections: arrayOf(objectOf({ name: text, singular: text, href: text })),
    links: { type: 'object', additionalProperties: text },
  }),
  ErrorEntry: objectOf(ERROR_ENTRY),
  ErrorExplanation: objectOf({
    ...ERROR_ENTRY,
    title: text,
    examples: { description: 'Bodies by their media types.', type: 'object', additionalProperties: true },
    links: objectOf({ self: text, errors: text }),
  }),
  Caller: objectOf({
    subject: text,
    scopes: arrayOf(text),
    scheme: text,
    expires_at: { type: ['string', 'null'], format: 'date-time' },
  }),
  Health: objectOf({ status: text }),
  ProtectedResource: {
    ...objectOf({ resource: text, authorization_servers: arrayOf(text), scopes_supported: arrayOf(text) }, [
      'resource',
    ]),
    description: 'OAuth 2.0 protected resource metadata (RFC 9728).',
  },
  Operation: objectOf(
    { method: text, path: text, headers: { type: 'object', additionalProperties: text }, body: {} },
    ['method', 'path'],
  ),
  Batch: {
    anyOf: [
      { ...arrayOf(schemaRef('Operation')), minItems: 1, maxItems: 100 },
      objectOf({ operations: { ...arrayOf(schemaRef('Operation')), minItems: 1, maxItems: 100 } }),
    ],
  },
  BatchResults: objectOf({
    results: arrayOf(
      objectOf(
        { status: { type: 'integer' }, headers: { type: 'object', additionalProperties: text }, body: {} },
        ['status', 'headers'],
      ),
    ),
  }),
  Ticket: objectOf({
    ticket: text,
    expires_at: { type: 'string', format: 'date-time' },
    _links: schemaRef('Links'),
  }),
};
