import type { Config } from '../../config/config.js';
import type { Principal } from '../../principal.js';
import type { Log } from '../../telemetry/log.js';
import type { TakeOnce } from '../replay-guard.js';
import { credentialsOf, type Presented, quote, type Scheme } from '../scheme.js';
import { refusal, requireHolder, type Token, TokenCache, type TokenSource } from '../tokens/access-token.js';
import { introspection } from '../tokens/introspection.js';
import { IssuerKeys } from '../tokens/jwks.js';
import { jwtVerifier } from '../tokens/jwt.js';

/** For a response of the authorization server. */
const TIMEOUT_MS = 5000;

/** b64token of RFC 6750 section 2.1. */
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
/** Header, claims and a signature that may be empty (RFC 7515 section 7.1). */
const JWT = /^[\w-]+\.[\w-]*\.[\w-]*$/;
/** What the keys of this service begin with. */
const API_KEY = 'plinth_';

/**
 * An access token in Authorization (RFC 6750): a JWT of the issuer, which is verified here, or another one, which
 * the introspection endpoint is asked about. Without an issuer that is asked about all.
 */
export function bearer(config: Config, takeOnce: TakeOnce, log: Log, timeoutMs = TIMEOUT_MS): Scheme {
  const jwt = config.issuer === undefined ? undefined : jwtSource(config, config.issuer, log, timeoutMs);
  const opaque = config.introspectionUri === undefined ? undefined : introspection(config, log, timeoutMs);
  const takesKeys = config.auth.includes('api-key');
  /** The texts of introspected tokens. Not in the principal, which must not hold a secret. */
  const texts = new WeakMap<Principal, string>();

  /** No promise for a token that is known, whose form has been looked at before. */
  function tokenOf(text: string): Promise<Token> | Token {
    return jwt?.known(text) ?? opaque?.known(text) ?? newToken(text);
  }

  function newToken(text: string): Promise<Token> {
    if (!B64TOKEN.test(text)) throw refusal('The access token is malformed.');
    // A key of this service is a secret that nobody else may see.
    if (text.startsWith(API_KEY)) throw refusal('The access token is of an unsupported kind.');
    if (jwt && JWT.test(text)) return jwt.token(text);
    if (opaque) return introspected(opaque, text);
    throw refusal('The access token is of an unsupported kind.');
  }

  async function introspected(source: TokenSource, text: string): Promise<Token> {
    const token = await source.token(text);
    texts.set(token.principal, text);
    return token;
  }

  function verify(presented: Presented, text: string): Promise<Principal> | Principal {
    const token = tokenOf(text);
    return token instanceof Promise
      ? token.then((found) => taken(presented, found))
      : taken(presented, token);
  }

  function taken(presented: Presented, token: Token): Promise<Principal> | Principal {
    requireHolder(token, presented);
    const { principal, id } = token;
    return id === undefined ? principal : takenOnce(principal, id);
  }

  async function takenOnce(principal: Principal, id: string): Promise<Principal> {
    // Fits every token that an id is for: those have an end.
    const use = await takeOnce(id, principal.expiresAt! + config.jwtSkewSeconds);
    if (use === 'first') return principal;
    throw refusal(
      use === 'expired'
        ? "The access token has expired by the database's clock."
        : 'The access token has been used before.',
    );
  }

  return {
    name: 'bearer',
    challenge: (host, secure, refused) =>
      `Bearer realm=${quote(config.realm)}, error="invalid_token", error_description=${quote(
        refused?.description ?? 'No access token was sent.',
      )}${metadataOf(config, host, secure)}`,
    authenticate: (presented) => {
      const text = credentialsOf(presented, 'bearer');
      if (text === undefined || (takesKeys && text.startsWith(API_KEY))) return undefined;
      return verify(presented, text);
    },
    recheck: (principal) => {
      const text = texts.get(principal);
      if (text === undefined || !opaque) return undefined;
      return opaque.known(text)?.principal ?? opaque.token(text).then((token) => token.principal);
    },
    close: async () => jwt?.close(),
  };
}

/** Verified JWTs. Those that are taken once are not worth remembering. */
function jwtSource(
  config: Config,
  issuer: string,
  log: Log,
  timeoutMs: number,
): TokenSource & { close(): void } {
  const cache = new TokenCache();
  const { jwksUri } = config;
  const keys = new IssuerKeys({ issuer, jwksUri }, log, timeoutMs, () => cache.clear());
  const verify = jwtVerifier(config, (header, input) => keys.find(header, input));
  return {
    known: (text) => {
      keys.refresh();
      return cache.known(text);
    },
    token: (text) => (config.jwtOnce ? verify(text) : cache.find(text, verify)),
    close: () => keys.close(),
  };
}

/** Where the metadata of this resource is (RFC 9728 section 5.1). */
function metadataOf({ publicUrl }: Config, host: string | undefined, secure: boolean): string {
  const base = publicUrl ?? (host === undefined ? undefined : `${secure ? 'https' : 'http'}://${host}`);
  return base === undefined
    ? ''
    : `, resource_metadata=${quote(`${base}/.well-known/oauth-protected-resource`)}`;
}
