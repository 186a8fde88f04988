import { rateLimited } from '../errors.js';
import { clientKey } from './client-key.js';
import { LruCache } from './lru-cache.js';
import type { SharedCounts } from './shared-counters.js';

/** Credentials that were no good, by address (of IPv6 by /64) and by account. */
export interface LoginThrottle {
  /** One credential that is to be checked. Throws 429 while its address has to wait. */
  readonly begin: (address: string) => Attempt;
  /** A password of an account whose client has authenticated by other means. Throws 429 while that account has to wait. */
  readonly beginOf: (account: string) => Attempt;
}

/** What a scheme asks before it checks a credential that names its account. */
export interface Admission {
  /**
   * Throws 429 while that account has to wait after too many failures. The account as it is looked up, whatever the
   * client's spelling.
   */
  admit(account: string): void;
}

/** A credential on its way through its check. */
export interface Attempt extends Admission {
  /** Counts it as no good, against its address and the account that it claims. Throws 429 as `pass` does. */
  fail(account: string | undefined): Promise<void>;
  /**
   * Throws 429 when the limit was reached while the check ran: many guesses at once tell no more than as many one
   * after the other, since those that come after the limit are refused whether they are good or not.
   */
  pass(): void;
}

export const FAILURE_WINDOW_S = 60;
/** How long the longest wait is. */
const LONGEST_MS = 15 * 60_000;
/** Addresses and accounts that are remembered; the least recent are forgotten first. */
const MAX = 50_000;

interface Tally {
  count: number;
  /** Until when `who` has to wait, and until when the count is remembered; milliseconds since 1970. */
  waitsUntil: number;
  endsAt: number;
}

const UNLIMITED: Attempt = {
  admit: () => undefined,
  fail: () => Promise.resolve(),
  pass: () => undefined,
};

/**
 * Lets `most` failures a minute pass; then the address or account has to wait a second, and twice as long after each
 * further one, up to a quarter of an hour. It is forgotten when it has been quiet for as long as its next wait after
 * the end of the last. Zero: no limit.
 *
 * With `shared`, each failure is counted for all processes. A process hears of the others' count with a failure of
 * its own: each further process lets one more pass.
 */
export function createLoginThrottle(
  max: number,
  shared?: SharedCounts,
  now: () => number = Date.now,
): LoginThrottle {
  const tallies = new LruCache<Tally>(MAX);
  const waitAfter = (count: number) => Math.min(1000 * 2 ** (count - max), LONGEST_MS);

  const admit = (who: string): void => {
    const left = (tallies.get(who)?.waitsUntil ?? 0) - now();
    if (left > 0) throw rateLimited(left / 1000);
  };

  const count = async (who: string): Promise<void> => {
    const at = now();
    let tally = tallies.get(who);
    if (!tally || at >= tally.endsAt) {
      tally = { count: 0, waitsUntil: 0, endsAt: at + FAILURE_WINDOW_S * 1000 };
      tallies.set(who, tally);
    }
    raise(tally, tally.count + 1, at);
    const everywhere = await shared?.add(who);
    if (!everywhere) return;
    if (everywhere.count > tally.count) raise(tally, everywhere.count, at);
    if (everywhere.count >= max) await shared!.keep(who, everywhere.count, (tally.endsAt - at) / 1000);
  };

  const raise = (tally: Tally, count: number, at: number): void => {
    tally.count = count;
    if (count < max) return;
    tally.waitsUntil = at + waitAfter(count);
    tally.endsAt = Math.max(tally.endsAt, tally.waitsUntil + waitAfter(count + 1));
  };

  /** A class, since one is made for each request with a credential, and most are good and name no account. */
  class Limited implements Attempt {
    readonly #address: string | undefined;
    #accounts: Set<string> | undefined;

    constructor(address: string | undefined) {
      this.#address = address;
      // The name of an address is put together, and hashed, for each request: not for nothing.
      if (address !== undefined && !tallies.isEmpty) admit(clientKey('address', address));
    }

    admit(account: string): void {
      admit(this.#claims(account));
    }

    pass(): void {
      for (const who of this.#whose()) admit(who);
    }

    async fail(account: string | undefined): Promise<void> {
      if (account !== undefined) this.#claims(account);
      this.pass();
      await Promise.all(this.#whose().map(count));
    }

    #whose(): string[] {
      const accounts = this.#accounts ?? [];
      return this.#address === undefined ? [...accounts] : [clientKey('address', this.#address), ...accounts];
    }

    #claims(account: string): string {
      const who = clientKey('account', account);
      this.#accounts ??= new Set();
      this.#accounts.add(who);
      return who;
    }
  }

  return {
    begin: (address) => (max === 0 ? UNLIMITED : new Limited(address)),
    beginOf: (account) => {
      if (max === 0) return UNLIMITED;
      const attempt = new Limited(undefined);
      attempt.admit(account);
      return attempt;
    },
  };
}
