import { ID, TEXT, TEXTS, TIME, TIME_OR_NULL } from '../../api/doc.js';
import type { InputSchema, Kind } from '../../api/kind.js';

/** A scope (RFC 6749 section 3.3), without commas, which separate scopes on the command line. */
const SCOPE = '^[\\x21\\x23-\\x2b\\x2d-\\x5b\\x5d-\\x7e]+$';

/** The JSON Schema of a new credential. */
export const KEY_SCHEMA = {
  type: 'object',
  required: ['label', 'subject', 'scopes'],
  additionalProperties: false,
  properties: {
    label: { type: 'string', minLength: 1, maxLength: 200 },
    subject: { type: 'string', minLength: 1, maxLength: 200 },
    scopes: {
      type: 'array',
      minItems: 1,
      maxItems: 50,
      uniqueItems: true,
      items: { type: 'string', maxLength: 100, pattern: SCOPE },
    },
    expires_at: { type: 'string', maxLength: 40 },
    certificate: { type: 'string', maxLength: 20_000 },
  },
} as const satisfies InputSchema;

/** API keys and client certificates. */
export const KEY: Kind = {
  path: '/keys',
  type: 'Key',
  singular: 'key',
  one: 'an API key, or register a client certificate',
  many: 'keys',
  order: 'newest first',
  limit: 1000,
  homeLink: { name: 'keys', position: 7 },
  secret: 'key',
  about: 'An API key or a client certificate, which has a `thumbprint` (RFC 8705).',
  creationErrors: ['CERTIFICATE_TAKEN'],
  input: () => KEY_SCHEMA,
  members: () => ({
    id: ID,
    kind: { enum: ['key', 'certificate'] },
    label: TEXT,
    subject: TEXT,
    scopes: TEXTS,
    created_at: TIME,
    expires_at: TIME_OR_NULL,
    last_used_at: TIME_OR_NULL,
  }),
  page: {
    columns: ['label', 'kind', 'subject', 'scopes', 'expires_at', 'last_used_at'],
    user: 'subject',
    removal: 'Revoke',
    inputs: (scopes) => ({
      subject: { description: 'A user, or another text for a program.' },
      scopes: { items: { ...KEY_SCHEMA.properties.scopes.items, enum: scopes } },
      expires_at: { format: 'date-time' },
    }),
  },
  command: {
    name: 'keys',
    blamesOptions: true,
    create: {
      text: 'creates a key, which is printed once, or registers a certificate',
      options: {
        label: { value: 'LABEL', required: true, text: 'a name for people' },
        subject: { value: 'SUBJECT', required: true, text: 'the caller that the key identifies' },
        scopes: { value: 'SCOPE[,SCOPE]...', required: true, text: 'what the caller may do' },
        expires: {
          sets: 'expires_at',
          value: 'TIME',
          text: '90d, or a time as in RFC 3339: 2030-01-01T00:00:00Z',
        },
        certificate: { value: 'FILE', isFile: true, text: 'a client certificate in PEM instead of a key' },
      },
    },
    remove: { verb: 'revoke', text: 'revokes a key or a certificate at once' },
  },
};
