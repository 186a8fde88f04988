import { isDeepStrictEqual } from 'node:util';
import {
  type CompactJWSHeaderParameters,
  type CryptoKey,
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWKSCacheInput,
  jwksCache,
} from 'jose';
import { parseSecureUrl } from '../../config/parsers.js';
import { unavailable } from '../../errors/service-errors.js';
import type { Log } from '../../telemetry/log.js';
import { CredentialRejected } from '../principal.js';
import { objectIn, RemoteError, requestJson } from './issuer-client.js';

/** The keys are at `jwksUri`, or where the issuer's metadata says. */
interface KeySource {
  readonly issuer: string;
  readonly jwksUri: string | undefined;
}

/** Keys of this age are fetched again in the background. */
const REFRESH_MS = 5 * 60_000;
/** For keys of this age, as after an idle hour, requests wait for the fetch, unless the last one failed. */
const STALE_MS = 10 * 60_000;
/** How long keys are used while the issuer is unavailable. Bounded, since a withdrawn key stays valid meanwhile. */
const MAX_AGE_MS = 24 * 3_600_000;
/** After a fetch for an unknown key, since any client can name one. */
const UNKNOWN_KEY_MS = 10_000;
/** After a failed fetch: without keys, and for the refresh in the background. */
const RETRY_MS = 1000;
const REFRESH_RETRY_MS = 30_000;
/** RFC 7518 section 3.3. */
const MIN_RSA_BITS = 2048;

/**
 * The issuer's public keys: jose's remote key set, which is fetched on first use and for unknown keys. Added here: a
 * refresh while the keys are in use, a pause after failed fetches, and a notification of changed keys.
 */
export class IssuerKeys {
  #remote: ReturnType<typeof createRemoteJWKSet>;
  /** jose stores the fetched set and its time here. */
  readonly #cache: JWKSCacheInput = {};
  #published: JSONWebKeySet | undefined;
  #failedAt = Number.NEGATIVE_INFINITY;
  readonly #closing = new AbortController();

  /** Calls `onChange` when keys were added or withdrawn. */
  constructor(
    readonly source: KeySource,
    readonly log: Log,
    readonly timeoutMs: number,
    readonly onChange: () => void,
  ) {
    this.#remote = this.#open();
  }

  /** The key that a token's header names. Throws CredentialRejected without one, 503 while the issuer is unavailable. */
  async find(header: CompactJWSHeaderParameters, input: FlattenedJWSInput): Promise<CryptoKey> {
    this.#followClock();
    if (this.#remote.fresh && this.#age() > STALE_MS && !this.#hasFailed()) await this.#reload();
    else this.refresh();
    try {
      return requireLongKey(await this.#remote(header, input));
    } catch (error) {
      throw this.#errorOf(error);
    } finally {
      this.#compare();
    }
  }

  /** Fetches old keys again in the background. */
  refresh(): void {
    this.#followClock();
    const isDue = this.#remote.fresh && this.#age() > REFRESH_MS;
    if (isDue && performance.now() - this.#failedAt >= REFRESH_RETRY_MS) void this.#reload();
  }

  close(): void {
    this.#closing.abort();
  }

  /** Opens jose's key set, with the keys that `#cache` has. */
  #open() {
    const { jwksUri, issuer } = this.source;
    // The URL of the keys is not known before #fetch has read the metadata.
    return createRemoteJWKSet(new URL(jwksUri ?? issuer), {
      timeoutDuration: this.timeoutMs,
      cacheMaxAge: MAX_AGE_MS,
      cooldownDuration: UNKNOWN_KEY_MS,
      [jwksCache]: this.#cache,
      [customFetch]: (_url, { signal }) => this.#fetch(signal),
    });
  }

  /**
   * Takes keys for stale that were fetched later than now: the clock of the machine was set forward and back meanwhile, and
   * they would never be fetched again.
   */
  #followClock(): void {
    if ((this.#cache.uat ?? 0) <= Date.now()) return;
    this.#cache.uat = Date.now() - STALE_MS - 1;
    this.#remote = this.#open();
  }

  #age(): number {
    return Date.now() - (this.#cache.uat ?? Number.NEGATIVE_INFINITY);
  }

  #hasFailed(): boolean {
    return this.#failedAt !== Number.NEGATIVE_INFINITY;
  }

  /** A failed fetch, which #fetch has logged, leaves the keys as they were. */
  #reload(): Promise<void> {
    return this.#remote.reload().then(
      () => this.#compare(),
      () => undefined,
    );
  }

