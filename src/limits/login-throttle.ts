import QuickLRU from 'quick-lru';
import { rateLimited } from '../errors/caller-errors.js';
import { clientKey } from './rate-limit.js';
import type { SharedCounts } from './shared-counters.js';

/** The accounts that an attempt concerns. */
export type Admission = Pick<Attempt, 'admit'>;

export const FAILURE_WINDOW_S = 60;
const MAX_WAIT_MS = 15 * 60_000;
/** Addresses and accounts with a count; the least recently used are evicted. */
const MAX_TALLIES = 50_000;

interface Tally {
  count: number;
  /** When the wait ends, and when the count is forgotten, by `now` of the throttle. */
  waitsUntil: number;
  endsAt: number;
}

/**
 * Limits failed authentications by address (of IPv6 by /64) and by account: allows `max` failures a minute. Then the address or
 * account must wait for a second, and for twice as long after each further failure, up to 15 minutes. The count is forgotten when,
 * after the end of a wait, there is no failure for as long as the next wait would be. Zero: no limit.
 *
 * With `shared`, failures are counted for all processes. A process learns the shared count with a failure of its own,
 * so each further process allows one more.
 */
export class LoginThrottle {
  readonly #tallies = new QuickLRU<string, Tally>({ maxSize: MAX_TALLIES / 2 });
  readonly max: number;
  readonly shared: SharedCounts | undefined;

  constructor(
    max: number,
    shared?: SharedCounts,
    readonly now: () => number = () => performance.now(),
  ) {
    this.max = max === 0 ? Number.POSITIVE_INFINITY : max;
    this.shared = max === 0 ? undefined : shared;
  }

  /** Begins the check of a request's credential. Throws 429 while its address must wait. */
  begin(address: string): Attempt {
    const key = clientKey('address', address);
    this.admit(key);
    return new Attempt(this, key);
  }

  /** Begins the check of an account's password for a client that is authenticated already. Throws 429 as `begin`. */
  beginOf(account: string): Attempt {
    const attempt = new Attempt(this);
    attempt.admit(account);
    return attempt;
  }

  admit(key: string): void {
    const leftMs = (this.#tallies.get(key)?.waitsUntil ?? 0) - this.now();
    if (leftMs > 0) throw rateLimited(leftMs / 1000);
  }

  async count(key: string): Promise<void> {
    const at = this.now();
    let tally = this.#tallies.get(key);
    if (!tally || at >= tally.endsAt) {
      tally = { count: 0, waitsUntil: at, endsAt: at + FAILURE_WINDOW_S * 1000 };
      this.#tallies.set(key, tally);
    }
    this.#raise(tally, tally.count + 1, at);
    const total = await this.shared?.add(key);
    if (!total) return;
    if (total.count > tally.count) this.#raise(tally, total.count, at);
    if (total.count >= this.max) await this.shared!.set(key, total.count, tally.endsAt - at);
  }

  #raise(tally: Tally, count: number, at: number): void {
    tally.count = count;
    if (count < this.max) return;
    tally.waitsUntil = at + this.#waitAfter(count);
    tally.endsAt = Math.max(tally.endsAt, tally.waitsUntil + this.#waitAfter(count + 1));
  }

  #waitAfter(count: number): number {
    return Math.min(1000 * 2 ** (count - this.max), MAX_WAIT_MS);
  }
}

/** One check of a credential. */
class Attempt {
  /** The address and the accounts that the attempt concerns. */
  readonly #keys: Set<string>;

  constructor(
    readonly throttle: LoginThrottle,
    ...keys: string[]
  ) {
    this.#keys = new Set(keys);
  }

  /** Throws 429 while an account must wait. The name must be in the form that accounts are looked up by. */
  admit(account: string): void {
    const key = clientKey('account', account);
    this.#keys.add(key);
    this.throttle.admit(key);
  }

  /**
   * Throws 429 when others reached the limit while this check ran, whether or not this credential is valid: concurrent
   * guesses reveal no more than sequential ones.
   */
  pass(): void {
    for (const key of this.#keys) this.throttle.admit(key);
  }

  /** Counts a failure against the address and the account that the credential claims. Throws 429 as `pass`. */
  async fail(account: string | undefined): Promise<void> {
    if (account !== undefined) this.#keys.add(clientKey('account', account));
    this.pass();
    await Promise.all([...this.#keys].map((key) => this.throttle.count(key)));
  }
}
