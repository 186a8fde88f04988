import { Problem } from './problem.js';

/** RFC 9110 section 15.6.4. */
export const unavailable = (message: string, retryAfterSeconds = 1) =>
  new Problem(503, 'SERVICE_UNAVAILABLE', message, { headers: ['Retry-After', String(retryAfterSeconds)] });

export const tooManyTickets = () =>
  new Problem(503, 'SERVICE_UNAVAILABLE', 'Too many tickets are unused.', { headers: ['Retry-After', '30'] });

/** The responses in progress and those that clients have not read fill the memory that is set aside for them. */
export const outOfResponseMemory = () => unavailable('Too many large responses are in progress.');

/** RFC 4918 section 11.5: the database's disk is full; nothing was written. */
export const insufficientStorage = () =>
  new Problem(507, 'INSUFFICIENT_STORAGE', 'The database is full.', { headers: ['Retry-After', '10'] });

export const internal = () =>
  new Problem(500, 'INTERNAL_ERROR', 'The server failed to process this request.');

/** The problem of one operation of a batch, with its index. Nothing of the batch took place. */
export const batchFailed = (operation: number, problem: Problem) =>
  new Problem(problem.status, problem.code, `Operation ${operation}: ${problem.message}`, {
    details: { operation, ...(problem.more.details === undefined ? {} : { details: problem.more.details }) },
    headers: problem.more.headers ?? [],
    ...(problem.more.scope !== undefined && { scope: problem.more.scope }),
  });
