import { ID, type Schema, TIME } from '../../api/doc.js';
import type { InputSchema, Kind } from '../../api/kind.js';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const GRANT_TYPES = ['authorization_code', 'refresh_token', 'client_credentials', DEVICE_GRANT] as const;

/** How ID tokens may be signed; the first one by default. */
export const ID_TOKEN_ALGORITHMS = ['ES256', 'RS256'] as const;
export type IdTokenAlgorithm = (typeof ID_TOKEN_ALGORITHMS)[number];

/** Short names of grant types, besides their own. */
export const SHORT_NAMES: Readonly<Record<string, string>> = { device_code: DEVICE_GRANT };

const URIS = {
  type: 'array',
  maxItems: 10,
  uniqueItems: true,
  items: { type: 'string', maxLength: 2048 },
} as const;

/** The JSON Schema of a new client. */
export const CLIENT_SCHEMA = {
  type: 'object' as const,
  required: ['name', 'grant_types'],
  additionalProperties: false as const,
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 100 },
    type: { type: 'string', enum: ['public', 'confidential'] },
    grant_types: {
      type: 'array',
      minItems: 1,
      maxItems: 4,
      uniqueItems: true,
      items: { type: 'string', enum: [...GRANT_TYPES, ...Object.keys(SHORT_NAMES)] },
    },
    redirect_uris: URIS,
    post_logout_redirect_uris: URIS,
    scopes: { type: 'array', maxItems: 50, uniqueItems: true, items: { type: 'string', maxLength: 100 } },
    token_format: { type: 'string', enum: ['jwt', 'opaque'] },
    id_token_signed_response_alg: { type: 'string', enum: [...ID_TOKEN_ALGORITHMS] },
    first_party: { type: 'boolean' },
  },
} satisfies InputSchema;

/** The options for the metadata of a client, of the commands that create and change clients. */
const OPTIONS = {
  name: { value: 'NAME', text: 'the name that users see' },
  redirect: {
    sets: 'redirect_uris',
    value: 'URI',
    many: true,
    text: 'where users return to; http://127.0.0.1/callback permits any port',
  },
  'post-logout': {
    sets: 'post_logout_redirect_uris',
    value: 'URI',
    many: true,
    text: 'where users return to after they signed out',
  },
  grant: {
    sets: 'grant_types',
    value: 'TYPE',
    many: true,
    values: ['authorization_code', 'refresh_token', 'client_credentials', 'device_code'],
    text: 'may be repeated. By default the first two with --redirect, else client_credentials',
  },
  'id-token-alg': {
    sets: 'id_token_signed_response_alg',
    value: 'ALGORITHM',
    values: ID_TOKEN_ALGORITHMS,
    text: 'how ID tokens are signed (ES256)',
  },
} as const;

/** Clients of the embedded authorization server. */
export const CLIENT: Kind = {
  path: '/oauth-clients',
  type: 'Client',
  singular: 'client',
  one: 'a client of the authorization server',
  many: 'clients',
  order: 'by id',
  limit: 100,
  homeLink: { name: 'applications', position: 10 },
  secret: 'secret',
  canChange: true,
  input: () => CLIENT_SCHEMA,
  members: () => ({
    id: ID,
    ...(CLIENT_SCHEMA.properties as unknown as Record<string, Schema>),
    created_at: TIME,
  }),
  page: {
    columns: ['name', 'type', 'grant_types', 'scopes', 'redirect_uris'],
    inputs: (scopes) => ({
      scopes: {
        items: { type: 'string', enum: ['openid', 'profile', 'email', 'offline_access', ...scopes] },
      },
    }),
  },
  command: {
    name: 'clients',
    create: {
      text: 'creates a client',
      options: {
        ...OPTIONS,
        scopes: { value: 'SCOPE[,SCOPE]...', text: 'what the client may request (openid,self)' },
        confidential: {
          sets: 'type',
          means: 'confidential',
          text: 'the client has a secret, which is printed once',
        },
        'first-party': {
          sets: 'first_party',
          means: true,
          text: 'an application of your own, for which users see no page of consent',
        },
        opaque: { sets: 'token_format', means: 'opaque', text: 'access tokens are not JWTs' },
      },
    },
    update: {
      text: 'changes what is given; an option that may be repeated replaces all, and none remain if it is empty',
      options: {
        ...OPTIONS,
        scopes: { value: 'SCOPE[,SCOPE]...', text: 'what the client may request; none if empty' },
        'first-party': {
          sets: 'first_party',
          value: 'yes|no',
          values: ['yes', 'no'],
          text: 'whether the client is an application of your own, without a page of consent',
        },
        'token-format': {
          sets: 'token_format',
          value: 'FORMAT',
          values: ['jwt', 'opaque'],
          text: 'of access tokens',
        },
      },
    },
    remove: { verb: 'delete', text: 'deletes a client' },
    defaults: (given) => ({
      name: '',
      grant_types: given.redirect_uris ? ['authorization_code', 'refresh_token'] : ['client_credentials'],
      scopes: ['openid', 'self'],
      ...given,
    }),
  },
};
