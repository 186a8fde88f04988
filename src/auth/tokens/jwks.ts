import {
  type CompactJWSHeaderParameters,
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
} from 'jose';
import { parseSecureUrl } from '../../config/parsers.js';
import { unavailable } from '../../errors.js';
import type { Log } from '../../telemetry/log.js';
import { Refusal } from '../scheme.js';
import { ask, objectIn, RemoteError } from './issuer-client.js';

/** Where the keys are: at `jwksUri`, or where the issuer's metadata says. */
export interface KeySource {
  readonly issuer: string;
  readonly jwksUri: string | undefined;
}

export interface RemoteTiming {
  /** How long the authorization server has for an answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Keys of this age are fetched anew, beside the request that meets them. */
const REFRESH_MS = 5 * 60_000;
/** For keys of this age the request waits, as after an idle hour, unless the issuer is known to be away. */
const STALE_MS = 10 * 60_000;
/** So long the issuer may be away: nobody who can cut it off makes a key that it withdrew good for ever. */
const KEPT_MS = 24 * 3_600_000;
/** Between fetches that fail: while there are no keys, and while there are. */
const RETRY_MS = 1000;
const REFRESH_RETRY_MS = 30_000;
/** Between fetches for keys that are unknown: anybody can name one. */
const UNKNOWN_MS = 10_000;
/** RFC 7518 section 3.3. */
const RSA_BITS = 2048;

const AWAY = 'The keys of the authorization server cannot be had now.';

/**
 * The issuer's public keys, fetched when they are first needed and from then on while they are in use: new ones
 * count at once, withdrawn ones until the next refresh. While the issuer is away those there are count on.
 */
export class IssuerKeys {
  #keys: { readonly select: ReturnType<typeof createLocalJWKSet>; readonly text: string } | undefined;
  #fetching: Promise<void> | undefined;
  /** Milliseconds since 1970: of the keys, of the last attempt's end, and of the last for an unknown key. */
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #wantedAt = Number.NEGATIVE_INFINITY;
  #failed = false;
  readonly #closing = new AbortController();

  /** `changed` is called when keys were added or withdrawn. */
  constructor(
    readonly source: KeySource,
    readonly log: Log,
    readonly timing: RemoteTiming,
    readonly changed: () => void,
  ) {}

  /** The key that a token's header names. Throws 503 when that cannot be told now, a Refusal for no such key. */
  async find(header: CompactJWSHeaderParameters, input: FlattenedJWSInput): Promise<CryptoKey> {
    await this.#ready();
    const known = await this.#select(header, input);
    if (known) return known;
    await this.#fetchUnknown();
    const found = await this.#select(header, input);
    if (!found) throw new Refusal('bearer', 'The access token is signed with a key that the issuer has not.');
    return found;
  }

  /** Fetches the keys beside the request when they are old; for requests that need none. */
  refresh(): void {
    if (this.#keys && this.#age() > REFRESH_MS) void this.#fetch(this.#failed ? REFRESH_RETRY_MS : 0);
  }

  close(): void {
    this.#closing.abort();
  }

  #age(): number {
    return this.timing.now() - this.#fetchedAt;
  }

  async #ready(): Promise<void> {
    if (!this.#keys || this.#age() > KEPT_MS) await this.#fetch(this.#failed ? RETRY_MS : 0);
    else if (this.#age() > STALE_MS && !this.#failed) await this.#fetch(0);
    else this.refresh();
    if (!this.#keys || this.#age() > KEPT_MS) throw unavailable(AWAY);
  }

  async #fetchUnknown(): Promise<void> {
    const now = this.timing.now();
    if (this.#fetching) await this.#fetching;
    else if (now - this.#wantedAt >= UNKNOWN_MS) {
      this.#wantedAt = now;
      await this.#fetch(0);
    }
    if (this.#failed) throw unavailable(AWAY);
  }

  /** One fetch at a time, and none within `pause` milliseconds after the last. */
  #fetch(pause: number): Promise<void> {
    if (!this.#fetching && this.timing.now() - this.#triedAt < pause) return Promise.resolve();
    this.#fetching ??= this.#fetchNow().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetchNow(): Promise<void> {
    try {
      this.#take(await fetchKeys(this.source, this.#closing.signal, this.timing.timeoutMs));
      this.#failed = false;
    } catch (error) {
      this.#failed = true;
      if (!this.#closing.signal.aborted)
        this.log.warn({ err: error, issuer: this.source.issuer }, 'the issuer gives no keys');
    }
    this.#triedAt = this.timing.now();
  }

  #take(set: JSONWebKeySet): void {
    const text = JSON.stringify(set);
    const before = this.#keys;
    if (before?.text !== text) this.#keys = { select: createLocalJWKSet(set), text };
    this.#fetchedAt = this.timing.now();
    if (before && before !== this.#keys) this.changed();
  }

  /** Undefined: the issuer has none that fits, or several and the header does not say which. */
  async #select(
    header: CompactJWSHeaderParameters,
    input: FlattenedJWSInput,
  ): Promise<CryptoKey | undefined> {
    try {
      const key = await this.#keys!.select(header, input);
      const { modulusLength = RSA_BITS } = key.algorithm as { modulusLength?: number };
      if (modulusLength >= RSA_BITS) return key;
      throw new Error(`a modulus of ${modulusLength} bits`);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
        return undefined;
      this.log.warn({ err: error, issuer: this.source.issuer }, 'the issuer has a key that is unusable');
      throw new Refusal('bearer', 'The access token is signed with a key that is unusable.');
    }
  }
}

/** Throws RemoteError; JWKSInvalid for what is no set of keys is left to createLocalJWKSet. */
async function fetchKeys(source: KeySource, closing: AbortSignal, timeoutMs: number): Promise<JSONWebKeySet> {
  const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]);
  const uri = source.jwksUri ?? (await discover(source.issuer, signal));
  const { status, json } = await ask(uri, signal);
  if (status !== 200) throw new RemoteError(`${uri}: status ${status}`);
  return json as JSONWebKeySet;
}

/** The `jwks_uri` of the issuer's metadata, by RFC 8414 or else OpenID Connect Discovery. */
async function discover(issuer: string, signal: AbortSignal): Promise<string> {
  const faults: string[] = [];
  for (const url of metadataUrls(issuer)) {
    try {
      return await jwksUriAt(url, issuer, signal);
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      faults.push(error.message);
    }
  }
  throw new RemoteError(faults.join('; '));
}

/** RFC 8414 section 3.1 puts the well-known part before the issuer's path, OpenID Connect behind. */
function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
}

/** RFC 8414 section 3.3: metadata of another issuer must not be used. */
async function jwksUriAt(url: string, issuer: string, signal: AbortSignal): Promise<string> {
  const { status, json } = await ask(url, signal);
  if (status !== 200) throw new RemoteError(`${url}: status ${status}`);
  const metadata = objectIn(json);
  if (metadata?.issuer !== issuer) throw new RemoteError(`${url}: metadata of another issuer`);
  const uri = typeof metadata.jwks_uri === 'string' ? parseSecureUrl(metadata.jwks_uri) : undefined;
  if (uri === undefined) throw new RemoteError(`${url}: no jwks_uri that is safe to ask`);
  return uri;
}
