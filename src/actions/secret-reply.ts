import { JSON_TYPE } from '../collection/representation.js';
import { badRequest } from '../errors/request-errors.js';
import type { Reply } from '../http/reply.js';
import type { Action } from '../http/router.js';

/** Responses about secrets must not be cached. */
const HEADERS = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'];

/**
 * An action that must not be part of a batch, since the response to a batch may be stored for a repeat and a secret must
 * not. `what` completes the message "A batch cannot manage". Throws 400.
 */
export function notInBatch(what: string, action: Action): Action {
  return {
    ...action,
    run: (request) => {
      if (request.run) throw badRequest(`A batch cannot manage ${what}.`);
      return action.run(request);
    },
  };
}

export function secretReply(status: number, value: unknown, headers: readonly string[] = []): Reply {
  return { status, headers: [...HEADERS, ...headers], body: JSON.stringify(value) };
}

/** A time (milliseconds since 1970) in the format of RFC 3339; null if there is none. */
export function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
