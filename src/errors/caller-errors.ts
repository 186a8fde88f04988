import { Problem } from './problem.js';

/** RFC 9110 section 15.5.2: one challenge per enabled scheme. */
export const unauthorized = (message: string, challenges: readonly string[]) =>
  new Problem(401, 'UNAUTHORIZED', message, {
    headers: challenges.flatMap((challenge) => ['WWW-Authenticate', challenge]),
  });

/** RFC 6750 section 3.1: names the scopes that are required, and nothing about the record. */
export const forbidden = (scopes: readonly string[]) =>
  new Problem(403, 'INSUFFICIENT_SCOPE', 'The credential does not permit this.', {
    details: { scope: scopes.join(' ') },
    scope: scopes.join(' '),
  });

/** A ticket for an event stream that is unknown, expired or used. */
export const invalidTicket = () =>
  new Problem(
    403,
    'INVALID_TICKET',
    'The ticket has expired or was used. Create another one: POST /events/tickets.',
  );

/** A caller that creates tickets without using them. */
export const tooManyOwnTickets = () =>
  new Problem(429, 'RATE_LIMITED', 'Too many of your tickets are unused.', {
    headers: ['Retry-After', '30'],
  });

const CURRENT_PASSWORD = { details: { path: '/current_password' } };

export const currentPasswordRequired = () =>
  new Problem(
    403,
    'CURRENT_PASSWORD_REQUIRED',
    'A change of your own password or email requires current_password.',
    CURRENT_PASSWORD,
  );

export const currentPasswordWrong = () =>
  new Problem(403, 'CURRENT_PASSWORD_WRONG', 'The current password is wrong.', CURRENT_PASSWORD);

/** A user without a password changes how it signs in, with a credential that an application may hold. */
export const passwordNotSet = () =>
  new Problem(
    403,
    'PASSWORD_NOT_SET',
    'The user has no password that could confirm this change. An operator can set the first one.',
  );

/** A JSON Patch that moves or copies a value into the password, within a transaction. */
export const passwordNotGiven = () =>
  new Problem(
    422,
    'UNPROCESSABLE_PATCH',
    'In a batch or with an Idempotency-Key, a password must be a value of the patch.',
  );

/** RFC 6585 section 4. `fields` describe the limit, as a flat list of names and values. */
export const rateLimited = (retryAfterSeconds: number, fields: readonly string[] = []) =>
  new Problem(429, 'RATE_LIMITED', 'Too many requests.', {
    headers: ['Retry-After', String(Math.max(1, Math.ceil(retryAfterSeconds))), ...fields],
  });

/** The limit for incomplete bodies of one client address. */
export const tooManyOfAddress = () =>
  new Problem(429, 'RATE_LIMITED', 'Too many bodies from this address are incomplete.', {
    headers: ['Retry-After', '1'],
  });

/** One principal has as many event streams open as it may. */
export const tooManyStreams = (limit: number) =>
  new Problem(429, 'TOO_MANY_STREAMS', `A principal may have at most ${limit} event streams open.`, {
    details: { limit },
    headers: ['Retry-After', '5'],
  });
