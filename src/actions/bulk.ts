import type { Guarded } from '../access/guarded-collection.js';
import type { Db, Run } from '../db/db.js';
import { tooManyMatches } from '../errors/input-errors.js';
import { badRequest } from '../errors/request-errors.js';
import { JSON_TYPE } from '../http/media-types.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { valuesOfAddress } from '../list/address-values.js';
import type { Selection } from '../list/condition.js';
import { readList } from '../list/read-list.js';
import { ownParent } from './owner-check.js';
import { readable } from './readable.js';

const MAX_MATCHES = 1000;

/**
 * Applies an action on one record to all records that match a filter, all or none, with one event each: 200 with the
 * number, and what the action responds with for the first record that it rejects. 413 if more than 1,000 match.
 */
export function forAllMatching(
  db: Db,
  guarded: Guarded,
  related: readonly Guarded[],
  action: Action,
): Action {
  return {
    run: (request) => {
      const collection = guarded.as(request);
      const selection = matching(guarded, related, request);
      const work = async (run: Run): Promise<Reply> => {
        const ids = await collection.ids(selection, MAX_MATCHES + 1, run);
        if (ids.length > MAX_MATCHES) throw tooManyMatches(MAX_MATCHES);
        await collection.lock(ids, undefined, run);
        for (const id of ids) await action.run(forRecord(request, id, run));
        return {
          status: 200,
          headers: ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'],
          body: JSON.stringify({ meta: { matched: ids.length } }),
        };
      };
      return request.run ? work(request.run) : db.transaction(work);
    },
  };
}

/** The records that a request about all that match a filter selects. Throws 400 for a request that is not valid, 403. */
export function matching(guarded: Guarded, related: readonly Guarded[], request: Request): Selection {
  const condition = request.headers['if-match'];
  if (condition !== undefined && condition.trim() !== '*')
    throw badRequest(
      'An ETag in If-Match is about one record, and this request is about several: send If-Match: *.',
    );
  const { selection } = readList(valuesOfAddress(request.query), guarded.resource, {
    lists: 'numbered',
    parent: ownParent(guarded, request),
    others: readable(related, request),
  });
  if (selection.conditions.length === 0) throw badRequest('The filter is empty.');
  return selection;
}

/** The part of such a request that concerns one record. */
export function forRecord(request: Request, id: string, run: Run): Request {
  return { ...request, query: '', path: `${request.path}/${id}`, params: { ...request.params, id }, run };
}
