import type { CredentialWatch } from '../auth/credentials/credential-watch.js';
import { unavailable } from '../errors.js';
import { tooManyStreams } from '../limit-errors.js';
import { clientKey } from '../limits/client-key.js';
import type { Principal } from '../principal.js';
import type { CounterValue } from '../telemetry/instruments.js';

export interface ReaderLimits {
  readonly eventsStreams: number;
  /** 0: any number. */
  readonly eventsStreamsPerPrincipal: number;
}

/** A place among the readers of the feed. */
export interface StreamSlot {
  /** Aborted when the reader's credential is no longer valid. */
  readonly invalid: AbortSignal;
  /** Gives the place back; further calls have no effect. */
  leave(): void;
}

/**
 * A place for a reader, whose credential is watched from then on. Throws 429 when its principal has enough, 503 when
 * all are occupied or the database is away. Without authentication all callers are one principal, which has no limit
 * of its own.
 */
export type Admit = (principal: Principal) => Promise<StreamSlot>;

export function admitReaders(
  { eventsStreams, eventsStreamsPerPrincipal: limit }: ReaderLimits,
  readers: CounterValue,
  credentials: CredentialWatch,
): Admit {
  const ofPrincipal = new Map<string, number>();

  function enter({ scheme, subject }: Principal): () => void {
    if (readers.value >= eventsStreams) throw unavailable('Too many readers follow the events.', 5);
    const key = scheme === 'none' || limit === 0 ? undefined : clientKey('principal', subject);
    const open = key === undefined ? 0 : (ofPrincipal.get(key) ?? 0);
    if (key !== undefined && open >= limit) throw tooManyStreams(limit);
    readers.value++;
    if (key !== undefined) ofPrincipal.set(key, open + 1);
    return () => {
      readers.value--;
      if (key === undefined) return;
      const left = ofPrincipal.get(key)! - 1;
      if (left === 0) ofPrincipal.delete(key);
      else ofPrincipal.set(key, left);
    };
  }

  return async (principal) => {
    const exit = enter(principal);
    const invalid = new AbortController();
    try {
      const unwatch = await credentials.watch(principal, () => invalid.abort());
      let held = true;
      const leave = (): void => {
        if (!held) return;
        held = false;
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
