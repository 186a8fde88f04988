import type { IntrospectionSettings } from '../../config/auth-settings.js';
import type { Config } from '../../config/config.js';
import { MAX_INTROSPECTIONS } from '../../config/limit-settings.js';
import { beyond, unavailable } from '../../errors/service-errors.js';
import type { Log } from '../../telemetry/log.js';
import { WorkSlots } from '../../work/shared-runs.js';
import { CredentialRejected, scopesOf } from '../principal.js';
import { TimedCache } from '../timed-cache.js';
import {
  type Claims,
  MAX_CACHED_CHARACTERS,
  notAccessToken,
  refusal,
  requireAccessClaims,
  secondsIn,
  type Token,
  TokenCache,
  type TokenSource,
  tokenWith,
  type UserOfToken,
} from './access-token.js';
import { objectIn, RemoteError, requestJson } from './issuer-client.js';

const VALID_CACHE_MS = 30_000;
const INVALID_CACHE_MS = 5000;
/** Invalid tokens have a cache of their own, so that they do not evict valid ones. */
const MAX_INVALID = 5000;

/**
 * Verifies tokens at the introspection endpoint (RFC 7662). Rejects with CredentialRejected, and with 503 when
 * MAX_INTROSPECTIONS requests are in progress, or the authorization server is unavailable or rejects the service's own
 * credentials.
 */
export class Introspection implements TokenSource {
  readonly #valid = new TokenCache();
  readonly #invalid = new TimedCache<CredentialRejected>(MAX_INVALID);
  readonly #headers: Record<string, string>;
  readonly #slots = new WorkSlots(MAX_INTROSPECTIONS, 0);

  constructor(
    readonly config: Config,
    readonly settings: IntrospectionSettings,
    readonly log: Log,
    readonly timeoutMs: number,
    /** Undefined: the subject is the id of a user. */
    readonly userOf?: UserOfToken,
  ) {
    this.#headers = {
      'Content-Type': 'application/x-www-form-urlencoded',
      ...authorizationOf(settings),
    };
  }

  cached(text: string): Token | undefined {
    return this.#valid.get(text);
  }

  async verify(text: string): Promise<Token> {
    const invalid = this.#invalid.get(text);
    if (invalid) throw invalid;
    return this.#valid.add(text, () => this.#verifyNew(text));
  }

  async #verifyNew(text: string): Promise<Token> {
    const response = await this.#introspect(text);
    try {
      const token = tokenOf(response, this.config);
      const issuer = typeof response.iss === 'string' ? response.iss : this.config.issuer;
      if (!this.userOf || issuer === undefined) return token;
      return await this.userOf(issuer, token, response, text);
    } catch (error) {
      if (error instanceof CredentialRejected && text.length <= MAX_CACHED_CHARACTERS)
        this.#invalid.set(text, error, INVALID_CACHE_MS);
      throw error;
    }
  }

  async #introspect(text: string): Promise<Claims> {
    const response = this.#slots.run(() => this.#request(text));
    if (!response) throw beyond('introspections');
    try {
      return await response;
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      this.log.error({ err: error }, 'a token cannot be introspected');
      throw unavailable('The authorization server cannot verify the access token now.');
    }
  }

  /** Throws RemoteError for any status but 200: a 401 means that the service's own credentials are wrong. */
  async #request(text: string): Promise<Claims> {
    const { uri } = this.settings;
    const { status, json } = await requestJson(uri, AbortSignal.timeout(this.timeoutMs), {
      method: 'POST',
      headers: this.#headers,
      body: new URLSearchParams({ token: text, token_type_hint: 'access_token' }).toString(),
    });
    if (status !== 200) throw new RemoteError(`${uri}: status ${status}`);
    const response = objectIn(json);
    if (typeof response?.active !== 'boolean') throw new RemoteError(`${uri}: no boolean member "active"`);
    return response;
  }
}

/** RFC 6749 section 2.3.1: id and secret are form-encoded first. */
function authorizationOf({ clientId, clientSecret }: IntrospectionSettings) {
  if (clientId === '') return {};
  const encoded = [clientId, clientSecret].map((part) =>
    new URLSearchParams({ '': part }).toString().slice(1),
  );
  return { Authorization: `Basic ${Buffer.from(encoded.join(':')).toString('base64')}` };
}

/** The token of an introspection response (RFC 7662 section 2.2). Throws CredentialRejected. */
function tokenOf(response: Claims, config: Config): Token {
  const { active, token_type, iss, aud, sub = response.client_id, scope } = response;
  if (active !== true) throw refusal('The access token is not active.');
  requireAccessClaims(response);
  const token = tokenWith({ ...response, sub }, scopesOf(scope), VALID_CACHE_MS);
  // Refresh tokens have no token_type, or another one.
  const expectedType = token.proofKey === undefined ? 'bearer' : 'dpop';
  if (token_type !== undefined && String(token_type).toLowerCase() !== expectedType) throw notAccessToken();
  if (iss !== undefined && config.issuer !== undefined && iss !== config.issuer)
    throw refusal('The access token is from another issuer.');
  if (config.audience !== undefined && ![aud].flat().includes(config.audience))
    throw refusal('The access token is for another audience.');
  requireCurrent(response, config.jwtSkewSeconds);
  return token;
}

/** Throws CredentialRejected before `nbf` and after `exp`. */
function requireCurrent({ exp, nbf }: Claims, skewSeconds: number): void {
  const now = Date.now();
  if (((secondsIn(exp) ?? Number.POSITIVE_INFINITY) + skewSeconds) * 1000 <= now)
    throw refusal('The access token has expired.');
  if (((secondsIn(nbf) ?? 0) - skewSeconds) * 1000 > now) throw refusal('The access token is not valid yet.');
}
