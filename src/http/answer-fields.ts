import type { IncomingMessage } from 'node:http';
import type { Cors } from './cors.js';

/** Gives the fields that every answer to a request carries, whatever it is: flat, so that it copies references. */
export type CommonFields = (req: IncomingMessage, id: string) => string[];

const FIXED = ['X-Content-Type-Options', 'nosniff'];

/** `cors` undefined: pages of other origins are not let in. */
export function commonFields(cors: Cors | undefined): CommonFields {
  return (req, id) =>
    cors
      ? ['X-Request-Id', id, ...FIXED, ...cors.fields(req.headers.origin)]
      : ['X-Request-Id', id, ...FIXED];
}
