import type { Collection } from '../collection.js';
import type { Db, Run } from '../db/connect.js';
import { forbidden } from '../errors.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isObject, member } from '../json.js';
import { parseUuid } from '../uuid.js';

/**
 * An action on one record below a parent, for a caller who may do it only with records below itself: another's
 * record and an absent one are the same 403. The record is locked meanwhile, and still the caller's afterwards.
 */
export function ownRecord(db: Db, collection: Collection, action: Action): Action {
  return {
    ...action,
    run: (request) => {
      if (request.permission === 'all') return action.run(request);
      const work = async (run: Run) => {
        await requireOwn(collection, request, run);
        const reply = await action.run({ ...request, run });
        if (request.method === 'PUT' || request.method === 'PATCH')
          await requireOwn(collection, request, run);
        return reply;
      };
      return request.run ? work(request.run) : db.transaction(work);
    },
  };
}

/** The creation of a record whose body names its parent: only the caller itself. */
export function ownCreation({ resource }: Collection, action: Action): Action {
  const { field } = resource.parent!;
  return {
    ...action,
    run: (request) => {
      const { permission, principal, body } = request;
      const value = body?.value;
      const parent = isObject(value) ? member(value, field) : undefined;
      if (permission === 'own' && String(parent).toLowerCase() !== principal.subject.toLowerCase())
        throw forbidden([`${resource.name}:write`]);
      return action.run(request);
    },
  };
}

async function requireOwn(
  collection: Collection,
  { method, params, principal }: Request,
  run: Run,
): Promise<void> {
  const [id, parent] = [parseUuid(params.id ?? ''), parseUuid(principal.subject)];
  if (id === undefined || parent === undefined || !(await collection.belongs(id, parent, run)))
    throw forbidden([
      `${collection.resource.name}:${method === 'GET' || method === 'HEAD' ? 'read' : 'write'}`,
    ]);
}
