import type { Reader } from './reader.js';

/** What the service takes on at most; sizes in bytes. */
export interface LimitsConfig {
  readonly bodyLimit: number;
  /** Of all bodies that are held at once. */
  readonly bodyBytes: number;
  /** Of all answers that their readers have not taken. */
  readonly answerBytes: number;
  readonly maxConnections: number;
  /** 0: any number. */
  readonly connectionsPerAddress: number;
  readonly maxRequests: number;
  /** 0: any number. */
  readonly maxRequestsPerConnection: number;
}

export function readLimits({ integer, faults }: Reader): LimitsConfig {
  const limits = {
    bodyLimit: integer('BODY_LIMIT', 1_048_576, 1024, 104_857_600),
    bodyBytes: integer('BODY_BYTES', 134_217_728, 1024, 17_179_869_184),
    answerBytes: integer('ANSWER_BYTES', 268_435_456, 1024, 17_179_869_184),
    maxConnections: integer('MAX_CONNECTIONS', 16_384, 1, 1_000_000),
    connectionsPerAddress: integer('CONNECTIONS_PER_ADDRESS', 0, 0, 1_000_000),
    maxRequests: integer('MAX_REQUESTS', 1024, 1, 100_000),
    maxRequestsPerConnection: integer('MAX_REQUESTS_PER_CONNECTION', 0, 0, 1_000_000_000),
  };
  // Else a body that is within its limit would be refused whatever is going on.
  if (limits.bodyBytes < limits.bodyLimit) faults.push('BODY_BYTES takes no less than BODY_LIMIT');
  return limits;
}
