import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { CredentialRejected } from '../../auth/principal.js';
import type { Db } from '../../db/db.js';
import { ISSUER_SQL } from './issuer-statements.js';
import { GRANT_CLAIM, type OwnTokens, REVOKED_TOKEN, recordHash } from './own-tokens.js';
import { Records } from './provider-records.js';
import { findAccount } from './user-claims.js';

/** How much longer than the token the record of its revocation lives, since the clocks of processes differ. */
const MARGIN_S = 300;

type Claims = Awaited<ReturnType<OwnTokens['claimsOf']>>;

/**
 * Has a provider introspect and revoke access tokens that are JWTs, which oidc-provider itself does not store and refuses.
 * It does so after it has authenticated the client (RFC 7662 section 2.1, RFC 7009 section 2.1). Of any introspected token,
 * the scopes are those that its user may still allow.
 */
export function handleAccessJwts(provider: Provider, db: Db, tokens: OwnTokens): void {
  provider.use(async (context, next) => {
    await next();
    const ctx = context as KoaContextWithOIDC;
    const { error } = (ctx.body ?? {}) as { readonly error?: unknown };
    try {
      if (error === 'unsupported_token_type') await handleJwt(db, tokens, ctx);
      else if (ctx.oidc?.route === 'introspection') await limitScope(tokens, ctx);
      // An empty body has no type, and some clients refuse any type but JSON.
      if (ctx.oidc?.route === 'revocation' && ctx.body === '') ctx.remove('Content-Type');
    } catch (error) {
      ctx.status = 500;
      ctx.body = { error: 'server_error', error_description: 'The token could not be looked up.' };
      provider.emit('server_error', ctx, error);
    }
  });
}

async function handleJwt(db: Db, tokens: OwnTokens, ctx: KoaContextWithOIDC): Promise<void> {
  // A token that is not valid (any more) cannot be revoked either (RFC 7009 section 2.2).
  const claims = await tokens.claimsOf(String(ctx.oidc.params!.token)).catch((error: unknown) => {
    if (!(error instanceof CredentialRejected)) throw error;
    return undefined;
  });
  ctx.status = 200;
  if (ctx.oidc.route !== 'revocation') ctx.body = introspected(ctx, claims);
  else {
    ctx.body = '';
    if (claims) await revoke(db, ctx, claims);
  }
}

/**
 * Revokes a token of the client that requests it. With a token of a user ends what was issued from its grant, as the
 * revocation of an opaque token does. A token of another client is invalid_request.
 */
async function revoke(db: Db, ctx: KoaContextWithOIDC, claims: Claims): Promise<void> {
  const { clientId, clientAuthMethod } = ctx.oidc.client!;
  if (claims.client_id !== clientId) {
    if (clientAuthMethod === 'none') return;
    ctx.status = 400;
    const error_description = 'client is not authorized to revoke the token';
    ctx.body = { error: 'invalid_request', error_description };
    return;
  }
  const { [GRANT_CLAIM]: grant, jti, exp } = claims;
  if (typeof grant === 'string') await db.run(ISSUER_SQL.revoke_grant, [recordHash('Grant', grant)]);
  else {
    const lifetimeS = exp! - Math.floor(Date.now() / 1000) + MARGIN_S;
    await new Records(db, REVOKED_TOKEN).upsert(jti!, { clientId }, lifetimeS);
  }
}

/** A public client may introspect its own tokens only. */
function introspected({ oidc }: KoaContextWithOIDC, claims: Claims | undefined): object {
  const { clientId, clientAuthMethod } = oidc.client!;
  const isForeign = clientAuthMethod === 'none' && claims?.client_id !== clientId;
  return claims === undefined || isForeign
    ? { active: false }
    : { active: true, ...claims, token_type: claims.cnf === undefined ? 'Bearer' : 'DPoP' };
}

/** oidc-provider responds with the scopes that the token was issued with. */
async function limitScope({ config, db }: OwnTokens, { body }: KoaContextWithOIDC): Promise<void> {
  const token = body as { sub?: string; scope?: string; amr?: string[] } | undefined;
  if (token?.scope === undefined || token.sub === undefined) return;
  const account = await findAccount(config, db, token.sub);
  if (account) token.scope = account.allowed(token.scope, token.amr);
}
