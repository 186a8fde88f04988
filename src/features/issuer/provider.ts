import { createHmac } from 'node:crypto';
import type {
  Adapter,
  Client,
  Configuration,
  JWK,
  KoaContextWithOIDC,
  Provider as OAuthProvider,
} from 'oidc-provider';
import { scopesOf } from '../../auth/principal.js';
import { PROOF_ALGORITHMS } from '../../auth/tokens/access-token.js';
import type { Config } from '../../config/config.js';
import type { Db } from '../../db/db.js';
import type { Auth } from '../../feature.js';
import { ID_TOKEN_ALGORITHMS } from './client-kind.js';
import { CLAIMS, permittedScopes, withImplied } from './client-scopes.js';
import { API_SCOPES, FIRST_PARTY, findMetadata, isSecret, TOKEN_FORMAT } from './clients.js';
import { loadGrant, rememberFirstParty } from './consents.js';
import { errors, interactionPolicy, Provider } from './oidc-provider.js';
import { OWN_ALGORITHM } from './own-keys.js';
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
import { ISSUER_SETTINGS, SESSION_S } from './settings.js';
import { ACRS, hasTwoFactors, SECOND_STEP } from './sign-in-methods.js';
import type { IssuerKeys } from './signing-keys.js';
import { STRANGER_S } from './strangers.js';
import { findAccount, lacksSecondFactor, type UserAccount } from './user-claims.js';

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
  /** Counts a record without a user. Rejects with 429. */
  readonly admit: () => Promise<void>;
}

