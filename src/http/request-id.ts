import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The client's X-Request-Id if it is safe to log, otherwise a new id. */
export function requestId(req: IncomingMessage): string {
  const given = req.headers['x-request-id'];
  if (typeof given === 'string' && /^[\w.:-]{1,64}$/.test(given)) return given;
  return `${PROCESS}-${(++requests).toString(36)}`;
}

const PROCESS = randomBytes(6).toString('base64url');
let requests = 0;
