import { inAttempts } from '../collection/attempts.js';
import { writePreconditionsOf } from '../collection/write-preconditions.js';
import { gone, invalidId, preconditionFailed } from '../errors/record-errors.js';
import { readConditions } from '../http/preconditions.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { createdAt, isVersion7, parseUuid } from '../uuid.js';
import { checkedInput, preconditionProblem } from './change-record.js';
import { createdReply } from './create.js';
import { passwordPreparation } from './password-preparation.js';

/**
 * How far the time in a client's id may be before and after that of the service, in milliseconds: a device may have been
 * offline for a day. Lists have new records at their end, since their order is that of the ids.
 */
const [MAX_BEHIND_MS, MAX_AHEAD_MS] = [86_400_000, 300_000];

/** PUT of one record: `creation` with `If-None-Match: *` and no other precondition on it, else `replacement`. */
export function replaceOrCreate(replacement: Action, creation: Action): Action {
  const actionFor = ({ headers }: Request) =>
    headers['if-none-match']?.trim() === '*' &&
    headers['if-match'] === undefined &&
    headers['if-unmodified-since'] === undefined
      ? creation
      : replacement;
  return {
    prepare: (request) => actionFor(request).prepare?.(request),
    run: (request) => actionFor(request).run(request),
  };
}

/** Creates a record with the id in the path: 201 with Location, 400, 403, 409, 410, 412, 413, 415, 422. */
export function createWithId(scoped: ScopedCollection): Action {
  const { resource } = scoped;
  return {
    prepare: passwordPreparation(scoped, (request) => checkedInput(scoped.as(request), request)),
    run: async (request) => {
      const collection = scoped.as(request);
      const input = checkedInput(collection, request);
      const id = parseUuid(request.params.id ?? '');
      const stored = await inAttempts(async (attempt) => {
        const found = id === undefined ? 'absent' : await collection.get(id, request.run);
        if (found === 'gone') throw gone(resource.singular);
        if (found !== 'absent') {
          const preconditions = writePreconditionsOf(readConditions(request.headers));
          throw await preconditionProblem(resource, found, preconditions, request);
        }
        // The record with the id may be one that is not there for the caller.
        if (collection.access && attempt > 1) throw preconditionFailed();
        return collection.createWithId(newId(id), input, request.run);
      });
      return createdReply(resource, stored, request);
    },
  };
}

/** The id of a new record. Throws 400. */
function newId(id: string | undefined): string {
  if (id === undefined || !isVersion7(id)) throw invalidId('must be a UUID of version 7');
  const ahead = createdAt(id) - Date.now();
  if (ahead < -MAX_BEHIND_MS) throw invalidId('has a time that is more than a day ago');
  if (ahead > MAX_AHEAD_MS) throw invalidId('has a time that is more than five minutes ahead');
  return id;
}
