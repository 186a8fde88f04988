import { idOf, MAX_PAGE_BYTES } from '../collection/document.js';
import { hashedReply, hashOf, withLinks } from '../collection/representation.js';
import { JSON_TYPE } from '../http/media-types.js';
import { readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { JsonObject } from '../json.js';
import { cursorAt } from '../list/keyset.js';
import type { KeysetPart, NumberedPart, PageRequest } from '../list/list-request.js';
import type { Page } from '../list/lists.js';
import type { Collection } from '../list/open-collection.js';
import { isWhole } from '../list/read-fields-and-includes.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { type Shown, shownDocument, shownOf, shownRecords } from './included-records.js';
import { largePage, parsedElements, readDocuments } from './large-page.js';
import { isLines, type Links, linesOf, linesPage, pageFields } from './list-lines.js';

/** The response with a page of a list: 200, 304, 403, 412, 503. `more` are further header fields. */
export async function listPage(
  collection: Collection,
  related: readonly ScopedCollection[],
  request: Request,
  list: PageRequest,
  more: readonly string[],
): Promise<Reply> {
  const shown = shownOf(related, list, request);
  const excerpts: Shown['excerpts'] = list.excerpts
    ? (ids, run) => collection.excerpts(list.search, ids, run)
    : undefined;
  const page = await collection.page(list, request.run);
  const context = { collection, request, list, view: { excerpts, ...shown }, page };
  return isLines(request.type) ? linesReply(context, more) : jsonReply(context, more);
}

/** A page with all that its response depends on. */
interface PageContext {
  readonly collection: Collection;
  readonly request: Request;
  readonly list: PageRequest;
  readonly view: Shown;
  readonly page: Page;
}

async function linesReply(context: PageContext, more: readonly string[]): Promise<Reply> {
  const { collection, request, list, page } = context;
  const links = linksOf(context);
  const isNumbered = list.part.kind === 'numbered';
  const fields = [...pageFields(isNumbered ? links : { ...links, self: null }, page.total), ...more];
  const records = await shownIn(context);
  if (records)
    return linesPage(request.type, collection, records, list, fields, readConditions(request.headers));
  const lines = linesOf(request.type, collection, list, true);
  return largePage(request.type, { lines }, fields, () => documentsOf(context));
}

async function jsonReply(context: PageContext, more: readonly string[]): Promise<Reply> {
  const { request, list, page } = context;
  const links = linksOf(context);
  const fields = list.part.kind === 'numbered' ? more : [...pageFields({ ...links, self: null }), ...more];
  const end = `,"meta":${JSON.stringify(metaOf(list.part, page))},"links":${JSON.stringify(links)}}`;
  const records = isWhole(list) ? undefined : await shownIn(context);
  const documents = isWhole(list) ? page.documents : records?.map((record) => JSON.stringify(record));
  const data =
    list.part.kind === 'numbered'
      ? documents?.join(',')
      : documents?.map((document) => linked(context, document)).join(',');
  if (data === undefined || (records && data.length > 2 * MAX_PAGE_BYTES))
    return largePage(JSON_TYPE, { frame: ['{"data":', end] }, fields, () => linkedDocuments(context));
  const body = `{"data":[${data}]${end}`;
  const etag = records ? hashOf(body) : etagOfPage(page, body, end);
  return hashedReply(JSON_TYPE, body, readConditions(request.headers), { etag, more: fields });
}

/** The ETags of pages that are shown as they have been read: requests that share a statement hash its page once. */
const etags = new WeakMap<Page['row'], { readonly end: string; readonly etag: string }>();

/** `end`: all of the body that does not follow from the row of the page. */
function etagOfPage({ row }: Page, body: string, end: string): string {
  const known = etags.get(row);
  if (known?.end === end) return known.etag;
  const etag = hashOf(body);
  etags.set(row, { end, etag });
  return etag;
}

/** The records as the request shows them; undefined: the records, or those that are related to them, are too large for memory. */
async function shownIn({ list, page, view, request }: PageContext): Promise<JsonObject[] | undefined> {
  const records = page.documents && (await parsedElements(page.documents.join(',')));
  if (!records || isWhole(list)) return records;
  return (await shownRecords(records, view, request.run))?.map(({ record }) => record);
}

/** The documents of a page one by one, as the request shows them. */
async function* documentsOf({ collection, page, view, request }: PageContext): AsyncGenerator<string> {
  const { run } = request;
  const found = page.documents ?? readDocuments(collection, page.ids, run);
  for await (const document of found) yield await shownDocument(document, view, run);
}

async function* linkedDocuments(context: PageContext): AsyncGenerator<string> {
  for await (const document of documentsOf(context)) yield linked(context, document);
}

/** A document as its list has it: with `_links`, if the pages are between cursors. */
function linked({ collection, request, list }: PageContext, doc: string): string {
  if (list.part.kind === 'numbered') return doc;
  return withLinks(collection.resource, { id: idOf(doc), doc }, request.prefix);
}

function metaOf(part: NumberedPart | KeysetPart, { total }: Page): object {
  const { limit } = part;
  if (part.kind === 'keyset') return { limit, total };
  return { page: part.page, limit, total, totalPages: total && Math.ceil(total / limit) };
}

function linksOf({ request, list, page }: PageContext): Links {
  const { part } = list;
  const path = request.prefix + request.path;
  return part.kind === 'numbered'
    ? numberedLinks(path, list, part, page)
    : keysetLinks(path, list, part, page);
}

function numberedLinks(
  path: string,
  { repeated }: PageRequest,
  { page, limit }: NumberedPart,
  { total, hasMore }: Page,
): Links {
  const to = (number: number) => `${path}?page=${number}&limit=${limit}${repeated && `&${repeated}`}`;
  const last = total === undefined ? undefined : Math.max(Math.ceil(total / limit), 1);
  const hasNext = last === undefined ? hasMore : page < last;
  return {
    self: to(page),
    next: hasNext ? to(page + 1) : null,
    prev: page > 1 ? to(last === undefined ? page - 1 : Math.min(page - 1, last)) : null,
    first: to(1),
    ...(last === undefined ? {} : { last: to(last) }),
  };
}

/**
 * The pages around a page. The one that a cursor leads away from has existed, so it has a link; it may be empty by now. The
 * neighbour of an empty page begins where the empty one does.
 */
function keysetLinks(
  path: string,
  { repeated }: PageRequest,
  { limit, position, identity }: KeysetPart,
  { hasMore, bounds }: Page,
): Links {
  const to = (side?: string, cursor?: string) =>
    `${path}?${side === undefined ? '' : `${side}=${cursor!}&`}limit=${limit}${repeated && `&${repeated}`}`;
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
