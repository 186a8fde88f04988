import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
/** A program that uses each operation by the types of the document. */
export const CLIENT = `${ROOT}test/fixtures/openapi-client.ts`;

/** A service with every scheme, and the authorization server. */
export const ALL_SCHEMES = {
  AUTH: 'api-key,basic,bearer,signature',
  AUTH_SERVER: 'on',
  PUBLIC_URL: 'http://127.0.0.1:3000',
  INSECURE: 'basic',
  SIGNING_SECRETS: JSON.stringify([{ id: 'a', secret: 'x'.repeat(32), subject: 'a', scopes: ['admin'] }]),
};

/** Declarations with references, shared schemas, unique keys and ids of clients. */
export const LIBRARY = {
  'authors.json': {
    title: 'Author',
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string', minLength: 1, 'x-index': true, 'x-search': true } },
    'x-collection': { public: 'read' },
  },
  '_shared.json': { $defs: { state: { enum: ['open', 'closed'] } } },
  'order_lines.json': {
    title: 'Order line',
    type: 'object',
    required: ['isbn'],
    properties: {
      isbn: { $ref: '#/$defs/isbn' },
      code: { type: 'string', pattern: '^[0-9]{3}$', 'x-unique': true, maxLength: 3 },
      secret: { type: 'string', writeOnly: true },
      state: { $ref: '_shared.json#/$defs/state' },
      authorId: { type: 'string', format: 'uuid', 'x-references': 'authors' },
    },
    $defs: { isbn: { type: 'string', minLength: 2 } },
    additionalProperties: false,
    'x-collection': { nested: true, ids: 'client', unique: [['code', 'authorId']] },
  },
};
