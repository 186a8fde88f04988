import type { Collection } from '../collection/collection.js';
import { isStored } from '../collection/record.js';
import { JSON_TYPE } from '../collection/representation.js';
import { unavailable } from '../errors.js';
import type { Action } from '../http/router.js';
import { parseUuid } from '../uuid.js';
import {
  confirmPassword,
  confirmPasswordOf,
  expectedVersion,
  narrowGuard,
  readWriteGuard,
  requirePreconditions,
  type WriteSettings,
  writtenReply,
} from './conditional-write.js';
import { notFoundProblem } from './not-found.js';
import { validatePermitted } from './own-records.js';
import { passwordPreparation, withPasswordHash } from './password-preparation.js';

/** Attempts while the record changes between reading and writing. */
const ATTEMPTS = 8;

/** Replaces a record; missing fields are cleared: 200, 204, 400, 404, 409, 410, 412, 413, 415, 422, 428. */
export function replace(collection: Collection, settings: WriteSettings): Action {
  const { resource } = collection;
  return {
    accepts: [JSON_TYPE],
    prepare: (request) =>
      passwordPreparation(
        collection,
        request,
        () => collection.check(request.body?.value),
        (passwords) => confirmPasswordOf(request, passwords, settings),
      ),
    run: async (request) => {
      const guard = readWriteGuard(collection, request, settings);
      const id = parseUuid(request.params.id ?? '');
      const draft = withPasswordHash(validatePermitted(collection, request.body?.value, request), request);
      const expected = expectedVersion(request.body?.value);
      if (id === undefined) throw notFoundProblem(resource, 'absent');
      const confirmed = confirmPassword(request, id, draft, settings);
      if (confirmed) await confirmed;
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const outcome = await collection.replace(id, draft, narrowGuard(guard, expected), request.run);
        if (isStored(outcome)) return writtenReply(resource, outcome, request);
        if (typeof outcome === 'string') throw notFoundProblem(resource, outcome);
        requirePreconditions(resource, outcome, guard, expected);
      }
      throw unavailable('Too many clients are changing the record at once.');
    },
  };
}
