import { errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import { Refusal } from '../auth/scheme.js';
import type { OwnTokens } from '../auth/tokens/own-tokens.js';

/**
 * Has a provider introspect access tokens that are JWTs, which oidc-provider itself does not store and refuses. It does so
 * after it has authenticated the client (RFC 7662 section 2.1). A public client may introspect its own tokens only.
 */
export function introspectJwts(provider: Provider, tokens: OwnTokens): void {
  const refused = new WeakSet<KoaContextWithOIDC>();
  provider.on('introspection.error', (ctx, error) => {
    if (error instanceof errors.UnsupportedTokenType) refused.add(ctx);
  });
  provider.use(async (context, next) => {
    await next();
    const ctx = context as KoaContextWithOIDC;
    if (!refused.has(ctx)) return;
    ctx.body = await introspect(tokens, ctx);
    ctx.status = 200;
  });
}

async function introspect(tokens: OwnTokens, { oidc }: KoaContextWithOIDC): Promise<object> {
  const { client, params } = oidc;
  try {
    const claims = await tokens.claimsOf(String(params!.token));
    const isForeign = client!.clientAuthMethod === 'none' && claims.client_id !== client!.clientId;
    return isForeign
      ? INACTIVE
      : { active: true, ...claims, token_type: claims.cnf === undefined ? 'Bearer' : 'DPoP' };
  } catch (error) {
    if (error instanceof Refusal) return INACTIVE;
    throw error;
  }
}

const INACTIVE = { active: false };
