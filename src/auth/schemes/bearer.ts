import type { Config } from '../../config/config.js';
import type { Principal } from '../../principal.js';
import type { Log } from '../../telemetry/log.js';
import { API_KEY_PREFIX } from '../credentials/api-key-format.js';
import type { AcceptOnce } from '../replay-guard.js';
import { credentialsOf, type Presented, quote, type Refusal, type Scheme } from '../scheme.js';
import { refusal, requireHolder, type Token } from '../tokens/access-token.js';
import { Introspection } from '../tokens/introspection.js';
import { JwtSource } from '../tokens/jwt.js';

/** For a response of the authorization server. */
const TIMEOUT_MS = 5000;

/** b64token of RFC 6750 section 2.1. */
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
/** Header, claims and a signature that may be empty (RFC 7515 section 7.1). */
const JWT = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/**
 * Access tokens in Authorization (RFC 6750). With an issuer, JWTs are verified with its keys and other tokens by
 * introspection; without an issuer, all tokens are introspected.
 */
export function bearer(config: Config, acceptOnce: AcceptOnce, log: Log, timeoutMs = TIMEOUT_MS): Scheme {
  return new Bearer(config, acceptOnce, log, timeoutMs);
}

class Bearer implements Scheme {
  readonly name = 'bearer';
  readonly #jwt: JwtSource | undefined;
  readonly #opaque: Introspection | undefined;
  readonly #hasApiKeys: boolean;
  /** The texts of introspected tokens, by principal, which must not contain a secret. */
  readonly #texts = new WeakMap<Principal, string>();

  constructor(
    readonly config: Config,
    readonly acceptOnce: AcceptOnce,
    log: Log,
    timeoutMs: number,
  ) {
    const { issuer, introspectionUri } = config;
    this.#jwt = issuer === undefined ? undefined : new JwtSource(config, issuer, log, timeoutMs);
    this.#opaque = introspectionUri === undefined ? undefined : new Introspection(config, log, timeoutMs);
    this.#hasApiKeys = config.auth.includes('api-key');
  }

  challenge(host: string | undefined, secure: boolean, refused: Refusal | undefined): string {
    const description = quote(refused?.description ?? 'No access token was sent.');
    const error = `error="invalid_token", error_description=${description}`;
    return `Bearer realm=${quote(this.config.realm)}, ${error}${metadataParameter(this.config, host, secure)}`;
  }

  authenticate(presented: Presented): Promise<Principal> | Principal | undefined {
    const text = credentialsOf(presented, 'bearer');
    if (text === undefined || (this.#hasApiKeys && text.startsWith(API_KEY_PREFIX))) return undefined;
    const token = this.#jwt?.cached(text) ?? this.#opaque?.cached(text) ?? this.#verify(text);
    return token instanceof Promise
      ? token.then((verified) => this.#accept(presented, verified))
      : this.#accept(presented, token);
  }

  recheck(principal: Principal): Promise<Principal> | Principal | undefined {
    const text = this.#texts.get(principal);
    if (text === undefined || !this.#opaque) return undefined;
    return this.#opaque.cached(text)?.principal ?? this.#opaque.verify(text).then((token) => token.principal);
  }

  async close(): Promise<void> {
    this.#jwt?.close();
  }

  #verify(text: string): Promise<Token> {
    if (!B64TOKEN.test(text)) throw refusal('The access token is malformed.');
    // API keys are secrets, which the introspection endpoint must not see.
    if (text.startsWith(API_KEY_PREFIX)) throw unsupported();
    if (this.#jwt && JWT.test(text)) return this.#jwt.verify(text);
    if (this.#opaque) return this.#introspect(this.#opaque, text);
    throw unsupported();
  }

  async #introspect(source: Introspection, text: string): Promise<Token> {
    const token = await source.verify(text);
    this.#texts.set(token.principal, text);
    return token;
  }

  #accept(presented: Presented, token: Token): Promise<Principal> | Principal {
    requireHolder(token, presented);
    const { principal, id } = token;
    return id === undefined ? principal : this.#acceptOnce(principal, id);
  }

  async #acceptOnce(principal: Principal, id: string): Promise<Principal> {
    // A token with an id is a JWT, which always expires.
    const use = await this.acceptOnce(id, principal.expiresAt! + this.config.jwtSkewSeconds);
    if (use === 'expired') throw refusal("The access token has expired by the database's clock.");
    if (use === 'repeated') throw refusal('The access token has been used before.');
    return principal;
  }
}

const unsupported = () => refusal('The format of the access token is unsupported.');

/** The URL of the resource metadata (RFC 9728 section 5.1). */
function metadataParameter({ publicUrl }: Config, host: string | undefined, secure: boolean): string {
  const base = publicUrl ?? (host === undefined ? undefined : `${secure ? 'https' : 'http'}://${host}`);
  return base === undefined
    ? ''
    : `, resource_metadata=${quote(`${base}/.well-known/oauth-protected-resource`)}`;
}
