import { isClaimScope, scopeFault } from '../../auth/user-scopes.js';
import { invalid } from '../../errors/input-errors.js';
import type { Failure } from '../../errors/problem.js';
import type { Json } from '../../json.js';
import { compileOnFirstUse } from '../../validation/validation.js';
import {
  CLIENT_SCHEMA,
  DEVICE_GRANT,
  type GrantType,
  ID_TOKEN_ALGORITHMS,
  type IdTokenAlgorithm,
  SHORT_NAMES,
} from './client-kind.js';
import type { ClientFields, StoredClient } from './clients.js';

const check = compileOnFirstUse({
  schema: CLIENT_SCHEMA,
  normalize: { name: ['trim', 'nfc'] },
});

interface Given {
  readonly name: string;
  readonly type?: 'public' | 'confidential';
  readonly grant_types: readonly string[];
  readonly redirect_uris?: readonly string[];
  readonly post_logout_redirect_uris?: readonly string[];
  readonly scopes?: readonly string[];
  readonly token_format?: 'jwt' | 'opaque';
  readonly id_token_signed_response_alg?: IdTokenAlgorithm;
}

const fail = (path: string, message: string, keyword = 'client'): Failure => ({ path, message, keyword });

/**
 * Validates the fields of a client; `known` are the scopes of the API. Of a client that exists, the type stays as it was
 * `before`. Throws 400 with every failure.
 */
export function readClientInput(
  input: Json | undefined,
  known: readonly string[],
  before?: StoredClient,
): ClientFields {
  const given = check(input).fields as unknown as Given;
  const {
    name,
    type = before?.confidential ? 'confidential' : 'public',
    redirect_uris: redirectUris = [],
    post_logout_redirect_uris: postLogoutRedirectUris = [],
    scopes = [],
    token_format: tokenFormat = 'jwt',
    id_token_signed_response_alg: idTokenAlgorithm = ID_TOKEN_ALGORITHMS[0],
  } = given;
  const grantTypes = given.grant_types.map((each) => SHORT_NAMES[each] ?? (each as GrantType));
  const confidential = type === 'confidential';
  const native = !confidential && isNative([...redirectUris, ...postLogoutRedirectUris]);
  const faultsOf = (member: string, uris: readonly string[]): Failure[] =>
    uris.flatMap((uri, index) => {
      const fault = redirectFault(uri, native);
      return fault === undefined ? [] : [fail(`/${member}/${index}`, fault, 'format')];
    });
  const failures = [
    ...faultsOf('redirect_uris', redirectUris),
    ...faultsOf('post_logout_redirect_uris', postLogoutRedirectUris),
    ...scopes.flatMap((scope, index) => {
      const fault = isClaimScope(scope) ? undefined : scopeFault(scope, known);
      return fault === undefined ? [] : [fail(`/scopes/${index}`, fault, 'enum')];
    }),
    ...grantFaults(grantTypes, confidential, redirectUris, postLogoutRedirectUris),
  ];
  if (before && before.confidential !== confidential) failures.push(fail('/type', 'cannot be changed'));
  if (failures.length > 0) throw invalid(failures);
  return {
    name,
    confidential,
    grantTypes,
    redirectUris,
    postLogoutRedirectUris,
    native,
    scopes,
    tokenFormat,
    idTokenAlgorithm,
  };
}

/** The fault of a client's grant types. */
function grantFaults(
  grantTypes: readonly GrantType[],
  confidential: boolean,
  redirectUris: readonly string[],
  postLogoutRedirectUris: readonly string[],
): Failure[] {
  const hasCode = grantTypes.includes('authorization_code');
  const message = 'belong to the grant type authorization_code, which needs one';
  return [
    ...(hasCode === redirectUris.length > 0 ? [] : [fail('/redirect_uris', message)]),
    ...(hasCode || postLogoutRedirectUris.length === 0
      ? []
      : [fail('/post_logout_redirect_uris', 'belong to the grant type authorization_code')]),
    ...(grantTypes.includes('client_credentials') && !confidential
      ? [fail('/type', 'must be confidential for client_credentials')]
      : []),
    ...(grantTypes.includes('refresh_token') && !hasCode && !grantTypes.includes(DEVICE_GRANT)
      ? [fail('/grant_types', 'must have authorization_code or device_code beside refresh_token')]
      : []),
  ];
}

/** Whether an address is that of an application on a device: of a scheme of its own, or all are loopback addresses. */
function isNative(uris: readonly string[]): boolean {
  return (
    uris.some((uri) => !/^https?:/i.test(uri)) ||
    (uris.length > 0 && !uris.some((uri) => /^https:/i.test(uri)))
  );
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
