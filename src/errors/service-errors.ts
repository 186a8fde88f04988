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

export const tooManyTickets = () => unavailable('Too many tickets are unused.', 30);

/** The responses in progress and those that clients have not read fill the memory that is set aside for them. */
export const outOfResponseMemory = () => unavailable('Too many large responses are in progress.');

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
