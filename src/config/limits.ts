import { getHeapStatistics } from 'node:v8';
import type { Reader } from './env-reader.js';

/** What the service takes on at most; sizes in bytes. */
export interface LimitsConfig {
  readonly bodyLimit: number;
  /** Of all bodies that are held at once. */
  readonly bodyBytes: number;
  /** Of incomplete bodies from one client address; 0: any number. */
  readonly bodyBytesPerAddress: number;
  /** Bytes a second that a body has to arrive at, in each period of `bodyRateMs`; 0: any rate. */
  readonly bodyMinRate: number;
  readonly bodyRateMs: number;
  /** Of all responses that the process holds: batches in progress, and bodies that clients have not read. */
  readonly responseBytes: number;
  /** Of the response to one batch. */
  readonly batchBytes: number;
  readonly maxConnections: number;
  /** 0: any number. */
  readonly connectionsPerAddress: number;
  readonly maxRequests: number;
  /** 0: any number. */
  readonly maxRequestsPerConnection: number;
}

/** The part of the heap that bodies may take by default, and responses as well. */
const HEAP_PART = 12;

export function readLimits({ integer, faults }: Reader): LimitsConfig {
  const bodyLimit = integer('BODY_LIMIT', 1_048_576, 1024, 104_857_600);
  const heapShare = Math.floor(getHeapStatistics().heap_size_limit / HEAP_PART);
  const heapBodyBytes = Math.max(bodyLimit, Math.min(134_217_728, heapShare));
  const bodyBytes = integer('BODY_BYTES', heapBodyBytes, 1024, 17_179_869_184);
  // Four addresses have to work together to occupy all of it.
  const share = Math.max(bodyLimit, Math.floor(bodyBytes / 4));
  const limits = {
    bodyLimit,
    bodyBytes,
    bodyBytesPerAddress: integer('BODY_BYTES_PER_ADDRESS', share, 0, 17_179_869_184),
    bodyMinRate: integer('BODY_MIN_RATE', 1000, 0, 1_000_000_000),
    bodyRateMs: integer('BODY_RATE_MS', 5000, 100, 600_000),
    responseBytes: integer('ANSWER_BYTES', Math.min(268_435_456, heapShare), 1024, 17_179_869_184),
    batchBytes: integer('BATCH_BYTES', 4_194_304, 1024, 1_073_741_824),
    maxConnections: integer('MAX_CONNECTIONS', 16_384, 1, 1_000_000),
    connectionsPerAddress: integer('CONNECTIONS_PER_ADDRESS', 0, 0, 1_000_000),
    maxRequests: integer('MAX_REQUESTS', 1024, 1, 100_000),
    maxRequestsPerConnection: integer('MAX_REQUESTS_PER_CONNECTION', 0, 0, 1_000_000_000),
  };
  // Else a body that is within its limit would be refused whatever is going on.
  if (limits.bodyBytes < limits.bodyLimit) faults.push('BODY_BYTES takes no less than BODY_LIMIT');
  if (limits.bodyBytesPerAddress > 0 && limits.bodyBytesPerAddress < limits.bodyLimit)
    faults.push('BODY_BYTES_PER_ADDRESS takes 0, or no less than BODY_LIMIT');
  return limits;
}
