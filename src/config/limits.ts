import { getHeapStatistics } from 'node:v8';
import type { Reader } from './reader.js';

/** What the service takes on at most; sizes in bytes. */
export interface LimitsConfig {
  readonly bodyLimit: number;
  /** Of all bodies that are held at once. */
  readonly bodyBytes: number;
  /** Of all responses that the process holds: batches in progress, and bodies that clients have not read. */
  readonly answerBytes: number;
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
const HEAP_PART = 8;

export function readLimits({ integer, faults }: Reader): LimitsConfig {
  const bodyLimit = integer('BODY_LIMIT', 1_048_576, 1024, 104_857_600);
  const share = Math.floor(getHeapStatistics().heap_size_limit / HEAP_PART);
  const bodyBytes = Math.max(bodyLimit, Math.min(134_217_728, share));
  const answerBytes = Math.min(268_435_456, share);
  const limits = {
    bodyLimit,
    bodyBytes: integer('BODY_BYTES', bodyBytes, 1024, 17_179_869_184),
    answerBytes: integer('ANSWER_BYTES', answerBytes, 1024, 17_179_869_184),
    batchBytes: integer('BATCH_BYTES', 4_194_304, 1024, 1_073_741_824),
    maxConnections: integer('MAX_CONNECTIONS', 16_384, 1, 1_000_000),
    connectionsPerAddress: integer('CONNECTIONS_PER_ADDRESS', 0, 0, 1_000_000),
    maxRequests: integer('MAX_REQUESTS', 1024, 1, 100_000),
    maxRequestsPerConnection: integer('MAX_REQUESTS_PER_CONNECTION', 0, 0, 1_000_000_000),
  };
  // Else a body that is within its limit would be refused whatever is going on.
  if (limits.bodyBytes < limits.bodyLimit) faults.push('BODY_BYTES takes no less than BODY_LIMIT');
  return limits;
}
