import { asElements, documentsIn, idOf, MAX_PAGE_BYTES } from '../collection/document.js';
import { hashedReply, JSON_TYPE, withLinks } from '../collection/representation.js';
import { readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Collection } from '../list/collection.js';
import { cursorAt } from '../list/keyset.js';
import type { KeysetPart, NumberedPart, PageRequest } from '../list/list-request.js';
import type { Page } from '../list/lists.js';
import { isWhole } from '../list/view.js';
import { linkFields } from './forward-list.js';
import { shownDocument, shownOf, shownRecords } from './included-records.js';
import { largePage, parsedDocuments, readDocuments } from './large-page.js';
import { isLines, linesPage, pageFields, shownLines } from './list-lines.js';

/** The response with a page of a list: 200, 304, 403, 412, 503. `more` are further header fields. */
export async function listPage(
  collection: Collection,
  related: readonly Collection[],
  request: Request,
  list: PageRequest,
  more: readonly string[],
): Promise<Reply> {
  const { resource } = collection;
  const { run, prefix, type } = request;
  const { part } = list;
  const view = shownOf(collection, related, request, list);
  const page = await collection.page(list, run);
  const path = prefix + request.path;
  const links =
    part.kind === 'numbered' ? numberedLinks(path, list, part, page) : keysetLinks(path, list, part, page);
  // The text of a numbered page is its JSON, unless it shows less or more of the records.
  const isText = part.kind === 'numbered' && isWhole(list) && !isLines(type);
  const found = page.text === undefined || isText ? undefined : documentsIn(page.text);
  const shown =
    found && !isWhole(list) ? await shownRecords(await parsedDocuments(found), view, run) : undefined;
  async function* documents() {
    for await (const doc of found ?? readDocuments(collection, page.ids, run))
      yield await shownDocument(doc, view, run);
  }
  const conditions = readConditions(request.headers);
  if (isLines(type)) {
    const { self, ...others } = links;
    const fields = [
      ...pageFields(part.kind === 'numbered' ? { self, ...others } : others, page.total),
      ...more,
    ];
    const records = isWhole(list) ? found && (await parsedDocuments(found)) : shown;
    if (records) return linesPage(type, resource, records, list, fields, conditions);
    return largePage(type, { lines: shownLines(type, resource, list) }, fields, documents);
  }
  const linked = (doc: string) =>
    part.kind === 'numbered' ? doc : withLinks(resource, { id: idOf(doc), doc }, prefix);
  async function* linkedDocuments() {
    for await (const doc of documents()) yield linked(doc);
  }
  const fields = part.kind === 'numbered' ? more : [...linkFields(links), ...more];
  const end = `,"meta":${JSON.stringify(metaOf(part, page))},"links":${JSON.stringify(links)}}`;
  const data = dataOf();
  if (data === undefined || (!isWhole(list) && data.length > 2 * MAX_PAGE_BYTES))
    return largePage(JSON_TYPE, { frame: ['{"data":', end] }, fields, linkedDocuments);
  const reply = hashedReply(JSON_TYPE, `{"data":[${data}]${end}`, conditions);
  return { ...reply, headers: [...reply.headers, ...fields] };

  function dataOf(): string | undefined {
    if (!isWhole(list)) return shown?.map((record) => linked(JSON.stringify(record))).join(',');
    return part.kind === 'numbered' ? page.text && asElements(page.text) : found?.map(linked).join(',');
  }
}

function metaOf(part: NumberedPart | KeysetPart, { total }: Page): object {
  const { limit } = part;
  if (part.kind === 'keyset') return { limit, total };
  return { page: part.page, limit, total, totalPages: total && Math.ceil(total / limit) };
}

type Links = Readonly<Record<string, string | null>> & { readonly self: string };

function numberedLinks(
  path: string,
  { repeated }: PageRequest,
  { page, limit }: NumberedPart,
  { total, text = '', ids }: Page,
): Links {
  const to = (number: number) => `${path}?page=${number}&limit=${limit}${repeated && `&${repeated}`}`;
  const last = total === undefined ? undefined : Math.max(Math.ceil(total / limit), 1);
  const hasNext = last === undefined ? documentsIn(text).length + ids.length === limit : page < last;
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
  { position, identity }: KeysetPart,
  { hasMore, bounds }: Page,
): Links {
  const to = (side?: string, cursor?: string) =>
    `${path}?${side === undefined ? '' : `${side}=${cursor!}&`}${repeated}`;
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
