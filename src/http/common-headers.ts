import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Cors } from './cors.js';

/** Returns the fields of every response to a request, as a flat list of names and values. */
export type CommonFields = (req: IncomingMessage, id: string) => string[];

/**
 * The fields of every response of a listener. `hstsMaxAgeSeconds` applies only with its own TLS: a browser ignores
 * Strict-Transport-Security over plain HTTP (RFC 6797 section 7.2).
 */
export function fixedFields(encrypted: boolean, hstsMaxAgeSeconds: number): readonly string[] {
  const nosniff = ['X-Content-Type-Options', 'nosniff'];
  return encrypted && hstsMaxAgeSeconds > 0
    ? [...nosniff, 'Strict-Transport-Security', `max-age=${hstsMaxAgeSeconds}`]
    : nosniff;
}

/** `fixed` is the result of `fixedFields`. `cors` undefined: pages of other origins have no access. */
export function createCommonFields(fixed: readonly string[], cors: Cors | undefined): CommonFields {
  return (req, id) =>
    cors
      ? ['X-Request-Id', id, ...fixed, ...cors.fields(req.headers.origin)]
      : ['X-Request-Id', id, ...fixed];
}

/** The fields of responses without TLS that pages of other origins have no access to. */
export const PLAIN_FIELDS = createCommonFields(fixedFields(false, 0), undefined);

/** Adds fields to those of a response. There is one Vary for all: some proxies read the last one alone. */
export function addFields(fields: string[], more: readonly string[]): void {
  const { length } = fields;
  let at = 0;
  while (at < length && fields[at] !== 'Vary') at += 2;
  for (let index = 0; index < more.length; index += 2) {
    const [name, value] = [more[index]!, more[index + 1]!];
    if (name === 'Vary' && at < length) fields[at + 1] += `, ${value}`;
    else fields.push(name, value);
  }
}

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
