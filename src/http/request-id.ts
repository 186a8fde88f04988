import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The ids of clients that are safe to log: 1 to 64 letters, digits and `_.:-`. */
const ACCEPTED = /^[\w.:-]{1,64}$/;

/** The part of new ids that differs from those of other processes. */
const PROCESS = randomBytes(6).toString('base64url');
let requests = 0;

/** The id of a request in its response and in logs: the client's X-Request-Id, or a new one if that is not accepted. */
export function requestId(req: IncomingMessage): string {
  const given = req.headers['x-request-id'];
  if (typeof given === 'string' && ACCEPTED.test(given)) return given;
  return `${PROCESS}-${(++requests).toString(36)}`;
}
