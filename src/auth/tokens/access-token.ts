import { errors, type JWTPayload } from 'jose';
import type { AuthConfig } from '../../config/auth-settings.js';
import type { Config } from '../../config/config.js';
import type { JsonObject } from '../../json.js';
import { CredentialRejected, type Principal, scopesOf } from '../principal.js';
import type { AuthRequest } from '../scheme.js';
import { TimedCache } from '../timed-cache.js';
import { objectIn } from './issuer-client.js';

/** A verified access token. */
export interface Token {
  readonly principal: Principal;
  /** SHA-256 of the only certificate whose holder may use the token (RFC 8705 section 3). */
  readonly certificate: string | undefined;
  /** SHA-256 of the only key whose holder may use the token (RFC 9449 section 6). */
  readonly proofKey: string | undefined;
  /** Identifies the token if it is accepted once only. */
  readonly id: string | undefined;
  /** Milliseconds since 1970. */
  readonly cachedUntil: number;
}

export const refusal = (description: string) => new CredentialRejected('bearer', description);

/** The refusal of a token that was valid once. */
export const ended = (description: string) => new CredentialRejected('bearer', description, undefined, false);

/** Throws CredentialRejected when the token is bound to another certificate (RFC 8705 section 3). */
export function requireHolder({ certificate }: Token, request: AuthRequest): void {
  if (certificate !== undefined && certificate !== request.certificate)
    throw refusal('The access token is bound to another client certificate.');
}

/** Verifies access tokens in one format. */
export interface TokenSource {
  /** A token that was verified before and is still valid. */
  cached(text: string): Token | undefined;
  /** Rejects with CredentialRejected, or 503. */
  verify(text: string): Promise<Token>;
}

const MAX_TOKENS = 5000;
/** Longer tokens are not cached. */
export const MAX_CACHED_CHARACTERS = 4096;

/** Verified tokens, by their text. Concurrent requests with the same new token share one verification. */
export class TokenCache {
  readonly #tokens = new TimedCache<Token>(MAX_TOKENS);
  /** At most one for each request in progress. */
  readonly #pending = new Map<string, Promise<Token>>();
  #generation = 0;

  get(text: string): Token | undefined {
    return this.#tokens.get(text);
  }

  /** Verifies a token that is not cached. Errors are not cached. */
  add(text: string, verify: () => Promise<Token>): Promise<Token> {
    const pending = this.#pending.get(text);
    if (pending) return pending;
    const verified = this.#store(text, verify()).finally(() => this.#pending.delete(text));
    this.#pending.set(text, verified);
    return verified;
  }

  clear(): void {
    this.#generation++;
    this.#tokens.clear();
  }

  async #store(text: string, verified: Promise<Token>): Promise<Token> {
    const generation = this.#generation;
    const token = await verified;
    if (text.length <= MAX_CACHED_CHARACTERS && generation === this.#generation)
      this.#tokens.set(text, token, token.cachedUntil - Date.now());
    return token;
  }
}

/**
 * Finds the user of this service that the subject of another issuer means. `text`: the token as it was sent.
 * Resolves to the token with the user as its subject, and rejects with CredentialRejected, or 403.
 */
export type UserOfToken = (issuer: string, token: Token, claims: Claims, text: string) => Promise<Token>;

/** JWS algorithms of proofs. */
export const PROOF_ALGORITHMS = ['ES256', 'EdDSA', 'Ed25519'];

/** The claims of a JWT, or the members of an introspection response. */
export type Claims = Readonly<Record<string, unknown>>;

const ACCESS_TOKEN_TYPE = /^(?:application\/)?at\+jwt$/i;

const JWT_TYPE = /^(?:application\/)?jwt$/i;

/** ID tokens (OpenID Connect Core), security event and logout tokens (RFC 8417), introspection responses (RFC 9701). */
const OTHER_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events', 'token_introspection'];

/** `token_use`: Amazon Cognito has `access` and `id`, servers that introspect refresh tokens `access_token`. */
const ACCESS_USES: readonly unknown[] = ['access', 'access_token'];

