import { hashedReply, JSON_TYPE } from '../collection/representation.js';
import { readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Collection } from '../list/collection.js';
import type { ListQuery } from '../list/list-query.js';
import { largePage, readDocuments, recordsIn } from './large-page.js';
import { isLines, linesPage, pageFields, streamedLines } from './list-lines.js';
import { queriedPage } from './queried-page.js';

/** A page of a list: 200, 304, 412. `more` are further header fields. */
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
  if (query.extended) return queriedPage(collection, related, request, query, query.extended, more);
  const { total, docs, ids } = await collection.page(selection, limit, offset, request.run);
  const totalPages = Math.ceil(total / limit);
  const path = request.prefix + request.path;
  const links = linksOf(path, query, totalPages);
  const conditions = readConditions(request.headers);
  const documents = () => readDocuments(collection, ids!, request.run);
  if (isLines(request.type)) {
    const fields = [...pageFields(links, total), ...more];
    if (docs !== undefined)
      return linesPage(request.type, resource, await recordsIn(docs), undefined, fields, conditions);
    const lines = streamedLines(request.type, resource, undefined);
    return largePage(request.type, { lines }, fields, documents);
  }
  const meta = `{"page":${number},"limit":${limit},"total":${total},"totalPages":${totalPages}}`;
  const end = `,"meta":${meta},"links":${JSON.stringify(links)}}`;
  if (docs === undefined) return largePage(request.type, { frame: ['{"data":', end] }, more, documents);
  const body = `{"data":[${docs}]${end}`;
  const reply = hashedReply(JSON_TYPE, body, conditions);
  return { ...reply, headers: [...reply.headers, ...more] };
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
