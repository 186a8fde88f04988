import type { StoredRecord } from '../collection/record.js';
import { hashedReply, headersOf, JSON_TYPE, withLinks } from '../collection/representation.js';
import { readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { JsonObject } from '../json.js';
import { LONG_TASK_BYTES, nextLongTask } from '../limits/long-task.js';
import type { Collection } from '../list/collection.js';
import { cursorAt } from '../list/keyset.js';
import type { KeysetQuery } from '../list/keyset-query.js';
import { MAX_PAGE_BYTES } from '../list/list-orders.js';
import type { KeysetPage } from '../list/queries.js';
import { linkFields } from './forward-list.js';
import { isWhole, relationOf, shownDocument, shownRecords } from './included-records.js';
import { largePage } from './large-page.js';
import { isLines, linesPage, pageFields, shownLines, streamedLines } from './list-lines.js';

/**
 * A page between cursors: 200, 304, 403, 412, 503. CSV and NDJSON are everything that is selected, unless the query is
 * about one page. `more` are further header fields.
 */
export function keysetReply(
  collection: Collection,
  related: readonly Collection[],
  request: Request,
  query: KeysetQuery,
  more: readonly string[],
): Promise<Reply> | Reply {
  if (!isLines(request.type) || query.isPage) return keysetPage(collection, related, request, query, more);
  const { resource } = collection;
  return {
    status: 200,
    headers: [...headersOf(request.type), ...more],
    lines: streamedLines(request.type, resource, query.extended),
    stream: (consume) => collection.streamMatching(query.extended, query.selection, consume),
  };
}

async function keysetPage(
  collection: Collection,
  related: readonly Collection[],
  request: Request,
  query: KeysetQuery,
  more: readonly string[],
): Promise<Reply> {
  const { resource } = collection;
  const { extended, limit } = query;
  const relations = extended.include.map((name) => relationOf(collection, related, request, name));
  const view = { fields: extended.fields, relations };
  const page = await collection.keysetPage(query, request.run);
  const links = linksOf(request.prefix + request.path, query, page);
  const conditions = readConditions(request.headers);
  const { self: _, ...others } = links;
  const fields = [...pageFields(others, page.total), ...more];
  const shown = isWhole(view) ? undefined : await shownRecords(await parsed(page.records), view, request.run);
  const withOwnLinks = (record: StoredRecord) => withLinks(resource, record, request.prefix);
  async function* documents(isJson: boolean) {
    for (const record of page.records) {
      const doc = await shownDocument(record.doc, view, request.run);
      yield isJson ? withOwnLinks({ ...record, doc }) : doc;
    }
  }
  if (isLines(request.type)) {
    const records = shown ?? (isWhole(view) ? await parsed(page.records) : undefined);
    if (records) return linesPage(request.type, resource, records, extended, fields, conditions);
    const lines = shownLines(request.type, resource, extended);
    return largePage(request.type, { lines }, fields, () => documents(false));
  }
  const meta = { limit, ...(page.total === undefined ? {} : { total: page.total }) };
  const end = `,"meta":${JSON.stringify(meta)},"links":${JSON.stringify(links)}}`;
  const linked = [...linkFields(links), ...more];
  const texts = isWhole(view)
    ? page.records.map(withOwnLinks)
    : shown?.map((record, at) => withOwnLinks({ ...page.records[at]!, doc: JSON.stringify(record) }));
  const data = texts?.join(',');
  if (data === undefined || (!isWhole(view) && data.length > 2 * MAX_PAGE_BYTES))
    return largePage(request.type, { frame: ['{"data":', end] }, linked, () => documents(true));
  const reply = hashedReply(JSON_TYPE, `{"data":[${data}]${end}`, conditions);
  return { ...reply, headers: [...reply.headers, ...linked] };
}

async function parsed(records: readonly StoredRecord[]): Promise<JsonObject[]> {
  const values: JsonObject[] = [];
  let bytes = 0;
  let isLong = false;
  for (const { doc } of records) {
    bytes += doc.length;
    if (bytes > LONG_TASK_BYTES) {
      isLong = true;
      await nextLongTask();
      bytes = doc.length;
    }
    values.push(JSON.parse(doc) as JsonObject);
  }
  if (isLong) await nextLongTask();
  return values;
}

type Links = Readonly<Record<'self' | 'next' | 'prev' | 'first', string | null>> & { readonly self: string };

/**
 * The pages around a page. The one that a cursor leads away from has existed, so it has a link; it may be empty by now. The
 * neighbour of an empty page begins where the empty one does.
 */
function linksOf(path: string, query: KeysetQuery, { hasMore, bounds }: KeysetPage): Links {
  const { position, identity, repeated } = query;
  const to = (side?: string, cursor?: string) => {
    const parameters = new URLSearchParams(side === undefined ? [] : [[side, cursor!]]);
    for (const [name, value] of repeated) parameters.append(name, value);
    return `${path}?${parameters}`;
  };
  const side = position?.side;
  const here = position && JSON.stringify([position.id, ...position.values]);
  const cursor = (key: string | undefined) =>
    key === undefined ? cursorAt(identity, here!, !position!.isInclusive) : cursorAt(identity, key);
  const hasNext = side === 'before' || hasMore;
  const hasPrevious = side === 'after' || (side === 'before' && hasMore);
  return {
    self: position ? to(side, cursorAt(identity, here!, position.isInclusive)) : to(),
    next: hasNext ? to('after', cursor(bounds?.last)) : null,
    prev: hasPrevious ? to('before', cursor(bounds?.first)) : null,
    first: to(),
  };
}
