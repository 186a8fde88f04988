import { CSV_TYPE, headersOf, JSON_TYPE, NDJSON_TYPE } from '../collection/representation.js';
import { forbidden } from '../errors/credential-errors.js';
import { noSuchParent } from '../errors/record-errors.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import type { Collection } from '../list/collection.js';
import { keysetParameters, readKeysetQuery } from '../list/keyset-query.js';
import { type ListQuery, listParameters, readListQuery } from '../list/list-query.js';
import { parseUuid } from '../uuid.js';
import { keysetReply } from './keyset-page.js';
import { isLines, streamedLines } from './list-lines.js';
import { listPage } from './list-page.js';

const LIST_TYPES = [JSON_TYPE, CSV_TYPE, NDJSON_TYPE];

/**
 * Lists the records of a collection, as a page or as one streamed array: 200, 304, 400, 406, 412. `related` are the
 * collections whose records a query can include.
 */
export function list(collection: Collection, related: readonly Collection[], feed?: FeedPosition): Action {
  return listing(collection, related, feed, ({ permission, principal }) => {
    // A caller that may read only its own records gets the list of them.
    const own = permission === 'own' ? parseUuid(principal.subject) : undefined;
    if (permission === 'own' && own === undefined)
      throw forbidden([collection.resource.scopes.read ?? `${collection.resource.name}:read`]);
    return own;
  });
}

/** Where the feed is. */
export interface FeedPosition {
  /** A cursor before all changes that the server to read from may not show yet. */
  cursor(): string | undefined;
}

/** Lists the records of a parent, as `list` does; 404 for a missing parent. */
export function listNested(
  collection: Collection,
  parent: Collection,
  related: readonly Collection[],
  feed?: FeedPosition,
): Action {
  return listing(collection, related, feed, async ({ params, run }) => {
    const id = parseUuid(params.id ?? '');
    if (id === undefined || !(await parent.exists(id, run))) throw noSuchParent(parent.resource.singular);
    return id;
  });
}

/** `ownerOf` gives the id of the record whose records a request lists; undefined: those of all. */
function listing(
  collection: Collection,
  related: readonly Collection[],
  feed: FeedPosition | undefined,
  ownerOf: (request: Request) => Promise<string> | string | undefined,
): Action {
  return {
    offers: LIST_TYPES,
    parameters: listParameters(collection.resource),
    keysetParameters: keysetParameters(collection.resource),
    run: (request) => {
      const of = (owner: string | undefined) => {
        // Taken before the list is read, so that every later change comes after it.
        const before = feed?.cursor();
        const cursor = before === undefined ? [] : ['Events-Cursor', before];
        if (request.version.lists === 'keyset') {
          const query = readKeysetQuery(request.query, collection.resource, owner);
          return keysetReply(collection, related, request, query, cursor);
        }
        const query = readListQuery(request.query, collection.resource, owner, request.isTranslated);
        return listReply(collection, related, request, query, cursor);
      };
      const owner = ownerOf(request);
      return owner instanceof Promise ? owner.then(of) : of(owner);
    },
  };
}

/** CSV and NDJSON are pages only if the query says so, or includes related records. */
function listReply(
  collection: Collection,
  related: readonly Collection[],
  request: Request,
  query: ListQuery,
  cursor: readonly string[],
): Promise<Reply> | Reply {
  const { extended, selection } = query;
  const { type } = request;
  const isPage = isLines(type)
    ? query.paged || (extended !== undefined && extended.include.length > 0)
    : query.paged || extended !== undefined || (collection.resource.list === 'page' && !query.filtered);
  if (isPage) return listPage(collection, related, request, query, cursor);
  const headers = [...headersOf(type), ...cursor];
  const stream: Reply['stream'] = (consume) =>
    extended
      ? collection.streamMatching(extended, selection, consume)
      : collection.stream(selection, consume);
  if (!isLines(type)) return { status: 200, headers, stream };
  return { status: 200, headers, lines: streamedLines(type, collection.resource, extended), stream };
}
