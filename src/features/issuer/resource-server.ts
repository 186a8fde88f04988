import type { Client, KoaContextWithOIDC, ResourceServer } from 'oidc-provider';
import { scopesOf } from '../../auth/principal.js';
import { CLAIMS, withImplied } from '../../auth/user-scopes.js';
import { API_SCOPES, TOKEN_FORMAT } from './clients.js';
import { errors } from './oidc-provider.js';
import { OWN_ALGORITHM } from './own-keys.js';
import type { UserAccount } from './user-claims.js';

/**
 * This API as a client may use it. Adds to the requested scopes the ones that they imply. Throws invalid_scope for a scope
 * that the client may not have.
 */
export function resourceServer(
  ctx: KoaContextWithOIDC,
  client: Client,
  audience: string,
  accessTokenTTL: number,
): ResourceServer {
  const scopes = withImplied([...scopesOf(client[API_SCOPES]), ...Object.keys(CLAIMS)]);
  const requested = addImplied(ctx);
  const refused = [...requested].find((scope) => scope !== 'offline_access' && !scopes.has(scope));
  if (refused !== undefined) throw new errors.InvalidScope('requested scope is not allowed', refused);
  return {
    audience,
    scope: stillAllowed(ctx, [...scopes].join(' ')),
    accessTokenTTL,
    accessTokenFormat: client[TOKEN_FORMAT] === 'opaque' ? 'opaque' : 'jwt',
    jwt: { sign: { alg: OWN_ALGORITHM } },
  };
}

/** Adds to the scopes that a request names the ones that they imply. Returns all. */
export function addImplied({ oidc: { params } }: KoaContextWithOIDC): ReadonlySet<string> {
  const requested = withImplied(scopesOf(params?.scope));
  if (requested.size > 0) params!.scope = [...requested].join(' ');
  return requested;
}

/** At /token the scopes that the user may still allow: an operator may have withdrawn some since the consent. */
function stillAllowed({ oidc }: KoaContextWithOIDC, scopes: string): string {
  const account = oidc.route === 'token' ? (oidc.account as UserAccount | undefined) : undefined;
  return account ? account.allowed(scopes) : scopes;
}
