import type { Collection } from '../collection/collection.js';
import { MAX_PAGE_BYTES } from '../collection/list-orders.js';
import { type ListQuery, readListQuery } from '../collection/list-query.js';
import type { PageBounds } from '../collection/read-batching.js';
import { CACHE, HTML_TYPE, hashedReply, headersOf, hrefOf, JSON_TYPE } from '../collection/representation.js';
import type { Selection } from '../collection/sql-templates.js';
import { noSuchParent } from '../errors.js';
import type { Feed } from '../events/feed.js';
import { listPage, summaryOf } from '../formats/html.js';
import { readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import type { JsonObject } from '../json.js';
import { pageTooLarge } from '../limit-errors.js';
import { LONG_TASK_BYTES, nextLongTask } from '../limits/long-task.js';
import { documentsIn } from '../transport/array-stream.js';
import { parseUuid } from '../uuid.js';

const LIST_TYPES = [JSON_TYPE, HTML_TYPE];

/** Lists the records of a collection, as a page or as one streamed array: 200, 304, 406, 412. */
export function list(collection: Collection, feed?: Feed): Action {
  return {
    offers: LIST_TYPES,
    run: (request) => listReply(collection, request, readListQuery(request.query, collection.resource), feed),
  };
}

/** Lists the records of a parent, as `list` does; 404 for a missing parent. */
export function listNested(collection: Collection, parent: Collection, feed?: Feed): Action {
  return {
    offers: LIST_TYPES,
    run: async (request) => {
      const id = parseUuid(request.params.id ?? '');
      if (id === undefined || !(await parent.exists(id, request.run)))
        throw noSuchParent(parent.resource.singular);
      return listReply(collection, request, readListQuery(request.query, collection.resource, id), feed);
    },
  };
}

/** HTML is always a page, since a browser cannot show an array of a million records. */
function listReply(
  collection: Collection,
  request: Request,
  query: ListQuery,
  feed: Feed | undefined,
): Promise<Reply> | Reply {
  // Taken before the list is read, so that every later change comes after it.
  const cursor = feed ? ['Events-Cursor', feed.cursor()] : [];
  const asPage = query.paged || (collection.resource.list === 'page' && !query.filtered);
  if (asPage || request.type === HTML_TYPE) return page(collection, request, query, cursor);
  return {
    status: 200,
    headers: ['Content-Type', JSON_TYPE, ...cursor],
    stream: (consume) => collection.stream(query.selection, consume),
  };
}

async function page(
  collection: Collection,
  request: Request,
  query: ListQuery,
  cursor: readonly string[],
): Promise<Reply> {
  const { resource } = collection;
  const { page: number, limit, selection } = query;
  const offset = Math.min((number - 1) * limit, Number.MAX_SAFE_INTEGER);
  const { total, docs } = await collection.page(selection, limit, offset, request.run);
  const totalPages = Math.ceil(total / limit);
  const links = linksOf(request.path, query, totalPages);
  const conditions = readConditions(request.headers);
  if (request.type === HTML_TYPE) {
    if (docs && docs.length > LONG_TASK_BYTES) await nextLongTask();
    const records =
      docs === undefined
        ? await readSummaries(collection, request, selection, { limit, offset })
        : (JSON.parse(`[${docs}]`) as JsonObject[]);
    const title = `${resource.name}: page ${number} of ${Math.max(totalPages, 1)}, ${total} in all`;
    const body = listPage(title, records, (record) => hrefOf(resource, String(record.id)), given(links));
    return withFields(hashedReply(HTML_TYPE, body, conditions), cursor);
  }
  const meta = `{"page":${number},"limit":${limit},"total":${total},"totalPages":${totalPages}}`;
  const end = `,"meta":${meta},"links":${JSON.stringify(links)}}`;
  if (docs === undefined) {
    return {
      status: 200,
      headers: [...headersOf(JSON_TYPE), 'Cache-Control', CACHE, ...cursor],
      frame: ['{"data":', end],
      stream: (consume) => collection.stream(selection, consume, { limit, offset }),
    };
  }
  const body = `{"data":[${docs}]${end}`;
  return withFields(hashedReply(JSON_TYPE, body, conditions), cursor);
}

/** The parts of records that an HTML list shows, read one by one, for a page that is too large for memory. */
async function readSummaries(
  collection: Collection,
  request: Request,
  selection: Selection,
  bounds: PageBounds,
): Promise<JsonObject[]> {
  if (request.run) throw pageTooLarge(MAX_PAGE_BYTES);
  const records: JsonObject[] = [];
  await collection.stream(
    selection,
    async (rows) => {
      for await (const document of documentsIn(rows)) {
        await nextLongTask();
        records.push(summaryOf(JSON.parse(document) as JsonObject));
      }
    },
    bounds,
  );
  return records;
}

function withFields(reply: Reply, fields: readonly string[]): Reply {
  return { ...reply, headers: [...reply.headers, ...fields] };
}

interface Links {
  readonly self: string;
  readonly next: string | null;
  readonly prev: string | null;
  readonly first: string;
  readonly last: string;
}

function linksOf(path: string, { page, limit, suffix }: ListQuery, totalPages: number): Links {
  const to = (number: number) => `${path}?page=${number}&limit=${limit}${suffix}`;
  const last = Math.max(totalPages, 1);
  return {
    self: to(page),
    next: page < last ? to(page + 1) : null,
    prev: page > 1 ? to(Math.min(page - 1, last)) : null,
    first: to(1),
    last: to(last),
  };
}

function given(links: Links): Record<string, string> {
  const { first, prev, next, last } = links;
  return Object.fromEntries(
    Object.entries({ first, prev, next, last }).filter((link): link is [string, string] => link[1] !== null),
  );
}
