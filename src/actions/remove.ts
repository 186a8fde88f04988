import { callerOf } from '../auth/principal.js';
import { preconditionFailed } from '../errors/record-errors.js';
import type { Action } from '../http/router.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { parseUuid } from '../uuid.js';
import {
  isThere,
  preconditionProblem,
  readWritePreconditions,
  requireWritable,
  type WriteSettings,
} from './change-record.js';

/** Deletes a record: 204 also if it does not exist, 403, 412, 428. */
export function remove(scoped: ScopedCollection, settings: WriteSettings): Action {
  const { resource } = scoped;
  return {
    run: async (request) => {
      const collection = scoped.as(request);
      const preconditions = readWritePreconditions(collection, request, settings);
      const id = parseUuid(request.params.id ?? '');
      const isProtected = resource.hasPasswords && request.permission !== 'own';
      if (isProtected && id !== undefined && (await isThere(collection, id, request.run)))
        await settings.accounts?.requireDeletable(
          { ...request, requirePermitted: () => requireWritable(collection, id, 'delete', request.run) },
          id,
        );
      const outcome =
        id === undefined
          ? 'absent'
          : await collection.remove(id, preconditions, request.run, callerOf(request.principal));
      if (typeof outcome === 'object')
        throw await preconditionProblem(resource, outcome.current, preconditions, request);
      // RFC 9110 section 13.1.1: If-Match is false, also with `*`, when there is no representation.
      if (outcome === 'absent' && request.headers['if-match'] !== undefined) throw preconditionFailed();
      return { status: 204, headers: [] };
    },
  };
}
