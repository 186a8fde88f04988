import type { Resource } from '../collection/resource.js';
import type { Db, Run } from '../db/db.js';
import { sharedRun } from '../db/shared-run.js';
import { tooManyMatches } from '../errors/input-errors.js';
import { badRequest } from '../errors/request-errors.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { among, type Selection } from '../list/condition.js';
import { readSelection } from '../list/read-list.js';
import { leadsTo } from '../policy/policy.js';
import { readable, type ScopedCollection } from '../policy/scoped-collection.js';
import { forRecord } from './operation-step.js';
import { secretReply } from './secret-reply.js';

/** Records that one request changes. */
const MAX_MATCHES = 10_000;
/**
 * Records that share statements, and of which all are in memory. Each document has up to 64 KiB: larger ones are read one by one, while
 * those before are written.
 */
const RECORDS_AT_ONCE = 128;

/** The clock of changes, which a test replaces. */
export const changeClock = { now: () => performance.now() };

/**
 * Applies an action on one record to all records that match a filter, all or none, with one event each: 200 with the number, and what the
 * action responds with for the first record that it rejects. 413 if more than 10,000 match, or if these take more than half of `timeoutMs`.
 */
export function forAllMatching(
  db: Db,
  scoped: ScopedCollection,
  related: readonly ScopedCollection[],
  verb: 'update' | 'delete',
  action: Action,
  timeoutMs: number,
): Action {
  const size = dependOnEachOther(scoped, related) ? 1 : RECORDS_AT_ONCE;
  return {
    run: (request) => {
      const collection = scoped.as(request);
      const selection = matching(scoped, related, request);
      const work = async (run: Run): Promise<Reply> => {
        const found = await collection.ids(selection, MAX_MATCHES + 1, run);
        if (found.length > MAX_MATCHES) throw tooManyMatches(MAX_MATCHES, found[MAX_MATCHES - 1]!);
        await collection.lock(found, run);
        // Others may have changed some before these were locked.
        const conditions = [...selection.conditions, ...among(found).conditions];
        const ids = await collection.ids({ ...selection, conditions }, found.length, run);
        const latest = changeClock.now() + timeoutMs / 2;
        const minimal = { ...request, headers: { ...request.headers, prefer: 'return=minimal' } };
        let count = 0;
        const shared = sharedRun(run, () => {
          if (count > 0 && changeClock.now() > latest) throw tooManyMatches(count, ids[count - 1]!);
        });
        const act = async (id: string) => {
          await action.run(forRecord(minimal, id, shared));
          count++;
        };
        // Most records refer to older ones.
        const isReversed = verb === 'delete' && refersToItself(scoped.resource);
        await changeAll(isReversed ? ids.toReversed() : ids, act, size);
        return secretReply(200, { meta: { matched: ids.length } });
      };
      return request.run ? work(request.run) : db.transaction(work);
    },
  };
}

/** Whether a record may prevent the deletion of another one of its collection. */
const refersToItself = ({ name, references }: Resource): boolean =>
  references.some(({ to, onDelete }) => to === name && onDelete === 'restrict');

/** Whether the change of a record can change what access rules permit with others. Then each change sees those before it. */
function dependOnEachOther(
  { resource, policy }: ScopedCollection,
  related: readonly ScopedCollection[],
): boolean {
  const targets = related.filter((each) => resource.references.some(({ to }) => to === each.resource.name));
  const grants = [{ policy }, ...targets].flatMap((each) => each.policy.grants);
  const names = [resource.name, ...resource.children];
  return grants.some(({ conditions }) => leadsTo(conditions, names));
}

/** Changes records, some at a time. */
async function changeAll(
  ids: readonly string[],
  act: (id: string) => Promise<unknown>,
  size: number,
): Promise<void> {
  for (let at = 0; at < ids.length; at += size) {
    const outcomes = await Promise.allSettled(ids.slice(at, at + size).map(act));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }
}

/** The records that a request about all that match a filter selects. Throws 400 for a request that is not valid, 403. */
function matching(
  scoped: ScopedCollection,
  related: readonly ScopedCollection[],
  request: Request,
): Selection {
  const condition = request.headers['if-match'];
  if (condition !== undefined && condition.trim() !== '*')
    throw badRequest(
      'An ETag in If-Match is about one record, and this request is about several: send If-Match: *.',
    );
  const others = readable(related, request);
  const selection = readSelection(request.query.parameters, scoped.as(request), { others });
  if (selection.conditions.length === 0) throw badRequest('The filter is empty.');
  return selection;
}
