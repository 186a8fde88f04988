import { LruCache } from './lru-cache.js';
import type { Count, SharedCounts } from './shared-counters.js';

/** One request counted: the fields that its answer carries, and for how long it is refused. */
export interface RateLimitResult {
  readonly fields: readonly string[];
  /** Seconds until the count starts again; undefined: the request is within the limit. */
  readonly refusedFor: number | undefined;
}

/** Counts a request against a key. */
export type RateLimiter = (key: string) => Promise<RateLimitResult>;

export interface Quota {
  readonly requests: number;
  readonly seconds: number;
}

/** Clients that are remembered; the least recent are forgotten first. */
const MAX = 50_000;

interface Window {
  count: number;
  /** Milliseconds since 1970. */
  endsAt: number;
}

/**
 * Lets so many requests pass in a window that begins with a client's first; around its end there may be up to twice as
 * many in as much time. The fields are those of draft-ietf-httpapi-ratelimit-headers-11 (sections 3 and 4): a client
 * that has nothing left gets them with the Retry-After of its 429.
 *
 * With `shared` the count of all processes decides; each keeps its own besides, for when the database is away.
 */
export function rateLimiter(
  { requests, seconds }: Quota,
  shared?: SharedCounts,
  now: () => number = Date.now,
): RateLimiter {
  const windows = new LruCache<Window>(MAX);
  const policy = ['RateLimit-Policy', `"default";q=${requests};w=${seconds}`, 'RateLimit'];

  const countHere = (key: string): Count => {
    const at = now();
    let window = windows.get(key);
    if (!window || at >= window.endsAt) {
      window = { count: 0, endsAt: at + seconds * 1000 };
      windows.set(key, window);
    }
    return { count: ++window.count, endsInMs: window.endsAt - at };
  };

  return async (key) => {
    const here = countHere(key);
    const { count, endsInMs } = (await shared?.add(key)) ?? here;
    const resetsIn = Math.max(1, Math.ceil(endsInMs / 1000));
    return {
      fields: [...policy, `"default";r=${Math.max(0, requests - count)};t=${resetsIn}`],
      refusedFor: count > requests ? resetsIn : undefined,
    };
  };
}
