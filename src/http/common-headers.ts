import type { IncomingMessage } from 'node:http';
import type { Cors } from './cors.js';

/** Gives the fields that every answer to a request carries, whatever it is: flat, so that it copies references. */
export type CommonFields = (req: IncomingMessage, id: string) => string[];

/**
 * The fields of every response of a listener. `hstsMaxAgeSeconds` is for its own TLS alone: a browser ignores
 * Strict-Transport-Security over plain HTTP (RFC 6797 section 7.2).
 */
export function fixedFields(encrypted: boolean, hstsMaxAgeSeconds: number): readonly string[] {
  const nosniff = ['X-Content-Type-Options', 'nosniff'];
  return encrypted && hstsMaxAgeSeconds > 0
    ? [...nosniff, 'Strict-Transport-Security', `max-age=${hstsMaxAgeSeconds}`]
    : nosniff;
}

/** `fixed` as `fixedFields` returns; `cors` undefined: pages of other origins are not let in. */
export function commonFields(fixed: readonly string[], cors: Cors | undefined): CommonFields {
  return (req, id) =>
    cors
      ? ['X-Request-Id', id, ...fixed, ...cors.fields(req.headers.origin)]
      : ['X-Request-Id', id, ...fixed];
}
