import { define, Problem } from './problem.js';

/** RFC 9110 section 15.6.4. */
export const unavailable = define('SERVICE_UNAVAILABLE', 503, {
  message: 'The service cannot process the request now.',
  cause: 'The database is unavailable, too much work is in flight, or the service is stopping.',
  remedy: 'Repeat the request after the seconds in Retry-After.',
  example: ['The service is in maintenance.', 60],
  make: (message: string, retryAfterSeconds = 1) => ({
    message,
    headers: ['Retry-After', String(retryAfterSeconds)],
  }),
});

/** The bounds of what this process has in flight: the message of the 503 beyond each, and Retry-After if it is not 1. */
const BOUNDS = {
  requests: ['The service is overloaded.'],
  connections: ['There are too many connections.'],
  pipelined: ['Too many requests wait on this connection.'],
  bodies: ['Too many bodies are being read.'],
  parsing: ['Too many large bodies wait to be processed.'],
  responses: ['Too many large responses are in progress.'],
  statements: ['The database queue is full.'],
  batches: ['Too much is waiting for the database.'],
  searches: ['Too many searches wait for the database.'],
  lists: ['Too many whole lists wait for the database.'],
  record: ['Too many clients are changing the record at once.'],
  passwords: ['Too many passwords are being checked.'],
  introspections: ['Too many access tokens are being introspected.'],
  readers: ['Too many readers follow the events.', 5],
  conditions: ['Readers follow the events with too many different conditions.', 5],
  tickets: ['Too many tickets are unused.', 30],
} as const satisfies Readonly<Record<string, readonly [message: string, retryAfterSeconds?: number]>>;

export type Bound = keyof typeof BOUNDS;

/** The 503 beyond a bound. */
export const beyond = (bound: Bound): Problem =>
  unavailable(...(BOUNDS[bound] as readonly [string, number?]));

/** RFC 4918 section 11.5: the database's disk is full; nothing was written. */
export const insufficientStorage = define('INSUFFICIENT_STORAGE', 507, {
  message: 'The database is full.',
  cause: 'The disk of the database has no room. Nothing was written.',
  remedy: 'Repeat the request when the operator has made room.',
  example: [],
  make: () => ({ headers: ['Retry-After', '10'] }),
});

export const internal = define('INTERNAL_ERROR', 500, {
  message: 'The server failed to process this request.',
  cause: 'A fault of the service, which its log describes below the request id.',
  remedy: 'Report the request id to the operator.',
});

/** The problem of one operation of a batch, with its index. Nothing of the batch took place. */
export const batchFailed = (operation: number, { status, code, message, more }: Problem) => {
  const { details, headers = [], scope } = more;
  return new Problem(status, code, `Operation ${operation}: ${message}`, {
    details: { operation, ...(details === undefined ? {} : { details }) },
    headers,
    ...(scope !== undefined && { scope }),
  });
};
