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

/** Adds fields to those of a response. There is one Vary for all: some proxies read the last one alone. */
export function addFields(fields: string[], more: readonly string[]): void {
  const at = fields.findIndex((name, index) => index % 2 === 0 && name === 'Vary');
  for (let index = 0; index < more.length; index += 2) {
    const [name, value] = [more[index]!, more[index + 1]!];
    if (name === 'Vary' && at >= 0) fields[at + 1] += `, ${value}`;
    else fields.push(name, value);
  }
}