  #compare(): void {
    const before = this.#published;
    const { jwks } = this.#cache;
    if (before === jwks) return;
    this.#published = jwks;
    if (before && !isDeepStrictEqual(before, jwks)) this.onChange();
  }

  /** Throws RemoteError. jose's cooldown follows successful fetches only, so this one follows those that failed. */
  async #fetch(timeout: AbortSignal): Promise<Response> {
    const pauseMs = this.#remote.fresh ? UNKNOWN_KEY_MS : RETRY_MS;
    if (performance.now() - this.#failedAt < pauseMs)
      throw new RemoteError('the last fetch of the keys failed');
    try {
      const keys = await fetchKeys(this.source, AbortSignal.any([this.#closing.signal, timeout]));
      this.#failedAt = Number.NEGATIVE_INFINITY;
      return Response.json(keys);
    } catch (error) {
      this.#failedAt = performance.now();
      if (!this.#closing.signal.aborted)
        this.log.warn({ err: error, issuer: this.source.issuer }, "the issuer's keys cannot be fetched");
      throw new RemoteError('the keys cannot be fetched', { cause: error });
    }
  }

  #errorOf(error: unknown): unknown {
    if (error instanceof RemoteError)
      return unavailable('The keys of the authorization server are unavailable.');
    if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
      return new CredentialRejected('bearer', 'The access token is signed with an unknown key.');
    this.log.warn({ err: error, issuer: this.source.issuer }, 'the issuer has an unusable key');
    return new CredentialRejected('bearer', 'The access token is signed with an unusable key.');
  }
}

function requireLongKey(key: CryptoKey): CryptoKey {
  const { modulusLength = MIN_RSA_BITS } = key.algorithm as { modulusLength?: number };
  if (modulusLength < MIN_RSA_BITS) throw new Error(`a modulus of ${modulusLength} bits`);
  return key;
}

/** Throws RemoteError, and JWKSInvalid for anything but a set of keys. */
async function fetchKeys(source: KeySource, signal: AbortSignal): Promise<JSONWebKeySet> {
  const uri = source.jwksUri ?? (await discover(source.issuer, signal));
  const { status, json } = await requestJson(uri, signal);
  if (status !== 200) throw new RemoteError(`${uri}: status ${status}`);
  const keys = json as JSONWebKeySet;
  createLocalJWKSet(keys);
  return keys;
}

/** The `jwks_uri` of the issuer's metadata, by RFC 8414 or else OpenID Connect Discovery. */
async function discover(issuer: string, signal: AbortSignal): Promise<string> {
  const failures: string[] = [];
  for (const url of metadataUrls(issuer)) {
    try {
      return await jwksUriAt(url, issuer, signal);
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      failures.push(error.message);
    }
  }
  throw new RemoteError(failures.join('; '));
}

/** RFC 8414 section 3.1 inserts the well-known part before the issuer's path, OpenID Connect appends it. */
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
  const { status, json } = await requestJson(url, signal);
  if (status !== 200) throw new RemoteError(`${url}: status ${status}`);
  const metadata = objectIn(json);
  if (metadata?.issuer !== issuer) throw new RemoteError(`${url}: metadata of another issuer`);
  const uri = typeof metadata.jwks_uri === 'string' ? parseSecureUrl(metadata.jwks_uri) : undefined;
  if (uri === undefined) throw new RemoteError(`${url}: no jwks_uri over a secure connection`);
  return uri;
}
