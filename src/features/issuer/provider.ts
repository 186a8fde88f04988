import { createHmac } from 'node:crypto';
import type { Client, Configuration, JWK, Provider as OAuthProvider } from 'oidc-provider';
import { PROOF_ALGORITHMS } from '../../auth/tokens/access-token.js';
import { CLAIMS } from '../../auth/user-scopes.js';
import type { Config } from '../../config/config.js';
import type { Db } from '../../db/db.js';
import type { Auth } from '../../feature.js';
import { ID_TOKEN_ALGORITHMS } from './client-kind.js';
import { API_SCOPES, findMetadata, isSecret, TOKEN_FORMAT } from './clients.js';
import { loadGrant } from './consents.js';
import { errors, Provider } from './oidc-provider.js';
import { GRANT_CLAIM } from './own-tokens.js';
import {
  showDeviceConfirmation,
  showDeviceEntry,
  showDeviceSuccess,
  showError,
  showSignedOut,
  showSignOut,
} from './pages/provider-pages.js';
import { INTERACTION, PATHS } from './paths.js';
import { Records } from './provider-records.js';
import { limitRefresh, limitRefreshes, resourceServer } from './resource-server.js';
import { ISSUER_SETTINGS, SESSION_S } from './settings.js';
import type { IssuerKeys } from './signing-keys.js';
import { STRANGER_S, type Strangers } from './strangers.js';
import { findAccount } from './user-claims.js';

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
/** How far the time of a DPoP proof at /token may be from now: oidc-provider's CHALLENGE_OK_WINDOW. */
const PROOF_WINDOW_S = 300;

/** The parts of which the provider is made. */
export interface ProviderParts {
  readonly config: Config;
  readonly db: Db;
  readonly checkReplay: Auth['checkReplay'];
  readonly keys: IssuerKeys;
  readonly strangers: Strangers;
}

/** Configures oidc-provider. */
export function createProvider({ config, db, checkReplay, keys, strangers }: ProviderParts): OAuthProvider {
  const { accessTokenSeconds, refreshReuseSeconds } = ISSUER_SETTINGS.of(config);
  const provider = new Provider(config.issuer!, {
    ...endpoints(config),
    ...lifetimes(accessTokenSeconds),
    ...tokens(),
    adapter: (model: string) =>
      model === 'Client' ? new Clients(db, model) : new Records(db, model, strangers, refreshReuseSeconds),
    jwks: { keys: [...keys.signing] as JWK[] },
    cookies: {
      keys: [keys.pagesSecret],
      names: cookieNames(config.issuer!),
    },
    extraClientMetadata: { properties: [API_SCOPES, TOKEN_FORMAT] },
    features: features(config.audience!, accessTokenSeconds),
    findAccount: (_ctx, id) => findAccount(db, id),
    loadExistingGrant: (ctx) => loadGrant(ctx, db, config.audience!),
    renderError: showError,
  });
  // oidc-provider documents this as the way to store only a hash of the secret.
  provider.Client.prototype.compareClientSecret = function compare(this: Client, secret: string) {
    return isSecret(secret, this.clientSecret!);
  };
  // oidc-provider's own check would accept a proof in two processes at once. A proof of the future stays valid for longer
  // than `until`.
  provider.ReplayDetection.unique = async (issuer: string, id: string, until: number) => {
    // Of the requests that store a proof, only pushed ones may come from a stranger.
    if (Provider.ctx?.oidc.route === 'pushed_authorization_request') await strangers.admit();
    return (await checkReplay(`dpop\n${issuer}\n${id}`, until + PROOF_WINDOW_S)) === 'first';
  };
  deriveSuccessors(provider, keys.pagesSecret);
  limitRefreshes(provider);
  pinOrigin(provider, config.issuer!);
  return provider;
}

/**
 * Gives each refresh token one successor, which depends on that token and the secret alone. So two uses of a token within the
 * period of reuse return the same successor, in any process, and no second family begins.
 */
function deriveSuccessors({ RefreshToken }: OAuthProvider, secret: string): void {
  const prototype = RefreshToken.prototype as unknown as { generateTokenId: () => string };
  const random = prototype.generateTokenId;
  prototype.generateTokenId = function successor() {
    const rotated = Provider.ctx?.oidc.entities.RotatedRefreshToken;
    if (!rotated) return random.call(this);
    return createHmac('sha256', secret).update(`refresh token\n${rotated.jti}`).digest('base64url');
  };
}

/** Clients are managed by operators alone, so oidc-provider reads them only. */
class Clients extends Records {
  override find(id: string) {
    return findMetadata(this.db, id);
  }
}

/** The configured URL takes the place of the request's Host and scheme, which a client chooses. */
function pinOrigin(provider: OAuthProvider, issuer: string): void {
  const { protocol, host } = new URL(issuer);
  Object.defineProperty(provider.request, 'protocol', { get: () => protocol.slice(0, -1) });
  Object.defineProperty(provider.request, 'host', { get: () => host });
}

/** Over https, prefixes prevent other hosts and http from setting cookies. `__Host-` needs the path `/`. */
function cookieNames(issuer: string) {
  const [host, secure] = issuer.startsWith('https:') ? ['__Host-', '__Secure-'] : ['', ''];
  return {
    session: `${host}plinth_session`,
    interaction: `${secure}plinth_interaction`,
    resume: `${secure}plinth_resume`,
  };
}

function endpoints({ issuer }: Config): Configuration {
  return {
    routes: PATHS,
    interactions: { url: (_ctx, interaction) => `${INTERACTION}/${interaction.uid}` },
    // CORS_ORIGINS decides for all paths.
    clientBasedCORS: () => false,
    discovery: { service_documentation: `${issuer}/.well-known/oauth-protected-resource` },
  };
}

function lifetimes(accessTokenSeconds: number): Configuration {
  return {
    clockTolerance: 5,
    ttl: {
      AccessToken: accessTokenSeconds,
      ClientCredentials: accessTokenSeconds,
      AuthorizationCode: 60,
      DeviceCode: 10 * 60,
      IdToken: HOUR_S,
      Interaction: STRANGER_S,
      RefreshToken: 14 * DAY_S,
      Session: (_ctx, { accountId }) => (accountId === undefined ? STRANGER_S : SESSION_S),
      Grant: 180 * DAY_S,
    },
    // oidc-provider reads the scopes of a refresh after this call, and before it knows the API.
    rotateRefreshToken: limitRefresh,
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
    clientDefaults: { id_token_signed_response_alg: ID_TOKEN_ALGORITHMS[0] },
    enabledJWA: {
      idTokenSigningAlgValues: [...ID_TOKEN_ALGORITHMS],
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

function features(audience: string, accessTokenSeconds: number): Configuration['features'] {
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
    introspection: {
      enabled: true,
      // Resource servers receive access tokens alone.
      allowedPolicy: async (_ctx, client, token) =>
        token.clientId === client.clientId ||
        (client.clientAuthMethod !== 'none' && token.kind !== 'RefreshToken'),
    },
    revocation: { enabled: true },
    dPoP: { enabled: true },
    pushedAuthorizationRequests: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: async (_ctx, _client, oneOf) => oneOf ?? audience,
      // Tokens with `openid` serve /userinfo and this API.
      useGrantedResource: async () => true,
      getResourceServerInfo: async (ctx, resource, client) => {
        if (resource !== audience) throw new errors.InvalidTarget();
        return resourceServer(ctx, client, resource, accessTokenSeconds);
      },
    },
  };
}
