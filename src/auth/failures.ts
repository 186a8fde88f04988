import { rateLimited } from '../errors.js';
import { Recent } from './recent.js';

/** Credentials that were no good, by address and by account. */
export interface FailureLimit {
  /** Throws 429 while `who`, an address or an account, has to wait. */
  readonly admit: (who: string) => Promise<void>;
  readonly count: (address: string, account: string | undefined) => Promise<void>;
}

const WINDOW_MS = 60_000;
/** How long the longest wait is. */
const LONGEST_MS = 15 * 60_000;
/** Addresses and accounts that are remembered; the least recent are forgotten first. */
const MOST = 50_000;

interface Tally {
  count: number;
  /** When the window ends, and until when `who` has to wait; milliseconds of Date.now(). */
  windowEnds: number;
  waitsUntil: number;
  /** How long the next wait is. */
  wait: number;
}

/**
 * Lets `most` failures a minute pass; then `who` has to wait a second, and twice as long after each further one,
 * up to a quarter of an hour. Zero: no limit.
 */
export function failureLimit(most: number, now: () => number = Date.now): FailureLimit {
  const tallies = new Recent<Tally>(MOST);

  const add = (who: string): void => {
    const at = now();
    let tally = tallies.get(who);
    if (!tally || (at >= tally.windowEnds && at >= tally.waitsUntil + tally.wait)) {
      tally = { count: 0, windowEnds: at + WINDOW_MS, waitsUntil: 0, wait: 1000 };
      tallies.set(who, tally);
    }
    tally.count++;
    if (tally.count < most) return;
    tally.waitsUntil = at + tally.wait;
    tally.wait = Math.min(2 * tally.wait, LONGEST_MS);
  };

  return {
    admit: async (who) => {
      const tally = most > 0 ? tallies.get(who) : undefined;
      const left = (tally?.waitsUntil ?? 0) - now();
      if (left > 0) throw rateLimited(left / 1000);
    },
    count: async (address, account) => {
      if (most === 0) return;
      add(address);
      if (account !== undefined) add(account);
    },
  };
}
