import type { Guarded } from '../access/guarded-collection.js';
import type { Resource } from '../collection/resource.js';
import type { Db, Run } from '../db/db.js';
import { tooManyMatches } from '../errors/input-errors.js';
import { Problem } from '../errors/problem.js';
import { badRequest } from '../errors/request-errors.js';
import { JSON_TYPE } from '../http/media-types.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { valuesOfAddress } from '../list/address-values.js';
import type { Selection } from '../list/condition.js';
import { readFilter } from '../list/read-filter.js';
import { searchIn, selectionOf } from '../list/read-search.js';
import { ownParent } from './owner-check.js';
import { readAs } from './readable.js';

const MAX_MATCHES = 1000;
/** How often the deletion of a record is attempted to which others of the request refer. */
const MAX_PASSES = 10;

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
        const act = async (id: string) => action.run(forRecord(request, id, run));
        if (request.method === 'DELETE' && refersToItself(guarded.resource)) await inOrder(ids, act, run);
        else for (const id of ids) await act(id);
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

/** Whether a record may prevent the deletion of another one of its collection. */
const refersToItself = ({ name, references }: Resource): boolean =>
  references.some(({ to, onDelete }) => to === name && onDelete === 'restrict');

/**
 * Deletes records that may refer to each other, the newest first, and those to which others still referred in the opposite
 * order, in turns. Throws 409 if records that refer to them remain.
 */
async function inOrder(
  ids: readonly string[],
  act: (id: string) => Promise<unknown>,
  run: Run,
): Promise<void> {
  let left = ids.toReversed();
  for (let pass = 1; left.length > 0; pass++) {
    const postponed: string[] = [];
    for (const id of left)
      try {
        await Promise.all([run('savepoint record', []), act(id)]);
      } catch (error) {
        const isReferred = error instanceof Problem && error.code === 'REFERENCED';
        if (!isReferred || pass === MAX_PASSES || postponed.length + 1 === left.length) throw error;
        postponed.push(id);
        await run('rollback to savepoint record', []);
      }
    left = postponed.reverse();
  }
}

/** The records that a request about all that match a filter selects. Throws 400 for a request that is not valid, 403. */
export function matching(guarded: Guarded, related: readonly Guarded[], request: Request): Selection {
  const condition = request.headers['if-match'];
  if (condition !== undefined && condition.trim() !== '*')
    throw badRequest(
      'An ETag in If-Match is about one record, and this request is about several: send If-Match: *.',
    );
  const given = valuesOfAddress(request.query);
  const parent = ownParent(guarded, request);
  const selection = readAs(guarded, related, request, (resource, others) =>
    selectionOf(readFilter(given.filter(), resource, others), resource, searchIn(given, resource), parent),
  );
  if (selection.conditions.length === 0) throw badRequest('The filter is empty.');
  return selection;
}

/** The part of such a request that concerns one record. */
export function forRecord(request: Request, id: string, run: Run): Request {
  return { ...request, query: '', path: `${request.path}/${id}`, params: { ...request.params, id }, run };
}
