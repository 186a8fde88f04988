import {
  type Client,
  type Configuration,
  errors,
  type JWK,
  type KoaContextWithOIDC,
  Provider,
  type ResourceServer,
} from 'oidc-provider';
import type { AcceptOnce } from '../auth/replay-guard.js';
import { OWN_ALGORITHM } from '../auth/tokens/own-keys.js';
import { GRANT_CLAIM } from '../auth/tokens/own-tokens.js';
import { PROOF_ALGORITHMS } from '../auth/tokens/proof.js';
import type { Config } from '../config/config.js';
import type { Db } from '../db/db.js';
import { CLAIMS, findAccount } from './accounts.js';
import { API_SCOPES, findMetadata, isSecret, TOKEN_FORMAT } from './clients.js';
import { loadGrant } from './consents.js';
import { ENDPOINTS, INTERACTION } from './endpoints.js';
import type { IssuerKeys } from './keys.js';
import {
  showDeviceConfirmation,
  showDeviceEntry,
  showDeviceSuccess,
  showError,
  showSignedOut,
  showSignOut,
} from './pages/provider-pages.js';
import { Records } from './records.js';

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
/** How far the time of a DPoP proof at /token may be from now: oidc-provider's CHALLENGE_OK_WINDOW. */
const PROOF_WINDOW_S = 300;

/** What the provider is made of. */
export interface ProviderParts {
  readonly config: Config;
  readonly db: Db;
  readonly acceptOnce: AcceptOnce;
  readonly keys: IssuerKeys;
}

/** Configures oidc-provider. */
export function createProvider({ config, db, acceptOnce, keys }: ProviderParts): Provider {
  const provider = new Provider(config.issuer!, {
    ...endpoints(config),
    ...lifetimes(config),
    ...tokens(),
    adapter: (model: string) => (model === 'Client' ? new Clients(db, model) : new Records(db, model)),
    jwks: { keys: [...keys.signing] as JWK[] },
    cookies: {
      keys: [keys.pagesSecret],
      names: { session: 'plinth_session', interaction: 'plinth_interaction', resume: 'plinth_resume' },
    },
    extraClientMetadata: { properties: [API_SCOPES, TOKEN_FORMAT] },
    features: features(config),
    findAccount: (_ctx, id) => findAccount(db, id),
    loadExistingGrant: (ctx) => loadGrant(ctx, db, config.audience!),
    renderError: showError,
  });
  // oidc-provider documents this as the way to store only a hash of the secret.
  provider.Client.prototype.compareClientSecret = function compare(this: Client, secret: string) {
    return isSecret(secret, this.clientSecret!);
  };
  // Its own check would accept a proof in two processes at once. A proof of the future stays valid for longer than `until`.
  provider.ReplayDetection.unique = async (issuer: string, id: string, until: number) =>
    (await acceptOnce(`dpop\n${issuer}\n${id}`, until + PROOF_WINDOW_S)) === 'first';
  pinOrigin(provider, config.issuer!);
  return provider;
}

/** Clients are managed by operators alone, so oidc-provider reads them only. */
class Clients extends Records {
  override find(id: string) {
    return findMetadata(this.db, id);
  }
}

/** The configured URL takes the place of the request's Host and scheme, which a client chooses. */
function pinOrigin(provider: Provider, issuer: string): void {
  const { protocol, host } = new URL(issuer);
  Object.defineProperty(provider.request, 'protocol', { get: () => protocol.slice(0, -1) });
  Object.defineProperty(provider.request, 'host', { get: () => host });
}

function endpoints({ issuer }: Config): Configuration {
  return {
    routes: ENDPOINTS,
    interactions: { url: (_ctx, interaction) => `${INTERACTION}/${interaction.uid}` },
    // CORS_ORIGINS decides for all paths.
    clientBasedCORS: () => false,
    discovery: { service_documentation: `${issuer}/.well-known/oauth-protected-resource` },
  };
}

function lifetimes({ accessTokenSeconds }: Config): Configuration {
  return {
    clockTolerance: 5,
    ttl: {
      AccessToken: accessTokenSeconds,
      ClientCredentials: accessTokenSeconds,
      AuthorizationCode: 60,
      DeviceCode: 10 * 60,
      IdToken: HOUR_S,
      Interaction: 15 * 60,
      RefreshToken: 14 * DAY_S,
      Session: 14 * DAY_S,
      Grant: 180 * DAY_S,
    },
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    // A device stays signed in when the user's browser signs out.
    expiresWithSession: async (_ctx, source) =>
      !source.scopes.has('offline_access') && source.kind !== 'DeviceCode',
  };
}

function tokens(): Configuration {
  return {
    claims: Object.fromEntries(Object.entries(CLAIMS).map(([scope, claims]) => [scope, [...claims]])),
    scopes: ['openid', 'offline_access'],
    responseTypes: ['code'],
    pkce: { required: () => true },
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    clientDefaults: { id_token_signed_response_alg: OWN_ALGORITHM },
    enabledJWA: {
      idTokenSigningAlgValues: [OWN_ALGORITHM],
      dPoPSigningAlgValues: PROOF_ALGORITHMS as ('ES256' | 'EdDSA')[],
    },
    extraTokenClaims: async ({ oidc }, token) => {
      const { AuthorizationCode, DeviceCode, RefreshToken } = oidc.entities;
      const source = AuthorizationCode ?? DeviceCode ?? RefreshToken;
      return {
        ...('grantId' in token && token.grantId !== undefined ? { [GRANT_CLAIM]: token.grantId } : {}),
        ...(source?.authTime === undefined ? {} : { auth_time: source.authTime }),
      };
    },
  };
}

function features({ audience, accessTokenSeconds }: Config): Configuration['features'] {
  return {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    deviceFlow: {
      enabled: true,
      deviceInfo: () => ({}),
      userCodeInputSource: showDeviceEntry,
      userCodeConfirmSource: showDeviceConfirmation,
      successSource: showDeviceSuccess,
    },
    rpInitiatedLogout: { enabled: true, logoutSource: showSignOut, postLogoutSuccessSource: showSignedOut },
    introspection: { enabled: true },
    revocation: { enabled: true },
    dPoP: { enabled: true },
    pushedAuthorizationRequests: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: async (_ctx, _client, oneOf) => oneOf ?? audience!,
      // Tokens with `openid` serve /userinfo and this API.
      useGrantedResource: async () => true,
      getResourceServerInfo: async (ctx, resource, client) => {
        if (resource !== audience) throw new errors.InvalidTarget();
        return resourceServer(ctx, client, resource, accessTokenSeconds);
      },
    },
  };
}

/** This API as a client may use it. Throws invalid_scope for a scope that the client may not have. */
function resourceServer(
  ctx: KoaContextWithOIDC,
  client: Client,
  audience: string,
  accessTokenTTL: number,
): ResourceServer {
  const scopes = [...String(client[API_SCOPES] ?? '').split(' '), ...Object.keys(CLAIMS)].filter(
    (scope) => scope !== '',
  );
  const requested = ctx.oidc.params?.scope;
  const refused = String(requested ?? '')
    .split(' ')
    .find((scope) => scope !== '' && scope !== 'offline_access' && !scopes.includes(scope));
  if (refused !== undefined) throw new errors.InvalidScope('requested scope is not allowed', refused);
  return {
    audience,
    scope: scopes.join(' '),
    accessTokenTTL,
    accessTokenFormat: client[TOKEN_FORMAT] === 'opaque' ? 'opaque' : 'jwt',
    jwt: { sign: { alg: OWN_ALGORITHM } },
  };
}
