import { unavailable } from './errors.js';
import { Problem } from './problem.js';

/** One principal has as many event streams open as it may. */
export const tooManyStreams = (limit: number) =>
  new Problem(429, 'TOO_MANY_STREAMS', `A principal may have at most ${limit} event streams open.`, {
    details: { limit },
    headers: ['Retry-After', '5'],
  });

/** The response to a batch with an Idempotency-Key repeats too much that no stored record stands for. */
export const storedResponseTooLarge = (limit: number) =>
  new Problem(
    413,
    'STORED_RESPONSE_TOO_LARGE',
    'With an Idempotency-Key, the pages, HTML and CSV in the response to a batch may have at most ' +
      `${limit} bytes. Nothing was written.`,
    { details: { limit } },
  );

export const payloadTooLarge = (limit: number) =>
  new Problem(413, 'PAYLOAD_TOO_LARGE', `The body may have at most ${limit} bytes.`, { details: { limit } });

export const uriTooLong = (limit: number) =>
  new Problem(414, 'URI_TOO_LONG', `The request target may have at most ${limit} bytes.`, {
    details: { limit },
  });

export const headersTooLarge = (limit: number) =>
  new Problem(431, 'HEADERS_TOO_LARGE', `The header fields may have at most ${limit} bytes.`, {
    details: { limit },
  });

/** The responses in progress and those that clients have not read fill the memory that is set aside for them. */
export const outOfResponseMemory = () => unavailable('Too many large responses are in progress.');

/** A batch whose responses exceed their limit in bytes; nothing of the batch took place. */
export const batchResponseTooLarge = (limit: number) =>
  new Problem(413, 'RESPONSE_TOO_LARGE', `The responses of a batch may have at most ${limit} bytes.`, {
    details: { limit },
  });

/** A page that a batch cannot hold: on its own it would be streamed. */
export const pageTooLarge = (limit: number) =>
  new Problem(
    413,
    'RESPONSE_TOO_LARGE',
    `In a batch, the records of a page may have at most ${limit} bytes.`,
    {
      details: { limit },
    },
  );

/** RFC 4918 section 11.5: the database's disk is full; nothing was written. */
export const insufficientStorage = () =>
  new Problem(507, 'INSUFFICIENT_STORAGE', 'The database is full.', { headers: ['Retry-After', '10'] });

/** The limit for incomplete bodies of one client address. */
export const tooManyOfAddress = () =>
  new Problem(429, 'RATE_LIMITED', 'Too many bodies from this address are incomplete.', {
    headers: ['Retry-After', '1'],
  });

export const requestTimeout = () =>
  new Problem(408, 'REQUEST_TIMEOUT', 'The request did not arrive in time.');