/** Configures oidc-provider. */
export function createProvider({ config, db, checkReplay, keys, admit }: ProviderParts): OAuthProvider {
  const settings = ISSUER_SETTINGS.of(config);
  const { accessTokenSeconds } = settings;
  const provider = new Provider(config.issuer!, {
    ...endpoints(config, db),
    ...lifetimes(accessTokenSeconds),
    ...tokens(),
    // Clients are managed by operators alone, so oidc-provider reads them only.
    adapter: (model: string) =>
      model === 'Client'
        ? ({ find: (id) => findMetadata(db, id) } as Adapter)
        : new Records(db, model, settings, admit),
    jwks: { keys: [...keys.signing] as JWK[] },
    cookies: { keys: [keys.pagesSecret], names: cookieNames(config.issuer!) },
    extraClientMetadata: { properties: [API_SCOPES, TOKEN_FORMAT, FIRST_PARTY] },
    features: features(config.audience!, accessTokenSeconds),
    findAccount: (_ctx, id, source) => findAccount(config, db, id, source as { amr?: string[] } | undefined),
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
    if (Provider.ctx?.oidc.route === 'pushed_authorization_request') await admit();
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

function endpoints(config: Config, db: Db): Configuration {
  return {
    routes: PATHS,
    interactions: {
      policy: promptsOf(config, db),
      url: (_ctx, interaction) => `${INTERACTION}/${interaction.uid}`,
    },
    // CORS_ORIGINS decides for all paths.
    clientBasedCORS: () => false,
    discovery: { service_documentation: `${config.issuer}/.well-known/oauth-protected-resource` },
  };
}

/** The steps of a sign-in. Between the password and the consent, the user proves a second factor if one is needed. */
function promptsOf(config: Config, db: Db) {
  const { base, Check, Prompt } = interactionPolicy;
  const policy = base();
  const isMissing = ({ oidc: { account, session, params, requestParamScopes } }: KoaContextWithOIDC) => {
    if (account === undefined) return false;
    const classes = scopesOf(params?.acr_values);
    const needsTwo = classes.has('2') && !classes.has('1');
    const { user } = account as UserAccount;
    return (
      lacksSecondFactor(config, user, session?.amr, requestParamScopes) ||
      (needsTwo && !hasTwoFactors(session?.amr))
    );
  };
  const check = new Check(SECOND_STEP, 'a second factor is needed', 'interaction_required', isMissing);
  policy.add(new Prompt({ name: SECOND_STEP }, check), 1);
  const end = new Check('end', 'never missing', (ctx) => rememberFirstParty(ctx, db, config.audience!));
  policy.add(new Prompt({ name: 'end' }, end));
  const refuseUnknown = ({ oidc: { params } }: KoaContextWithOIDC) => {
    const classes = scopesOf(params?.acr_values);
    if (classes.size === 0 || ACRS.some((acr) => classes.has(acr))) return false;
    throw new errors.UnmetAuthenticationRequirements(`acr_values must contain ${ACRS.join(' or ')}`);
  };
  policy.get('login')!.checks.add(new Check('unknown_acr', 'unknown', refuseUnknown), 0);
  return policy;
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
      // oidc-provider stores a session anew with each request, which does not lengthen its life.
      Session: (_ctx, { accountId, loginTs = 0 }) =>
        accountId === undefined
          ? STRANGER_S
          : Math.max(1, loginTs + SESSION_S - Math.floor(Date.now() / 1000)),
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
    claims: {
      ...Object.fromEntries(Object.entries(CLAIMS).map(([scope, claims]) => [scope, [...claims]])),
      openid: ['sub', 'amr', 'acr'],
    },
    acrValues: ACRS,
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
      const source = sourceOf(oidc);
      return {
        ...('grantId' in token && token.grantId !== undefined ? { [GRANT_CLAIM]: token.grantId } : {}),
        ...(source?.authTime === undefined ? {} : { auth_time: source.authTime }),
        ...(source?.amr === undefined ? {} : { amr: source.amr, acr: source.acr }),
      };
    },
  };
}

/** The record with the sign-in from which a token is issued; undefined: it is the token of a client. */
const sourceOf = ({ entities }: KoaContextWithOIDC['oidc']) =>
  entities.AuthorizationCode ?? entities.DeviceCode ?? entities.RefreshToken;

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
      // Limits the request to scopes that the client may have.
      getResourceServerInfo: async (ctx, resource, client) => {
        if (resource !== audience) throw new errors.InvalidTarget();
        const scopes = scopesOfClient(client);
        limitRequest(ctx, (scope) => scope === 'offline_access' || scopes.has(scope));
        return {
          audience,
          scope: stillAllowed(ctx, [...scopes].join(' ')),
          accessTokenTTL: accessTokenSeconds,
          accessTokenFormat: client[TOKEN_FORMAT] === 'opaque' ? 'opaque' : 'jwt',
          jwt: { sign: { alg: OWN_ALGORITHM } },
        };
      },
    },
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
function limitRefreshes({ RefreshToken }: OAuthProvider): void {
  const find = RefreshToken.find;
  RefreshToken.find = async function limited(...given: Parameters<typeof find>) {
    const token = (await find.apply(this, given)) as { readonly scopes: ReadonlySet<string> } | undefined;
    const { ctx } = Provider;
    if (!token || ctx?.oidc.params?.grant_type !== 'refresh_token') return token;
    const scopes = withImplied(token.scopes);
    limitRequest(ctx, (scope) => scopes.has(scope));
    return Object.defineProperty(token, 'scopes', { value: scopes });
  } as typeof find;
}

/** Limits a refresh to scopes that the client may have and the user may still allow. Returns that the token is replaced. */
function limitRefresh(ctx: KoaContextWithOIDC): true {
  const { params, client, account, entities } = ctx.oidc;
  params!.scope ??= entities.RefreshToken!.scope;
  const scopes = scopesOfClient(client!);
  limitRequest(ctx, (scope) => scope === 'offline_access' || scopes.has(scope));
  params!.scope = (account as UserAccount).allowed(params!.scope, entities.RefreshToken!.amr);
  return true;
}

/** At /token the scopes that the user may still allow: an operator may have withdrawn some since the consent. */
function stillAllowed({ oidc }: KoaContextWithOIDC, scopes: string): string {
  const account = oidc.route === 'token' ? (oidc.account as UserAccount | undefined) : undefined;
  return account ? account.allowed(scopes, sourceOf(oidc)?.amr) : scopes;
}
