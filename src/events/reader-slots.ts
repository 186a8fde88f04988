import type { CredentialWatch } from '../auth/credentials/credential-watch.js';
import type { Principal } from '../auth/principal.js';
import { tooManyStreams } from '../errors/caller-errors.js';
import { beyond } from '../errors/service-errors.js';
import { CountsByKey } from '../limits/counts-by-key.js';
import { clientKey } from '../limits/rate-limit.js';
import type { CounterValue } from '../telemetry/instruments.js';

export interface ReaderLimits {
  readonly eventsStreams: number;
  readonly eventsStreamsPerPrincipal: number;
}

/** One of the limited number of readers of the feed. */
export interface ReaderSlot {
  /** Aborted when the reader's credential is no longer valid. */
  readonly invalid: AbortSignal;
  /** Releases the slot; further calls have no effect. */
  leave(): void;
}

/**
 * Reserves a slot for a reader, whose credential is watched from then on. Throws 429 if its principal has reached its
 * limit, 503 if all slots are in use or the database is not available. Without authentication there is no limit per
 * principal.
 */
export type Admit = (principal: Principal) => Promise<ReaderSlot>;

export function admitReaders(
  { eventsStreams, eventsStreamsPerPrincipal: limit }: ReaderLimits,
  readers: CounterValue,
  credentials: CredentialWatch,
): Admit {
  const ofPrincipal = new CountsByKey();

  function enter({ scheme, subject }: Principal): () => void {
    if (readers.value >= eventsStreams) throw beyond('readers');
    const key = scheme === 'none' ? undefined : clientKey('principal', subject);
    if (key !== undefined && ofPrincipal.of(key) >= limit) throw tooManyStreams(limit);
    readers.value++;
    if (key !== undefined) ofPrincipal.add(key, 1);
    return () => {
      readers.value--;
      if (key !== undefined) ofPrincipal.add(key, -1);
    };
  }

  return async (principal) => {
    const exit = enter(principal);
    const invalid = new AbortController();
    try {
      const unwatch = await credentials.watch(principal, () => invalid.abort());
      let isHeld = true;
      const leave = (): void => {
        if (!isHeld) return;
        isHeld = false;
        unwatch();
        exit();
      };
      return { invalid: invalid.signal, leave };
    } catch (error) {
      exit();
      throw error;
    }
  };
}
