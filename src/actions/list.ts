import { MAX_PAGE_BYTES } from '../collection/document.js';
import { hashedReply, headersOf } from '../collection/representation.js';
import { pageExceeds, tooManyGroups } from '../errors/input-errors.js';
import { noSuchParent } from '../errors/record-errors.js';
import { csvHeader, csvRow } from '../formats/csv.js';
import { GROUPS_TYPE, JSON_TYPE, NDJSON_TYPE } from '../http/media-types.js';
import { readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isPage } from '../list/list-request.js';
import type { Collection } from '../list/open-collection.js';
import { type GroupRequest, hasGroups, MAX_GROUPS, readGroups } from '../list/read-groups.js';
import { readList } from '../list/read-list.js';
import { readable, type ScopedCollection } from '../policy/scoped-collection.js';
import { parseUuid } from '../uuid.js';
import { isLines, linesOf } from './list-lines.js';
import { listPage } from './list-page.js';

/** Where the feed is. */
export interface FeedPosition {
  /** A cursor before all changes that the server to read from may not show yet. */
  cursor(): string | undefined;
}

/**
 * Lists the records of a collection, as a page, as one streamed array, or as groups: 200, 304, 400, 406, 412, 413. `related` are the
 * collections whose records a query can include. With `parent`, the records of one of these: 404 if there is none.
 */
export function list(
  scoped: ScopedCollection,
  related: readonly ScopedCollection[],
  feed?: FeedPosition,
  parent?: ScopedCollection,
): Action {
  return {
    run: (request) =>
      parent ? parentIn(request, parent).then((id) => respond(request, id)) : respond(request, undefined),
  };

  function respond(request: Request, parent: string | undefined): Promise<Reply> | Reply {
    // Taken before the list is read, so that every later change comes after it.
    const before = feed?.cursor();
    const fields = before === undefined ? [] : ['Events-Cursor', before];
    const { type, version, query } = request;
    const collection = scoped.as(request);
    const { parameters: given, isOfBody } = query;
    const others = readable(related, request);
    const context = { lists: version.lists, parent, isLines: isLines(type), isOfBody, others };
    if (hasGroups(given))
      return groupsReply(collection, request, readGroups(given, collection, context), fields);
    const requested = readList(given, collection, context);
    if (isPage(requested)) return listPage(collection, related, request, requested, fields);
    return {
      status: 200,
      headers: [...headersOf(type), ...fields],
      content: {
        kind: 'rows',
        ...(isLines(type) && { lines: linesOf(type, collection, requested) }),
        open: (consume, caller) => collection.stream(requested, consume, caller),
      },
    };
  }
}

/** The id of the parent in the path. Throws 404. */
async function parentIn(request: Request, parent: ScopedCollection): Promise<string> {
  const id = parseUuid(request.params.id ?? '');
  if (id === undefined || !(await parent.as(request).exists(id, request.run)))
    throw noSuchParent(parent.resource.singular);
  return id;
}

/** The response with the groups of a list: 200, 304, 400, 412, 413, 503. `more` are further header fields. */
async function groupsReply(
  collection: Collection,
  request: Request,
  requested: GroupRequest,
  more: readonly string[],
): Promise<Reply> {
  const { groups, hasMore } = await collection.groups(requested, request.run);
  if (hasMore && requested.limit === undefined) throw tooManyGroups(MAX_GROUPS);
  const { type, headers } = request;
  const text = textOf();
  if (text.length > MAX_PAGE_BYTES) throw pageExceeds(MAX_PAGE_BYTES);
  const fields = type === JSON_TYPE ? ['Content-Type', GROUPS_TYPE] : headersOf(type);
  return hashedReply(fields, text, readConditions(headers), { more });

  function textOf(): string {
    if (!isLines(type)) return JSON.stringify({ data: groups, meta: { groups: groups.length } });
    if (type === NDJSON_TYPE) return groups.map((group) => `${JSON.stringify(group)}\n`).join('');
    const names = [...requested.keys, ...requested.aggregates].map(({ name }) => name);
    return csvHeader(names) + groups.map((group) => csvRow(group, names)).join('');
  }
}
