import { isDeepStrictEqual } from 'node:util';
import {
  type CompactJWSHeaderParameters,
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
} from 'jose';
import { unavailable } from '../../errors/service-errors.js';
import type { Log } from '../../telemetry/log.js';
import { singleFlight } from '../../work/shared-runs.js';
import { CredentialRejected } from '../principal.js';
import { discover, RemoteError, requestJson } from './issuer-client.js';

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
 * The issuer's public keys, which are fetched on first use and for unknown keys, and again in the background while they are
 * in use.
 */
export class IssuerKeys {
  #keys: { readonly set: JSONWebKeySet; readonly find: ReturnType<typeof createLocalJWKSet> } | undefined;
  /** Milliseconds since 1970. */
  #fetchedAt = Number.NEGATIVE_INFINITY;
  /** Milliseconds of performance.now(); -Infinity: the last fetch succeeded. */
  #failedAt = Number.NEGATIVE_INFINITY;
  readonly #closing = new AbortController();
  readonly #load = singleFlight(() => this.#fetchNow());

  /** Calls `onChange` when keys were added or withdrawn. */
  constructor(
    readonly source: KeySource,
    readonly log: Log,
    readonly timeoutMs: number,
    readonly onChange: () => void,
  ) {}

  /** The key that a token's header names. Throws CredentialRejected without one, 503 while the issuer is unavailable. */
  async find(header: CompactJWSHeaderParameters, input: FlattenedJWSInput): Promise<CryptoKey> {
    try {
      const age = this.#age();
      if (age > MAX_AGE_MS) await this.#fetch(RETRY_MS);
      else if (age > STALE_MS && !Number.isFinite(this.#failedAt))
        await this.#fetch(0).catch(() => undefined);
      else this.refresh();
      return requireLongKey(await this.#select(header, input));
    } catch (error) {
      throw this.#errorOf(error);
    }
  }

  /** Fetches old keys again in the background. */
  refresh(): void {
    const age = this.#age();
    if (age > REFRESH_MS && age <= MAX_AGE_MS) this.#fetch(REFRESH_RETRY_MS).catch(() => undefined);
  }

  close(): void {
    this.#closing.abort();
  }

  async #select(header: CompactJWSHeaderParameters, input: FlattenedJWSInput): Promise<CryptoKey> {
    try {
      return await this.#keys!.find(header, input);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || this.#age() < UNKNOWN_KEY_MS) throw error;
      await this.#fetch(UNKNOWN_KEY_MS);
      return this.#keys!.find(header, input);
    }
  }

  /**
   * Takes keys for stale that were fetched later than now: the clock of the machine was set forward and back meanwhile, and
   * they would never be fetched again.
   */
  #age(): number {
    const now = Date.now();
    if (this.#fetchedAt > now) this.#fetchedAt = now - STALE_MS - 1;
    return now - this.#fetchedAt;
  }

  /** Throws RemoteError, also if the last fetch failed less than `pauseMs` ago. A failure leaves the keys as they were. */
  async #fetch(pauseMs: number): Promise<void> {
    if (performance.now() - this.#failedAt < pauseMs)
      throw new RemoteError('the last fetch of the keys failed');
    await this.#load();
  }

  async #fetchNow(): Promise<void> {
    try {
      const timeout = AbortSignal.timeout(this.timeoutMs);
      const set = await fetchKeys(this.source, AbortSignal.any([this.#closing.signal, timeout]));
      const before = this.#keys;
      this.#keys = { set, find: createLocalJWKSet(set) };
      this.#fetchedAt = Date.now();
      this.#failedAt = Number.NEGATIVE_INFINITY;
      if (before && !isDeepStrictEqual(before.set, set)) this.onChange();
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

/** Throws RemoteError. */
async function fetchKeys(source: KeySource, signal: AbortSignal): Promise<JSONWebKeySet> {
  const uri = source.jwksUri ?? (await discover(source.issuer, 'jwks_uri', signal));
  const { status, json } = await requestJson(uri, signal);
  if (status !== 200) throw new RemoteError(`${uri}: status ${status}`);
  return json as JSONWebKeySet;
}