/** The claim `typ` of Keycloak: `Bearer`, or `ID`, `Refresh`, `Offline`, `Logout`. `JWT` does not exclude anything. */
const ACCESS_TYPE_CLAIM = /^(?:bearer|access|access_token|at\+jwt|jwt)$/i;

/**
 * RFC 9068 section 2.2 (`scope`, `client_id`), Entra ID (`scp`, `azpacr`, `appidacr`), Auth0 (`gty`, `permissions`),
 * Okta (`scp`, `cid`). `azp`, `roles` and `groups` are in ID tokens too.
 */
const ACCESS_CLAIMS = ['scope', 'scp', 'client_id', 'azpacr', 'appidacr', 'gty', 'permissions', 'cid'];

/**
 * Throws CredentialRejected unless a JWT's `typ` and claims are those of an access token (RFC 9068 section 4, RFC 8725
 * sections 3.11 and 3.12). `at+jwt` suffices; any other accepted `typ` needs a claim that ID tokens do not have. The
 * signature, `iss`, `aud` and the times are checked in jwt.ts.
 */
export function requireAccessJwt(typ: unknown, claims: Claims, configured: AuthConfig['jwtType']): void {
  requireAccessClaims(claims);
  if (typ !== undefined && typeof typ !== 'string') throw notAccessToken();
  const isExplicit = typ !== undefined && ACCESS_TOKEN_TYPE.test(typ);
  const isAcceptedType = isExplicit || (configured === 'JWT' && (typ === undefined || JWT_TYPE.test(typ)));
  if (!isAcceptedType || !(isExplicit || hasAccessClaim(claims))) throw notAccessToken();
}

/** Throws CredentialRejected for the claims or the introspection response of another kind of token. */
export function requireAccessClaims(claims: Claims): void {
  const { token_use: use, typ } = claims;
  const isOther =
    OTHER_TOKEN_CLAIMS.some((claim) => claims[claim] !== undefined) ||
    !(use === undefined || ACCESS_USES.includes(use)) ||
    !(typ === undefined || (typeof typ === 'string' && ACCESS_TYPE_CLAIM.test(typ)));
  if (isOther) throw notAccessToken();
}

export const notAccessToken = () => refusal('The token is not an access token.');

function hasAccessClaim(claims: Claims): boolean {
  const { token_use: use, typ } = claims;
  if (use !== undefined || (typeof typ === 'string' && !JWT_TYPE.test(typ))) return true;
  return ACCESS_CLAIMS.some((claim) => claims[claim] !== undefined && claims[claim] !== null);
}

/**
 * The subject of a verified token: `sub`, with the prefix `client:` if a client acts on its own behalf. No user's id has
 * that prefix, so the scope `self` never applies to a client (RFC 9068 section 5). Throws CredentialRejected without `sub`.
 */
function subjectOf(claims: Claims): string {
  const { sub } = claims;
  if (typeof sub !== 'string' || sub === '') throw refusal('The access token has no subject.');
  return isClient(sub, claims) ? `client:${sub}` : sub;
}

/** The claims that access rules can name: without the identifier of the token, which may be the token itself. */
function ruleClaims({ jti: _, ...claims }: Claims): JsonObject {
  return claims as JsonObject;
}

function isClient(sub: string, claims: Claims): boolean {
  const { iss, client_id, azp, appid, cid, gty, idtyp, oid, scp, preferred_username, username } = claims;
  const client = client_id ?? azp;
  return (
    // RFC 9068 section 2.2; a service account of Google signs for itself.
    [client_id, azp, appid, cid, iss].includes(sub) ||
    // Auth0.
    sub === `${client}@clients` ||
    gty === 'client-credentials' ||
    // Entra ID: `sub` is the object id only where no user is involved.
    idtyp === 'app' ||
    (sub === oid && scp === undefined) ||
    // Keycloak, which stores names in lower case.
    (typeof client === 'string' &&
      [preferred_username, username].includes(`service-account-${client}`.toLowerCase()))
  );
}

/**
 * A JWT's scopes: the values of the first configured claim that the token has. With a map, only values that it names
 * grant scopes.
 */
