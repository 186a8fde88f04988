import { decodeJwt } from 'jose';
import type { Config } from '../../config/config.js';
import type { Log } from '../../telemetry/log.js';
import { API_KEY_PREFIX } from '../credentials/api-key-format.js';
import type { CredentialRejected, Principal } from '../principal.js';
import type { CheckReplay } from '../replay-guard.js';
import { type AuthRequest, credentialsOf, quote, type Scheme } from '../scheme.js';
import {
  PROOF_ALGORITHMS,
  refusal,
  requireHolder,
  type Token,
  type TokenSource,
  type UserOfToken,
} from '../tokens/access-token.js';
import { Introspection } from '../tokens/introspection.js';
import { JwtSource } from '../tokens/jwt.js';
import { requireProof } from '../tokens/proof.js';

/** For a response of the authorization server. */
const TIMEOUT_MS = 5000;

/** b64token of RFC 6750 section 2.1. */
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
/** Header, claims and a signature that may be empty (RFC 7515 section 7.1). */
const JWT = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/**
 * Access tokens in Authorization (RFC 6750), also those that are bound to a key (RFC 9449). With an issuer, JWTs are
 * verified with its keys and other tokens by introspection; without an issuer, all tokens are introspected. Tokens of the
 * embedded authorization server are verified with its records in the database.
 */
export class Bearer implements Scheme {
  readonly name = 'bearer';
  readonly #jwt: JwtSource | undefined;
  readonly #opaque: TokenSource | undefined;
  readonly #hasApiKeys: boolean;
  /** The texts of tokens that can be checked again, by principal, which must not contain a secret. */
  readonly #texts = new WeakMap<Principal, string>();

  constructor(
    readonly config: Config,
    readonly checkReplay: CheckReplay,
    log: Log,
    timeoutMs = TIMEOUT_MS,
    /** The tokens of the embedded authorization server; undefined: there is none. */
    readonly own?: TokenSource,
    userOf?: UserOfToken,
  ) {
    const { issuer, otherIssuer, introspection } = config;
    const external = own ? otherIssuer : issuer === undefined ? undefined : { issuer };
    this.#jwt =
      external && new JwtSource({ ...config, ...external }, external.issuer, log, timeoutMs, userOf);
    this.#opaque =
      introspection === undefined ? own : new Introspection(config, introspection, log, timeoutMs, userOf);
    this.#hasApiKeys = config.auth.includes('api-key');
  }

  challenge(host: string | undefined, secure: boolean, refused: CredentialRejected | undefined): string {
    const description = quote(refused?.description ?? 'No access token was sent.');
    const error = `error="invalid_token", error_description=${description}`;
    const metadata = metadataParameter(this.config, host, secure);
    const proofs = this.own ? `, DPoP algs=${quote(PROOF_ALGORITHMS.join(' '))}` : '';
    return `Bearer realm=${quote(this.config.realm)}, ${error}${metadata}${proofs}`;
  }

  authenticate(request: AuthRequest): Promise<Principal> | undefined {
    const plain = credentialsOf(request, 'bearer');
    const text = plain ?? credentialsOf(request, 'dpop');
    if (text === undefined || (this.#hasApiKeys && text.startsWith(API_KEY_PREFIX))) return undefined;
    return this.#accept(request, text, plain === undefined);
  }

  secretOf(principal: Principal): string | undefined {
    return this.#texts.get(principal);
  }

  async restore(text: string): Promise<Principal> {
    if (!this.#opaque) throw unsupported();
    return (this.#opaque.cached(text) ?? (await this.#introspect(this.#opaque, text))).principal;
  }

  async close(): Promise<void> {
    this.#jwt?.close();
  }

  async #verify(text: string): Promise<Token> {
    const cached = this.#jwt?.cached(text) ?? this.#opaque?.cached(text);
    if (cached) return cached;
    if (!B64TOKEN.test(text)) throw refusal('The access token is malformed.');
    // API keys are secrets, which the introspection endpoint must not see.
    if (text.startsWith(API_KEY_PREFIX)) throw unsupported();
    const isOwn = this.own && claimedIssuer(text) !== this.config.otherIssuer?.issuer;
    if (this.#jwt && !isOwn && JWT.test(text)) return this.#jwt.verify(text);
    if (this.#opaque) return this.#introspect(this.#opaque, text);
    throw unsupported();
  }

  async #introspect(source: TokenSource, text: string): Promise<Token> {
    const token = await source.verify(text);
    this.#texts.set(token.principal, text);
    return token;
  }

  async #accept(request: AuthRequest, text: string, hasProof: boolean): Promise<Principal> {
    const token = await this.#verify(text);
    requireHolder(token, request);
    const { principal, id, proofKey } = token;
    if (proofKey !== undefined && !hasProof)
      throw refusal('The access token is bound to a key: send it as DPoP, with a proof.');
    if (hasProof) {
      if (proofKey === undefined) throw refusal('The access token is not bound to a key: send it as Bearer.');
      const { secure, headers } = request;
      const base = this.config.publicUrl ?? `${secure ? 'https' : 'http'}://${headers.host}`;
      await requireProof(request, text, proofKey, base, this.checkReplay);
    }
    if (id === undefined) return principal;
    // A token with an id is a JWT, which always expires.
    const use = await this.checkReplay(id, principal.expiresAt! + this.config.jwtSkewSeconds);
    if (use === 'expired') throw refusal("The access token has expired by the database's clock.");
    if (use === 'repeated') throw refusal('The access token has been used before.');
    return principal;
  }
}

/** The issuer that a token names, before its signature is verified; undefined: none. */
function claimedIssuer(text: string): string | undefined {
  try {
    return decodeJwt(text).iss;
  } catch {
    return undefined;
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
