import { LARGE_DOCUMENT_BYTES } from '../collection/document.js';
import { comparable, type Resource, searchSql } from '../collection/resource.js';

export type Direction = 'asc' | 'desc';

/** How a list is restricted, which decides its statement. */
export type ListKind = 'all' | 'counted' | 'deep' | 'of_parent' | 'matching' | 'matching_short';

/** Bytes of the documents of a page that is built in memory. A larger one, or one with a large document, is streamed. */
export const MAX_PAGE_BYTES = 1_048_576;
/** The text in place of documents that are too large. In a page, the ids of its records follow. */
export const TOO_LARGE = '!';

/** The documents of a page, or TOO_LARGE and the ids of its records. A large document never becomes part of the text. */
export const documentsOf = (order: string) => `case
    when max(octet_length(record.doc)) > ${LARGE_DOCUMENT_BYTES} or sum(octet_length(record.doc)) > ${MAX_PAGE_BYTES}
    then '${TOO_LARGE}' || string_agg(record.id::text, ',' order by ${order})
    else string_agg(record.doc, ',' order by ${order}) filter (where octet_length(record.doc) <= ${LARGE_DOCUMENT_BYTES})
  end`;

/** The records of a page: their documents, separated by commas; or their ids, if the documents are too large for one text. */
export type PageRecords =
  | { readonly docs: string; readonly ids: undefined }
  | { readonly docs: undefined; readonly ids: readonly string[] };

/** Reads the text that a statement made with `documentsOf`. */
export function pageRecordsOf(text: string | null): PageRecords {
  return text?.startsWith(TOO_LARGE)
    ? { docs: undefined, ids: text.slice(TOO_LARGE.length).split(',') }
    : { docs: text ?? '', ids: undefined };
}

/** The first record, oldest first, and the length of a page of `$1` records at offset `$2`. */
const POSITIONS = {
  asc: { position: '$2::bigint', rows: '$1::bigint' },
  desc: {
    position: 'greatest(total - $2::bigint - $1::bigint, 0)',
    rows: 'greatest(least($1::bigint, total - $2::bigint), 0)',
  },
};

/** What an order puts into the statement of a list as `:name`. */
export function orderParts(
  resource: Resource,
  sort: string,
  direction: Direction,
): Readonly<Record<string, string>> {
  const expression = orderSql(resource, sort, direction);
  // `$.` stands for the relation that has the column.
  const order = expression === undefined ? `$.id ${direction}` : `${expression}, $.id ${direction}`;
  return {
    ...POSITIONS[direction],
    search: resource.searchable.length === 0 ? '' : searchSql(resource),
    keys: expression === undefined ? '' : `, ${resource.columns.get(sort)!.name}`,
    documents: documentsOf(order.replaceAll('$.', 'record.')),
    match_order: order.replaceAll('$.', 'match.'),
    by: order.replaceAll('$.', ''),
  };
}

/** The SQL of an order by one field; `$.` stands for the relation. Records without the field are last in both directions. */
export function orderSql(resource: Resource, sort: string, direction: Direction): string | undefined {
  const column = resource.columns.get(sort);
  if (column === undefined) return undefined;
  const nulls = resource.schema.required.includes(sort) ? '' : ' nulls last';
  return `${comparable(column, '$.')} ${direction}${nulls}`;
}
