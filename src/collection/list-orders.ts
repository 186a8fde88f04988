import { LARGE_DOCUMENT_BYTES } from './document.js';
import type { Resource } from './resource.js';

export type Direction = 'asc' | 'desc';

/** How a list is restricted, which decides its statement. */
export type ListKind = 'all' | 'counted' | 'deep' | 'of_parent' | 'matching' | 'matching_short';

/** Bytes of the documents of a page that is built in memory. A larger one, or one with a large document, is streamed. */
export const MAX_PAGE_BYTES = 1_048_576;
/** What a page's statement returns instead of documents that are to be streamed. */
export const STREAMED = '!';

/** The documents of a page, or STREAMED. A large document never becomes part of the text. */
const documentsOf = (order: string) => `case
    when max(octet_length(record.doc)) > ${LARGE_DOCUMENT_BYTES} or sum(octet_length(record.doc)) > ${MAX_PAGE_BYTES}
    then '${STREAMED}'
    else string_agg(record.doc, ',' order by ${order}) filter (where octet_length(record.doc) <= ${LARGE_DOCUMENT_BYTES})
  end`;

/** The first record, oldest first, and the length of a page of `$1` records at offset `$2`. */
const POSITIONS = {
  asc: { position: '$2::bigint', rows: '$1::bigint' },
  desc: {
    position: 'greatest(total - $2::bigint - $1::bigint, 0)',
    rows: 'greatest(least($1::bigint, total - $2::bigint), 0)',
  },
};

type OrderParts = { readonly sort: string; readonly order: Direction } & Readonly<Record<string, string>>;

/** The orders of a list, with what they put into its statement as `:name`. */
export function* ordersOf(kind: ListKind, resource: Resource): Generator<OrderParts> {
  const byCreation = kind === 'deep' ? [] : ['created_at'];
  const others = kind === 'counted' ? [] : Object.keys(resource.sortable);
  for (const sort of [...byCreation, ...others])
    for (const direction of ['asc', 'desc'] as const) {
      const expression = resource.sortable[sort]?.[direction];
      // `$.` stands for the relation that has the column.
      const order = expression === undefined ? `$.id ${direction}` : `${expression}, $.id ${direction}`;
      yield {
        ...POSITIONS[direction],
        search: `lower(${resource.columns[resource.searchable ?? '']})`,
        keys: expression === undefined ? '' : `, ${resource.columns[sort]}`,
        documents: documentsOf(order.replaceAll('$.', 'record.')),
        match_order: order.replaceAll('$.', 'match.'),
        sort,
        order: direction,
        by: order.replaceAll('$.', ''),
      };
    }
}
