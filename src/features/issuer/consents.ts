import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { scopesOf } from '../../auth/principal.js';
import type { Db } from '../../db/db.js';
import { isClaimScope, mayAllow, withImplied } from './client-scopes.js';
import { FIRST_PARTY } from './clients.js';
import { ISSUER_SQL } from './issuer-statements.js';
import type { UserAccount } from './user-claims.js';

type Grant = InstanceType<Provider['Grant']>;

/** Allows scopes within a grant: those of OpenID Connect and those of this API, whose tokens serve /userinfo as well. */
export function addScopes(grant: Grant, audience: string, scopes: readonly string[]): void {
  const openId = scopes.filter((scope) => isClaimScope(scope) || scope === 'offline_access');
  const ofApi = [...withImplied(scopes)].filter((scope) => scope !== 'offline_access');
  if (openId.length > 0) grant.addOIDCScope(openId.join(' '));
  if (ofApi.length > 0) grant.addResourceScope(audience, ofApi.join(' '));
}

/**
 * The last step of a request, which no user sees: the account lists an application of the operator with the requested scopes that the grant
 * has. False: no step is missing.
 */
export async function rememberFirstParty({ oidc }: KoaContextWithOIDC, db: Db, audience: string) {
  const { client, account, grant, requestParamScopes: requested } = oidc;
  const scopes = [
    grant!.getOIDCScopeFiltered(requested),
    grant!.getResourceScopeFiltered(audience, requested),
  ];
  const granted = scopesOf(scopes.join(' '));
  if (client![FIRST_PARTY] === true && granted.size > 0)
    await db.run(ISSUER_SQL.remember_consent, [account!.accountId, client!.clientId, [...granted].join(' ')]);
  return false;
}

/**
 * The grant of an authorization request: the one of the session, or a new one with the scopes that the user allowed to the
 * client before. For an application of the operator, the user allows what it requests without a page. Requested scopes that the
 * user may not allow are rejected, so that no consent is requested for them.
 */
export async function loadGrant(
  ctx: KoaContextWithOIDC,
  db: Db,
  audience: string,
): Promise<Grant | undefined> {
  const { client, session, result, account, provider } = ctx.oidc;
  const clientId = client!.clientId;
  const { user } = account as UserAccount;
  const isRefused = (scope: string) => scope !== 'offline_access' && !mayAllow(user.scopes, scope);
  const requested = [...ctx.oidc.requestParamScopes];
  const granted = client![FIRST_PARTY] === true ? requested.filter((scope) => !isRefused(scope)) : [];
  const grantId = result?.consent?.grantId ?? session!.grantIdFor(clientId);
  const stored = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  const found = stored?.accountId === user.id ? stored : undefined;
  const [consent] = found ? [] : await db.run(ISSUER_SQL.consent, [user.id, clientId]);
  const added = [...granted, ...[...scopesOf(consent?.scopes)].filter((scope) => !isRefused(scope))];
  if (!found && added.length === 0) return undefined;
  const grant = found ?? new provider.Grant({ accountId: user.id, clientId });
  if (added.length > 0) {
    addScopes(grant, audience, added);
    await grant.save();
  }
  const refused = requested.filter(isRefused);
  if (refused.length > 0) grant.rejectResourceScope(audience, refused.join(' '));
  return grant;
}
