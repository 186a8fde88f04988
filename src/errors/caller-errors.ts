import { escapeToken } from '../json.js';
import { unprocessablePatch } from './input-errors.js';
import { define } from './problem.js';
import { accessDenied } from './record-errors.js';

/** RFC 9110 section 15.5.2: one challenge per enabled scheme. */
export const unauthorized = define('UNAUTHORIZED', 401, {
  message: 'The request requires a valid credential.',
  cause: 'The credential is missing, malformed, expired or revoked.',
  remedy: 'Send a credential of a scheme in WWW-Authenticate.',
  example: ['The request needs a credential.', ['Bearer']],
  make: (message: string, challenges: readonly string[]) => ({
    message,
    headers: challenges.flatMap((challenge) => ['WWW-Authenticate', challenge]),
  }),
});

/** RFC 6750 section 3.1: names the scopes that are required, and nothing about the record. */
export const forbidden = define('INSUFFICIENT_SCOPE', 403, {
  message: 'The credential does not permit this.',
  cause: 'The principal lacks every scope in details.scope, or `self` does not apply to the record.',
  remedy: 'Use a credential with one of the scopes. GET /whoami shows those of the present one.',
  example: [['items:write']],
  make: (scopes: readonly string[]) => ({ details: { scope: scopes.join(' ') }, scope: scopes.join(' ') }),
});

/** A user that signed in with a password alone, where the operator requires more. */
export const secondFactorRequired = define('SECOND_FACTOR_REQUIRED', 403, {
  message: 'This needs a sign-in with a second factor.',
  cause:
    'The user has signed in with a password alone, but REQUIRE_SECOND_FACTOR names the scope, or the user changes how it signs in and has a second factor.',
  remedy: 'Sign in with a passkey, or with the password and a code, in a browser or through an application.',
  example: [['admin']],
  make: (scopes: readonly string[]) => ({ details: { scope: scopes.join(' ') }, scope: scopes.join(' ') }),
});

/** No access rule permits a caller a write of a record that it may read. */
export const writeDenied = (verb: 'change' | 'delete') =>
  accessDenied(`No access rule permits you to ${verb} this record.`);

export const fieldsDenied = define('FIELDS_DENIED', 403, {
  message: 'The access rules do not permit you to set these fields.',
  cause:
    'The grants that permit the write do not name all fields that it sets or changes, or no grant shows a field by which the request filters, sorts, groups or searches.',
  remedy: 'Leave out the fields in details, or in a write send them as they are.',
  example: [['role']],
  make: (fields: readonly string[]) => ({
    message: `The access rules do not permit you to set ${fields.join(', ')}.`,
    details: fields.map((field) => ({ path: `/${escapeToken(field)}` })),
  }),
});

/** A filter, an order, groups or a search by fields that no grant shows to the caller. */
export const fieldsUnreadable = (fields: readonly string[]) =>
  fieldsDenied.variant({
    message: `The access rules do not permit you to read ${fields.join(', ')} of any record.`,
    details: fields.map((field) => ({ path: `/${escapeToken(field)}` })),
  });

/** A caller without `admin` that takes over or deletes the account of a user with scopes that it lacks. */
export const userHasMoreScopes = () =>
  forbidden.variant({
    message:
      'The user was granted scopes that this credential lacks. Therefore it may change neither the email nor the password of the user, and not delete the user.',
    details: { scope: 'admin' },
    scope: 'admin',
  });

/** A ticket for an event stream that is unknown, expired or used. */
export const invalidTicket = define('INVALID_TICKET', 403, {
  message: 'The ticket has expired or was used.',
  cause: 'A ticket opens one event stream within 30 seconds.',
  remedy: 'Create another one: POST /events/tickets.',
  example: [],
  make: () => ({
    message: 'The ticket has expired or was used. Create another one: POST /events/tickets.',
  }),
});

const CURRENT_PASSWORD = { details: { path: '/current_password' } };

export const currentPasswordRequired = define('CURRENT_PASSWORD_REQUIRED', 403, {
  message: 'A change of how you sign in requires current_password.',
  cause:
    'A user changes its own password, email or second factor with a token, a key or an old session, which others may hold.',
  remedy: 'Send current_password in the body.',
  example: [],
  make: () => CURRENT_PASSWORD,
});

export const currentPasswordWrong = define('CURRENT_PASSWORD_WRONG', 403, {
  message: 'The current password is wrong.',
  cause: 'current_password is not the present password of the user.',
  remedy: 'Send the present password. After several failures the account must wait (429).',
  example: [],
  make: () => CURRENT_PASSWORD,
});

/** A user without a password changes how it signs in, with a credential that an application may hold. */
export const passwordNotSet = define('PASSWORD_NOT_SET', 403, {
  message: 'The user has no password that could confirm this change. An operator can set the first one.',
  cause: 'A user without a password changes its email or sets a password with a token or a key.',
  remedy: 'Use a credential with users:write, or the command `plinth users set-password`.',
});

/** An address of a user that signs in at a service with messages. */
export const addressUnconfirmed = define('ADDRESS_UNCONFIRMED', 403, {
  message: 'Another address is confirmed by messages.',
  cause: 'A user changes the own email by a write, at a service that sends messages.',
  remedy: 'Request the messages on the account page: the present and the new address confirm the change.',
  example: ['/account'],
  make: (page: string) => ({
    message: `Another address is confirmed by messages: request them at ${page}.`,
    details: { path: '/email' },
  }),
});

/** A JSON Patch that moves or copies a value into the password, within a transaction. */
export const passwordNotGiven = () =>
  unprocessablePatch.variant({
    message: 'In a batch or with an Idempotency-Key, a password must be a value of the patch.',
  });

/** RFC 6585 section 4. `fields` describe the limit, as a flat list of names and values. */
export const rateLimited = define('RATE_LIMITED', 429, {
  message: 'Too many requests.',
  cause: 'The client has exceeded a limit of requests, of failed credentials or of incomplete bodies.',
  remedy: 'Wait for the seconds in Retry-After.',
  example: [30],
  make: (retryAfterSeconds: number, fields: readonly string[] = []) => ({
    headers: ['Retry-After', String(Math.max(1, Math.ceil(retryAfterSeconds))), ...fields],
  }),
});

/** A caller that creates tickets without using them. */
export const tooManyOwnTickets = () =>
  rateLimited.variant({
    message: 'Too many of your tickets are unused.',
    headers: ['Retry-After', '30'],
  });

/** The limit for incomplete bodies of one client address. */
export const tooManyOfAddress = () =>
  rateLimited.variant({
    message: 'Too many bodies from this address are incomplete.',
    headers: ['Retry-After', '1'],
  });

/** One principal has as many event streams open as it may. */
export const tooManyStreams = define('TOO_MANY_STREAMS', 429, {
  message: 'Too many event streams are open.',
  cause: 'A principal may have at most details.limit event streams open.',
  remedy: 'Close other streams, or read several types of events in one.',
  example: [10],
  make: (limit: number) => ({
    message: `A principal may have at most ${limit} event streams open.`,
    details: { limit },
    headers: ['Retry-After', '5'],
  }),
});
