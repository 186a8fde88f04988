import { JSON_TYPE } from '../collection/representation.js';
import { badRequest } from '../errors.js';
import type { Reply } from '../http/reply.js';
import type { Action } from '../http/router.js';

/** Not for caches: it tells of secrets, and a new one is shown to nobody else. */
const HEADERS = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'];

/**
 * An action that is no part of a batch, whose answers are kept for a repeat: a secret must not be. `what` ends the
 * sentence "A batch cannot manage". Throws 400.
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

/** A time as in RFC 3339 from milliseconds since 1970; null for none. */
export function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