function scopesIn(
  claims: Claims,
  { jwtScopesClaims, jwtScopesMap }: Pick<AuthConfig, 'jwtScopesClaims' | 'jwtScopesMap'>,
): ReadonlySet<string> {
  const present = jwtScopesClaims.map((path) => claimAt(claims, path));
  const values = scopesOf(present.find((value) => value !== undefined && value !== null));
  if (jwtScopesMap === undefined) return values;
  return new Set([...values].flatMap((value) => jwtScopesMap.get(value) ?? []));
}

/**
 * The claim with this exact name, else a member of the object that the longest possible start of the path names: names
 * of claims and clients can contain dots.
 */
export function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const name = path.slice(0, dot);
    const members = Object.hasOwn(claims, name) ? objectIn(claims[name]) : undefined;
    if (members) return claimAt(members, path.slice(dot + 1));
  }
  return undefined;
}

/** The last second since 1970 that a Date can hold. */
const MAX_SECONDS = 8.64e12;

/** A time in seconds since 1970; undefined without the claim. Throws CredentialRejected for anything else. */
export function secondsIn(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Math.abs(value) <= MAX_SECONDS) return value;
  throw refusal('The access token has an invalid time.');
}

/**
 * The binding that a `cnf` claim names: to a certificate (RFC 8705), or to the key of DPoP proofs (RFC 9449). Throws CredentialRejected for any other confirmation method, which would not be
 * verified (RFC 7800 section 3.1).
 */
function confirmationIn(cnf: unknown): Pick<Token, 'certificate' | 'proofKey'> {
  if (cnf === undefined) return { certificate: undefined, proofKey: undefined };
  const members = objectIn(cnf);
  const { 'x5t#S256': certificate, jkt: proofKey } = members ?? {};
  if (members && Object.keys(members).length === 1) {
    if (typeof certificate === 'string') return { certificate, proofKey: undefined };
    if (typeof proofKey === 'string') return { certificate: undefined, proofKey };
  }
  throw refusal('The access token is bound to its holder by an unsupported method.');
}

/** The token of verified claims, which is cached for `cacheMs` at most. Throws CredentialRejected. */
export function tokenWith(claims: Claims, scopes: ReadonlySet<string>, cacheMs: number): Token {
  const expiresAt = secondsIn(claims.exp);
  return {
    principal: {
      subject: subjectOf(claims),
      scopes,
      scheme: 'bearer',
      claims: ruleClaims(claims),
      expiresAt,
    },
    ...confirmationIn(claims.cnf),
    id: undefined,
    cachedUntil: Math.min((expiresAt ?? Number.POSITIVE_INFINITY) * 1000, Date.now() + cacheMs),
  };
}

/** The token of the verified claims of a JWT. Throws CredentialRejected. */
export function tokenOf(claims: JWTPayload, config: Config): Token {
  const { issuer, jwtOnce } = config;
  const token = tokenWith(claims, scopesIn(claims, config), CACHE_MS);
  if (!jwtOnce) return token;
  const { jti } = claims;
  if (typeof jti !== 'string' || jti === '') throw refusal('The access token has no jti.');
  return { ...token, id: `jwt\n${issuer}\n${jti}` };
}

/** The fault of a token that jose rejects, which verifies the signature before the times. */
export function refusalOf(error: errors.JOSEError): CredentialRejected {
  if (error instanceof errors.JWTExpired) return ended('The access token has expired.');
  if (error instanceof errors.JOSEAlgNotAllowed)
    return refusal('The access token is signed with an unsupported algorithm.');
  if (error instanceof errors.JWTClaimValidationFailed)
    return refusal(CLAIMS[error.claim] ?? 'The access token has a malformed claim.');
  return refusal('The access token is malformed or its signature is invalid.');
}

const CACHE_MS = 5 * 60_000;

const CLAIMS: Readonly<Record<string, string>> = {
  iss: 'The access token is from another issuer.',
  aud: 'The access token is for another audience.',
  nbf: 'The access token is not valid yet.',
  exp: 'The access token has no exp.',
  sub: 'The access token has no subject.',
};
