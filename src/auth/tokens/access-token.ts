import QuickLRU from 'quick-lru';
import type { Principal } from '../../principal.js';
import { type Presented, Refusal } from '../scheme.js';
import { objectIn } from './issuer-client.js';

/** An access token that is good. */
export interface Token {
  readonly principal: Principal;
  /** SHA-256 of the certificate whose holder alone may use it (RFC 8705 section 3). */
  readonly certificate: string | undefined;
  /** What it is told apart by when it is taken once only. */
  readonly id: string | undefined;
  /** Until when it need not be asked about again, in milliseconds since 1970. */
  readonly goodUntil: number;
}

export const refusal = (description: string) => new Refusal('bearer', description);

/** The latest second since 1970 that a Date can hold: what comes after is no time. */
const LAST_SECOND = 8.64e12;

/** A time in seconds since 1970; undefined when there is none. Throws a Refusal for anything else. */
export function secondsIn(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Math.abs(value) <= LAST_SECOND) return value;
  throw refusal('The access token has a time that is none.');
}

/**
 * The certificate that a `cnf` claim names; undefined when there is no claim. Throws a Refusal for a token that is
 * bound to anything else, which would not be checked (RFC 7800 section 3.1).
 */
export function certificateIn(cnf: unknown): string | undefined {
  if (cnf === undefined) return undefined;
  const members = objectIn(cnf);
  const thumbprint = members?.['x5t#S256'];
  if (typeof thumbprint === 'string' && Object.keys(members!).length === 1) return thumbprint;
  throw refusal('The access token is bound to its holder in a way that is not taken.');
}

/** Throws a Refusal when the token is somebody else's (RFC 8705 section 3). */
export function requireHolder({ certificate }: Token, presented: Presented): void {
  if (certificate !== undefined && certificate !== presented.certificate)
    throw refusal('The access token is bound to a client certificate that was not shown.');
}

/** Where tokens of one kind come from. */
export interface TokenSource {
  /** A token that was found good, and still is. */
  known(text: string): Token | undefined;
  /** Finds out about one that is not known. Rejects with a Refusal, or 503. */
  token(text: string): Promise<Token>;
}

/** Tokens in the cache, and characters of one that may be in it. */
const MAX_TOKENS = 5000;
export const MAX_CHARACTERS = 4096;
/** How many last characters a token is looked up by: a hash of all of it takes four times as long. */
const TAIL = 32;

interface Kept {
  readonly text: string;
  readonly token: Token;
}

/** Tokens that were found good. Of several requests with a new one, one finds out. */
export class TokenCache {
  /** By their ends, which are a signature's or random; of several with the same end, the last. */
  readonly #tokens = new QuickLRU<string, Kept>({ maxSize: MAX_TOKENS / 2 });
  /** The one that was asked for last: often the next is the same, and is found without a hash. */
  #last: Kept | undefined;
  /** At most one for each request in progress. */
  readonly #pending = new Map<string, Promise<Token>>();
  #cleared = 0;

  known(text: string): Token | undefined {
    const kept = this.#last?.text === text ? this.#last : this.#tokens.get(text.slice(-TAIL));
    if (kept === undefined || kept.text !== text || Date.now() >= kept.token.goodUntil) return undefined;
    this.#last = kept;
    return kept.token;
  }

  /** One that is not known, by `verify`, whose errors are not remembered. */
  find(text: string, verify: (text: string) => Promise<Token>): Promise<Token> {
    const pending = this.#pending.get(text);
    if (pending) return pending;
    const verified = this.#keep(text, verify(text)).finally(() => this.#pending.delete(text));
    this.#pending.set(text, verified);
    return verified;
  }

  clear(): void {
    this.#cleared++;
    this.#tokens.clear();
    this.#last = undefined;
  }

  async #keep(text: string, verified: Promise<Token>): Promise<Token> {
    const cleared = this.#cleared;
    const token = await verified;
    if (text.length <= MAX_CHARACTERS && cleared === this.#cleared)
      this.#tokens.set(text.slice(-TAIL), { text, token });
    return token;
  }
}
