import type { Client, KoaContextWithOIDC, Provider, ResourceServer } from 'oidc-provider';
import { scopesOf } from '../../auth/principal.js';
import { CLAIMS, permittedScopes, withImplied } from '../../auth/user-scopes.js';
import { API_SCOPES, TOKEN_FORMAT } from './clients.js';
import { errors, Provider as OAuthProvider } from './oidc-provider.js';
import { OWN_ALGORITHM } from './own-keys.js';
import type { UserAccount } from './user-claims.js';

/** This API as a client may use it. Limits the request to scopes that the client may have. Throws invalid_scope. */
export function resourceServer(
  ctx: KoaContextWithOIDC,
  client: Client,
  audience: string,
  accessTokenTTL: number,
): ResourceServer {
  const scopes = scopesOfClient(client);
  limitRequest(ctx, (scope) => scope === 'offline_access' || scopes.has(scope));
  return {
    audience,
    scope: stillAllowed(ctx, [...scopes].join(' ')),
    accessTokenTTL,
    accessTokenFormat: client[TOKEN_FORMAT] === 'opaque' ? 'opaque' : 'jwt',
    jwt: { sign: { alg: OWN_ALGORITHM } },
  };
}

const scopesOfClient = (client: Client): ReadonlySet<string> =>
  withImplied([...scopesOf(client[API_SCOPES]), ...Object.keys(CLAIMS)]);

/**
 * Limits a request to scopes that it may have (RFC 6749 section 3.3), so that a client may request all that the metadata list.
 * Throws invalid_scope for a request of others alone.
 */
function limitRequest(
  { oidc: { params } }: KoaContextWithOIDC,
  isPermitted: (scope: string) => boolean,
): void {
  if (params === undefined || scopesOf(params.scope).size === 0) return;
  const permitted = permittedScopes(params.scope, isPermitted);
  if (permitted === '')
    throw new errors.InvalidScope('none of the requested scopes is allowed', String(params.scope));
  params.scope = permitted;
}

/** Limits a refresh to scopes of its token, and to those that they imply, which oidc-provider would refuse. */
export function limitRefreshes({ RefreshToken }: Provider): void {
  const find = RefreshToken.find;
  RefreshToken.find = async function limited(...given: Parameters<typeof find>) {
    const token = (await find.apply(this, given)) as { readonly scopes: ReadonlySet<string> } | undefined;
    const { ctx } = OAuthProvider;
    if (!token || ctx?.oidc.params?.grant_type !== 'refresh_token') return token;
    const scopes = withImplied(token.scopes);
    limitRequest(ctx, (scope) => scopes.has(scope));
    return Object.defineProperty(token, 'scopes', { value: scopes });
  } as typeof find;
}

/** Limits a refresh to scopes that the client may have and the user may still allow. Returns that the token is replaced. */
export function limitRefresh(ctx: KoaContextWithOIDC): true {
  const { params, client, account, entities } = ctx.oidc;
  params!.scope ??= entities.RefreshToken!.scope;
  const scopes = scopesOfClient(client!);
  limitRequest(ctx, (scope) => scope === 'offline_access' || scopes.has(scope));
  params!.scope = (account as UserAccount).allowed(params!.scope);
  return true;
}

/** At /token the scopes that the user may still allow: an operator may have withdrawn some since the consent. */
function stillAllowed({ oidc }: KoaContextWithOIDC, scopes: string): string {
  const account = oidc.route === 'token' ? (oidc.account as UserAccount | undefined) : undefined;
  return account ? account.allowed(scopes) : scopes;
}
