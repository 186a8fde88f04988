import type { Endpoint } from '../../api/endpoint.js';
import { type KnownScopes, managedEndpoints, type Store } from '../../api/managed-endpoints.js';
import { scopeFault } from '../../auth/user-scopes.js';
import type { Db } from '../../db/db.js';
import { invalid } from '../../errors/input-errors.js';
import type { Failure } from '../../errors/problem.js';
import type { Json } from '../../json.js';
import { compileOnFirstUse } from '../../validation/validation.js';
import { CLIENT, CLIENT_SCHEMA, DEVICE_GRANT, ID_TOKEN_ALGORITHMS, SHORT_NAMES } from './client-kind.js';
import { isClaimScope } from './client-scopes.js';
import { CLIENT_TABLE, type ClientFields, createClient, isNative, type StoredClient } from './clients.js';

const check = compileOnFirstUse({
  schema: CLIENT_SCHEMA,
  normalize: { name: ['trim', 'nfc'] },
});

const fail = (path: string, message: string, keyword = 'client'): Failure => ({ path, message, keyword });

/**
 * Validates the fields of a client; `known` are the scopes of the API. Of a client that exists, the type stays as it was
 * `before`. Throws 400 with every failure.
 */
function readClientInput(
  input: Json | undefined,
  known: readonly string[],
  before?: StoredClient,
): ClientFields {
  const given = check(input).fields as unknown as Partial<ClientFields> &
    Pick<ClientFields, 'name' | 'grant_types'>;
  const fields: ClientFields = {
    type: before?.type ?? 'public',
    redirect_uris: [],
    post_logout_redirect_uris: [],
    scopes: [],
    token_format: 'jwt',
    id_token_signed_response_alg: ID_TOKEN_ALGORITHMS[0],
    first_party: false,
    ...given,
    grant_types: given.grant_types.map((each) => SHORT_NAMES[each] ?? each),
  };
  const native = isNative(fields);
  const failures = [
    ...(['redirect_uris', 'post_logout_redirect_uris'] as const).flatMap((member) =>
      fields[member].flatMap((uri, index) => {
        const fault = redirectFault(uri, native);
        return fault === undefined ? [] : [fail(`/${member}/${index}`, fault, 'format')];
      }),
    ),
    ...fields.scopes.flatMap((scope, index) => {
      const fault = isClaimScope(scope) ? undefined : scopeFault(scope, known);
      return fault === undefined ? [] : [fail(`/scopes/${index}`, fault, 'enum')];
    }),
    ...grantFaults(fields),
  ];
  if (before && before.type !== fields.type) failures.push(fail('/type', 'cannot be changed'));
  if (failures.length > 0) throw invalid(failures);
  return fields;
}

/** The faults of a client's grant types. */
function grantFaults(fields: ClientFields): Failure[] {
  const { type, grant_types: grants, redirect_uris, post_logout_redirect_uris } = fields;
  const hasCode = grants.includes('authorization_code');
  const belongs = 'belong to the grant type authorization_code';
  const rules: [isBroken: boolean, path: string, message: string][] = [
    [hasCode !== redirect_uris.length > 0, '/redirect_uris', `${belongs}, which needs one`],
    [!hasCode && post_logout_redirect_uris.length > 0, '/post_logout_redirect_uris', belongs],
    [
      grants.includes('client_credentials') && type === 'public',
      '/type',
      'must be confidential for client_credentials',
    ],
    [
      grants.includes('refresh_token') && !hasCode && !grants.includes(DEVICE_GRANT),
      '/grant_types',
      'must have authorization_code or device_code beside refresh_token',
    ],
  ];
  return rules.filter(([isBroken]) => isBroken).map(([, path, message]) => fail(path, message));
}

/** The loopback addresses that oidc-provider knows. */
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** The fault of a redirect URI (RFC 8252 section 7, RFC 9700 section 2.1). */
function redirectFault(uri: string, native: boolean): string | undefined {
  if (!URL.canParse(uri)) return 'must be a URL';
  const { protocol, hostname, hash, username, password } = new URL(uri);
  if (hash !== '' || uri.includes('#')) return 'must have no fragment';
  if (username !== '' || password !== '') return 'must hold no credentials';
  const isLoopback = LOOPBACK.has(hostname);
  if (protocol === 'https:')
    return native && isLoopback ? 'must be http, since the client is a native application' : undefined;
  if (protocol === 'http:')
    return isLoopback ? undefined : 'must be https, or http of localhost, 127.0.0.1 or [::1]';
  return protocol.includes('.') && native
    ? undefined
    : 'must be https, http of a loopback address, or of a public client a scheme like com.example.app:';
}

/** The services that endpoints of clients run with. */
export interface ClientServices extends KnownScopes {
  readonly db: Db;
}

/** Clients of the embedded authorization server. */
export const STORED_CLIENTS: Store<StoredClient, ClientFields, KnownScopes, Pick<ClientServices, 'db'>> = {
  ...CLIENT_TABLE,
  idOf: (text) => text,
  read: ({ scopes }, body, before) => readClientInput(body, scopes, before),
  create: createClient,
  shown: ({ version: _, ...shown }) => shown,
};

export const CLIENTS: readonly Endpoint<ClientServices>[] = managedEndpoints(CLIENT, STORED_CLIENTS);
