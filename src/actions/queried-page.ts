import type { Collection } from '../collection/collection.js';
import type { ExtendedQuery } from '../collection/extended-query.js';
import { MAX_PAGE_BYTES } from '../collection/list-orders.js';
import type { ListQuery } from '../collection/list-query.js';
import { hashedReply, JSON_TYPE } from '../collection/representation.js';
import { pageExceeds } from '../errors/query-errors.js';
import { readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { JsonObject } from '../json.js';
import { relationOf, shownRecords } from './included-records.js';
import { isLines, linesPage, pageFields } from './list-lines.js';

/** A page of what a query selects: 200, 304, 403, 412, 413, 503. */
export async function queriedPage(
  collection: Collection,
  related: readonly Collection[],
  request: Request,
  query: ListQuery,
  extended: ExtendedQuery,
): Promise<Reply> {
  const { resource } = collection;
  const { page, limit, selection, suffix } = query;
  const relations = extended.include.map((name) => relationOf(collection, related, request, name));
  const offset = Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER);
  const { total, rows, docs } = await collection.query(extended, selection, { limit, offset }, request.run);
  if (docs === undefined) throw pageExceeds(MAX_PAGE_BYTES);
  const path = request.prefix + request.path;
  const links = linksOf(path, { page, limit, rows, suffix, total });
  const totalPages = total === undefined ? undefined : Math.ceil(total / limit);
  const found = JSON.parse(`[${docs}]`) as JsonObject[];
  const records = await shownRecords(found, relations, extended.fields, request);
  const conditions = readConditions(request.headers);
  if (isLines(request.type))
    return linesPage(request.type, resource, records, extended, pageFields(links, total), conditions);
  const meta = { page, limit, ...(total === undefined ? {} : { total, totalPages }) };
  const isPlain = relations.length === 0 && extended.fields === undefined;
  const data = isPlain ? `[${docs}]` : JSON.stringify(records);
  if (data.length > 2 * MAX_PAGE_BYTES) throw pageExceeds(2 * MAX_PAGE_BYTES);
  const body = `{"data":${data},"meta":${JSON.stringify(meta)},"links":${JSON.stringify(links)}}`;
  return hashedReply(JSON_TYPE, body, conditions);
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
