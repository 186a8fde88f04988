import { CredentialRejected, type Principal } from '../principal.js';
import type { AuthRequest } from '../scheme.js';
import { TimedCache } from '../timed-cache.js';

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

/** JWS algorithms of proofs. */
export const PROOF_ALGORITHMS = ['ES256', 'EdDSA', 'Ed25519'];
