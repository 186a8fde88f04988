import { getHeapStatistics } from 'node:v8';
import type { Reader } from './env-reader.js';

/** Introspections in flight, each with a connection. */
export const MAX_INTROSPECTIONS = 64;

/** The part of the heap that responses may occupy, and by default bodies as well. */
const HEAP_PART = 12;

/** So many requests in so many seconds. */
export interface RateLimit {
  readonly requests: number;
  readonly seconds: number;
}

/** Reads the limits of rates, connections, requests and memory. Sizes in bytes. */
export function readLimits({ integer, oneOf, optional, faults }: Reader) {
  const heapShare = Math.floor(getHeapStatistics().heap_size_limit / HEAP_PART);
  const bodyLimit = integer('BODY_LIMIT', 1_048_576, 1024, 104_857_600);
  const heapBodyBytes = Math.max(bodyLimit, Math.min(134_217_728, heapShare));
  const bodyBytes = integer('BODY_BYTES', heapBodyBytes, 1024, 17_179_869_184);
  // Otherwise a body within its limit could never be accepted.
  if (bodyBytes < bodyLimit) faults.push('BODY_BYTES must be at least BODY_LIMIT');
  return {
    bodyLimit,
    /** All bodies in memory. */
    bodyBytes,
    /** Incomplete bodies from one client address, of which four together can occupy all; 0: any number. */
    bodyBytesPerAddress: Math.max(bodyLimit, Math.floor(bodyBytes / 4)),
    /** Min bytes a second of a body, in each period of `bodyRateMs`; 0: any rate. */
    bodyMinRate: integer('BODY_MIN_RATE', 1000, 0, 1_000_000_000),
    bodyRateMs: 5000,
    /** All responses in memory: batches in progress, and bodies that clients have not read. */
    responseBytes: Math.min(268_435_456, heapShare),
    /** The response to one batch. */
    batchBytes: 4_194_304,
    maxConnections: integer('MAX_CONNECTIONS', 16_384, 1, 1_000_000),
    maxRequests: integer('MAX_REQUESTS', 1024, 1, 100_000),
    /** Failed authentications a minute, by address and by account; 0: any number. */
    authFailures: integer('AUTH_FAILURES', 10, 0, 1_000_000),
    rateLimit: optional<RateLimit>('RATE_LIMIT', 'requests/seconds: 100/60', parseRateLimit),
    rateLimitStore: oneOf('RATE_LIMIT_STORE', ['memory', 'postgres']),
  };
}

function parseRateLimit(text: string): RateLimit | undefined {
  const [, requests, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,4})$/.exec(text) ?? [];
  return requests === undefined ? undefined : { requests: Number(requests), seconds: Number(seconds) };
}
