import type { Collection } from '../collection/collection.js';
import { type ExtendedQuery, relationName } from '../collection/extended-query.js';
import { MAX_PAGE_BYTES } from '../collection/list-orders.js';
import type { ListQuery } from '../collection/list-query.js';
import { hashedReply, JSON_TYPE } from '../collection/representation.js';
import { pageExceeds } from '../errors/query-errors.js';
import { readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { type JsonObject, member } from '../json.js';
import { permit } from '../principal.js';
import { parseUuid } from '../uuid.js';
import { isLines, linesPage, only, pageFields } from './list-lines.js';

/** Records of another collection that refer to one record, at most. */
const MAX_REFERRING = 20;

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
  const path = resource.prefix + request.path;
  const links = linksOf(path, { page, limit, rows, suffix, total });
  const totalPages = total === undefined ? undefined : Math.ceil(total / limit);
  const records = await recordsOf(docs, relations, extended.fields, request);
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

/** Adds related records to those of a page. */
type Relation = (
  records: readonly JsonObject[],
  request: Request,
) => Promise<(record: JsonObject) => unknown>;

interface NamedRelation {
  readonly name: string;
  readonly read: Relation;
}

/** Throws 403 unless the caller may read all records of the other collection. */
function relationOf(
  { resource }: Collection,
  related: readonly Collection[],
  { principal }: Request,
  name: string,
): NamedRelation {
  const find = (wanted: string) => related.find((each) => each.resource.name === wanted)!;
  const reference = resource.references.find(({ field }) => relationName(field) === name);
  const referring = resource.referredBy.find((each) => each.collection === name);
  const other = find(reference?.to ?? name);
  const { read } = other.resource.scopes;
  if (read !== undefined) permit(principal, { scopes: [read] }, {});
  if (reference) return { name, read: referredRecords(other, reference.field) };
  return { name, read: referringRecords(other, other.resource.columns.get(referring!.field)!.name) };
}

/** The record to which a field refers; null: it refers to none. */
function referredRecords(other: Collection, field: string): Relation {
  return async (records, { run }) => {
    const idOf = (record: JsonObject) => parseUuid(String(member(record, field) ?? ''));
    const ids = [...new Set(records.map(idOf).filter((id) => id !== undefined))];
    const found = new Map<string, JsonObject>();
    let bytes = 0;
    await Promise.all(
      ids.map(async (id) => {
        const stored = await other.get(id, run);
        if (typeof stored === 'string') return;
        bytes += stored.doc.length;
        if (bytes > MAX_PAGE_BYTES) throw pageExceeds(MAX_PAGE_BYTES);
        found.set(id, JSON.parse(stored.doc) as JsonObject);
      }),
    );
    return (record) => found.get(idOf(record) ?? '') ?? null;
  };
}

/** The first records that refer to a record, at most MAX_REFERRING. */
function referringRecords(other: Collection, column: string): Relation {
  return async (records, { run }) => {
    const ids = records.map(({ id }) => String(id));
    const found = await other.referring(column, ids, MAX_REFERRING, run);
    let bytes = 0;
    for (const docs of found.values()) bytes += docs.length;
    if (bytes > MAX_PAGE_BYTES) throw pageExceeds(MAX_PAGE_BYTES);
    return ({ id }) => JSON.parse(`[${found.get(String(id)) ?? ''}]`) as unknown;
  };
}

async function recordsOf(
  docs: string,
  relations: readonly NamedRelation[],
  fields: readonly string[] | undefined,
  request: Request,
): Promise<JsonObject[]> {
  const records = JSON.parse(`[${docs}]`) as JsonObject[];
  const read = await Promise.all(
    relations.map(async ({ name, read }) => ({ name, of: await read(records, request) })),
  );
  return records.map((record) => {
    const shown = fields === undefined ? record : only(record, fields);
    if (read.length === 0) return shown;
    const included = Object.fromEntries(read.map(({ name, of }) => [name, of(record)]));
    return { ...shown, _included: included } as JsonObject;
  });
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
