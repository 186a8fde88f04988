import { hash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import QuickLRU from 'quick-lru';
import type { RateLimit } from '../config/limit-settings.js';
import { parseIp } from '../formats/ip-address.js';
import type { Count, SharedCounts } from './shared-counters.js';

export interface RateLimitResult {
  /** The header fields of the response. */
  readonly fields: readonly string[];
  /** Seconds until the count starts again; undefined: the request is within the limit. */
  readonly refusedFor: number | undefined;
}

/** Counts a request against a key. */
export type RateLimiter = (key: string) => Promise<RateLimitResult>;

/** Clients with a count; the least recently used are evicted. */
const MAX_CLIENTS = 50_000;

interface Window {
  count: number;
  /** By `now` of the limiter. */
  endsAt: number;
}

/**
 * A fixed-window limit: a window begins with a client's first request, so that up to twice as many may pass around its
 * end. The fields follow draft-ietf-httpapi-ratelimit-headers-11 (sections 3 and 4); a 429 has them and Retry-After.
 *
 * With `shared` the count of all processes applies; the local one is for when the database is unavailable.
 */
export function rateLimiter(
  { requests, seconds }: RateLimit,
  shared?: SharedCounts,
  now: () => number = () => performance.now(),
): RateLimiter {
  const windows = new QuickLRU<string, Window>({ maxSize: MAX_CLIENTS / 2 });
  const policy = ['RateLimit-Policy', `"default";q=${requests};w=${seconds}`, 'RateLimit'];

  const countLocally = (key: string): Count => {
    const at = now();
    let window = windows.get(key);
    if (!window || at >= window.endsAt) {
      window = { count: 0, endsAt: at + seconds * 1000 };
      windows.set(key, window);
    }
    return { count: ++window.count, endsInMs: window.endsAt - at };
  };

  return async (key) => {
    const local = countLocally(key);
    const { count, endsInMs } = (await shared?.add(key)) ?? local;
    // A statement that began before the one that opened the window sees it end a little later.
    const resetsIn = Math.min(seconds, Math.max(1, Math.ceil(endsInMs / 1000)));
    return {
      fields: [...policy, `"default";r=${Math.max(0, requests - count)};t=${resetsIn}`],
      refusedFor: count > requests ? resetsIn : undefined,
    };
  };
}

/** The owner of a count: `address` and `site` are named by an address, of which IPv6 counts by /64 and by /56. */
export type CountKind = 'address' | 'site' | 'account' | 'principal';

/** Longer names are replaced with their SHA-256, so that the memory per client is bounded. */
const MAX_CHARACTERS = 64;

/** The key of a count. A name that a client chooses never equals the key of an address or of another name's hash. */
export function clientKey(kind: CountKind, name: string): string {
  const counted = kind === 'address' || kind === 'site' ? networkOf(name, kind) : name;
  return counted.length <= MAX_CHARACTERS
    ? `${kind} ${counted}`
    : `${kind}# ${hash('sha256', counted, 'base64url')}`;
}

/**
 * An IPv4 address itself, and a network of an IPv6 address. One client has all 2^64 addresses of a /64, and a customer of a
 * provider has the 256 networks of a /56 (RFC 6177).
 */
function networkOf(address: string, kind: 'address' | 'site'): string {
  if (!address.includes(':')) return address;
  const ip = parseIp(address);
  if (!(ip instanceof ipaddr.IPv6)) return ip?.toString() ?? address;
  const [first, second, third, fourth] = ip.parts;
  const isSite = kind === 'site';
  const network = [first!, second!, third!, isSite ? fourth! & 0xff00 : fourth!];
  return `${network.map((group) => group.toString(16)).join(':')}::/${isSite ? 56 : 64}`;
}
