import { hashedReply, JSON_TYPE } from '../collection/representation.js';
import { readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Collection } from '../list/collection.js';
import type { ExtendedQuery } from '../list/extended-query.js';
import { MAX_PAGE_BYTES } from '../list/list-orders.js';
import type { ListQuery } from '../list/list-query.js';
import { isWhole, relationOf, shownDocument, shownRecords } from './included-records.js';
import { largePage, readDocuments, recordsIn } from './large-page.js';
import { isLines, linesPage, pageFields, shownLines } from './list-lines.js';

/** A page of what a query selects: 200, 304, 403, 412, 503. `more` are further header fields. */
export async function queriedPage(
  collection: Collection,
  related: readonly Collection[],
  request: Request,
  query: ListQuery,
  extended: ExtendedQuery,
  more: readonly string[],
): Promise<Reply> {
  const { resource } = collection;
  const { page, limit, selection, suffix } = query;
  const relations = extended.include.map((name) => relationOf(collection, related, request, name));
  const view = { fields: extended.fields, relations };
  const offset = Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER);
  const bounds = { limit, offset };
  const { total, rows, docs, ids } = await collection.query(extended, selection, bounds, request.run);
  const path = request.prefix + request.path;
  const links = linksOf(path, { page, limit, rows, suffix, total });
  const totalPages = total === undefined ? undefined : Math.ceil(total / limit);
  const found = docs === undefined ? undefined : await recordsIn(docs);
  const records = found && (await shownRecords(found, view, request.run));
  const conditions = readConditions(request.headers);
  async function* documents() {
    const all = ids ?? found!.map(({ id }) => String(id));
    for await (const doc of readDocuments(collection, all, request.run))
      yield await shownDocument(doc, view, request.run);
  }
  if (isLines(request.type)) {
    const fields = [...pageFields(links, total), ...more];
    if (records) return linesPage(request.type, resource, records, extended, fields, conditions);
    return largePage(
      request.type,
      { lines: shownLines(request.type, resource, extended) },
      fields,
      documents,
    );
  }
  const meta = { page, limit, ...(total === undefined ? {} : { total, totalPages }) };
  const end = `,"meta":${JSON.stringify(meta)},"links":${JSON.stringify(links)}}`;
  const data = records && (isWhole(view) ? `[${docs}]` : JSON.stringify(records));
  if (data === undefined || data.length > 2 * MAX_PAGE_BYTES)
    return largePage(request.type, { frame: ['{"data":', end] }, more, documents);
  const reply = hashedReply(JSON_TYPE, `{"data":${data}${end}`, conditions);
  return { ...reply, headers: [...reply.headers, ...more] };
}

function linksOf(
  path: string,
  {
    page,
    limit,
    rows,
    suffix,
    total,
  }: { page: number; limit: number; rows: number; suffix: string; total: number | undefined },
): Readonly<Record<string, string | null>> {
  const to = (number: number) => `${path}?page=${number}&limit=${limit}${suffix}`;
  const last = total === undefined ? undefined : Math.max(Math.ceil(total / limit), 1);
  const hasNext = last === undefined ? rows === limit : page < last;
  return {
    self: to(page),
    next: hasNext ? to(page + 1) : null,
    prev: page > 1 ? to(last === undefined ? page - 1 : Math.min(page - 1, last)) : null,
    first: to(1),
    ...(last === undefined ? {} : { last: to(last) }),
  };
}
