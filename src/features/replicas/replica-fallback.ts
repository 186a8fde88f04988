import { databaseErrorOf, problemOf, STATEMENT_TIMEOUT } from '../../db/database-errors.js';
import type { Reply, Rows } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import type { Action } from '../../http/router.js';
import type { Replica } from './replica.js';
import type { Replicas } from './replicas.js';

/**
 * Wraps an action that reads. Reads from a replica if one is fresh enough for the request; otherwise, or if the replica
 * fails, from the primary. `onReplicas`: the action of each replica.
 */
export function fromReplicas(
  replicas: Replicas,
  action: Action,
  onReplicas: ReadonlyMap<Replica, Action>,
): Action {
  const run = async (request: Request): Promise<Reply> => {
    const replica = await replicas.choose(request);
    if (!replica) return action.run(request);
    const again = (error: unknown): Promise<Reply> | Reply => {
      if (!isUnavailable(error)) throw error;
      replica.suspect();
      return action.run(request);
    };
    try {
      const reply = await onReplicas.get(replica)!.run(request);
      const { content } = reply;
      if (content?.kind === 'documents')
        return { ...reply, content: { ...content, read: () => documentsOr(content.read(), again) } };
      return content?.kind === 'rows'
        ? { ...reply, content: { ...content, open: rowsOr(content.open, again) } }
        : reply;
    } catch (error) {
      return again(error);
    }
  };
  return { ...action, run: (request) => (request.run ? action.run(request) : run(request)) };
}

/**
 * Whether a server failed, or refused a statement for the state that it is in: another server may carry it out. A
 * statement that took too long would take as long there.
 */
const isUnavailable = (error: unknown): boolean =>
  problemOf(error)?.status === 503 && databaseErrorOf(error)?.code !== STATEMENT_TIMEOUT;

/** Documents that the primary's replace, if the replica fails before the first one. */
async function* documentsOr(
  documents: AsyncIterable<string>,
  again: (error: unknown) => Promise<Reply> | Reply,
): AsyncGenerator<string> {
  let isFirst = true;
  try {
    for await (const document of documents) {
      isFirst = false;
      yield document;
    }
  } catch (error) {
    const content = isFirst ? (await again(error)).content : undefined;
    if (content?.kind !== 'documents') throw error;
    yield* content.read();
  }
}

/** Rows that the primary's replace, if the replica fails before the first one. */
function rowsOr(open: Rows['open'], again: (error: unknown) => Promise<Reply> | Reply): Rows['open'] {
  return async (consume, caller) => {
    let hasRows = false;
    try {
      await open((rows) => {
        hasRows = true;
        return consume(rows);
      }, caller);
    } catch (error) {
      const { content } = hasRows ? {} : await again(error);
      if (content?.kind !== 'rows') throw error;
      await content.open(consume, caller);
    }
  };
}
