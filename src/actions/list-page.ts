import type { Collection } from '../collection/collection.js';
import { MAX_PAGE_BYTES } from '../collection/list-orders.js';
import type { ListQuery } from '../collection/list-query.js';
import { CACHE, hashedReply, headersOf, JSON_TYPE } from '../collection/representation.js';
import { pageTooLarge } from '../errors/limit-errors.js';
import { readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { JsonObject } from '../json.js';
import { LONG_TASK_BYTES, nextLongTask } from '../limits/long-task.js';
import { isLines, linesPage, pageFields, streamedLines } from './list-lines.js';
import { queriedPage } from './queried-page.js';

/** A page of a list: 200, 304, 412, 413. `more` are further header fields. */
export async function listPage(
  collection: Collection,
  related: readonly Collection[],
  request: Request,
  query: ListQuery,
  more: readonly string[],
): Promise<Reply> {
  const { resource } = collection;
  const { page: number, limit, selection } = query;
  const offset = Math.min((number - 1) * limit, Number.MAX_SAFE_INTEGER);
  if (query.extended)
    return withFields(await queriedPage(collection, related, request, query, query.extended), more);
  const { total, docs } = await collection.page(selection, limit, offset, request.run);
  const totalPages = Math.ceil(total / limit);
  const path = request.prefix + request.path;
  const links = linksOf(path, query, totalPages);
  const conditions = readConditions(request.headers);
  const stream: Reply['stream'] = (consume) => collection.stream(selection, consume, { limit, offset });
  const streamed = { status: 200, headers: [...headersOf(request.type), 'Cache-Control', CACHE, ...more] };
  if (isLines(request.type)) {
    const meta = pageFields(links, total);
    if (docs !== undefined) {
      const records = await recordsIn(docs);
      return linesPage(request.type, resource, records, undefined, [...meta, ...more], conditions);
    }
    if (request.run) throw pageTooLarge(MAX_PAGE_BYTES);
    const lines = streamedLines(request.type, resource, undefined);
    return { ...streamed, headers: [...streamed.headers, ...meta], lines, stream };
  }
  const meta = `{"page":${number},"limit":${limit},"total":${total},"totalPages":${totalPages}}`;
  const end = `,"meta":${meta},"links":${JSON.stringify(links)}}`;
  if (docs === undefined) return { ...streamed, frame: ['{"data":', end], stream };
  const body = `{"data":[${docs}]${end}`;
  return withFields(hashedReply(JSON_TYPE, body, conditions), more);
}

async function recordsIn(docs: string): Promise<JsonObject[]> {
  if (docs.length > LONG_TASK_BYTES) await nextLongTask();
  return JSON.parse(`[${docs}]`) as JsonObject[];
}

function withFields(reply: Reply, fields: readonly string[]): Reply {
  return { ...reply, headers: [...reply.headers, ...fields] };
}

function linksOf(
  path: string,
  { page, limit, suffix }: ListQuery,
  totalPages: number,
): Readonly<Record<'self' | 'next' | 'prev' | 'first' | 'last', string | null>> {
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
