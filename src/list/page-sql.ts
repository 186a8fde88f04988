import { DOCUMENT_SQL, LARGE_DOCUMENT_BYTES, MAX_PAGE_BYTES } from '../collection/document.js';
import { RANK } from '../collection/resource.js';
import { isBackward, type KeyColumn, type Keyset, type Position } from './keyset.js';
import { outerOrder, wholeOrder } from './ordered-rows.js';

/** The text in place of documents that are too large. In a page, the ids of its records follow. */
export const TOO_LARGE = '!';

type Parts = Readonly<Record<string, string>>;

/** The parts of named statements that depend on the order, if the records of the list have its columns. */
export function orderParts(keyset: Keyset): Parts {
  const order = wholeOrder(keyset);
  const isFalling = keyset.direction === 'desc';
  return {
    // The first record, oldest first, and the length of a page of `$1` records at offset `$2`.
    position: isFalling ? 'greatest(total - $2::bigint - $1::bigint, 0)' : '$2::bigint',
    rows: isFalling ? 'greatest(least($1::bigint, total - $2::bigint), 0)' : '$1::bigint',
    order,
    match_order: wholeOrder(keyset, 'match.'),
    by: wholeOrder(keyset, ''),
    keys: keyset.keys.map(({ column }) => `, record.${column.name}`).join(''),
    documents: documentsOf(order),
  };
}

/** Of a page by relevance, the relevance of a record is a column of the page. */
export const rankedParts = (source: string): Parts => ({
  rank: `, ${RANK.name}`,
  record: `(select record.*, page.${RANK.name} from ${source} where record.id = page.id limit 1)`,
});

/**
 * The documents of a page as one text, or TOO_LARGE and the ids of its records. A large document never becomes part
 * of the text. `id` is SQL of what the text has of each record in place of documents.
 */
export const documentsOf = (
  order: string,
  { id = 'record.id::text', maxBytes = LARGE_DOCUMENT_BYTES } = {},
) => `case
    when max(octet_length(record.doc)) > ${maxBytes} or sum(octet_length(record.doc)) > ${MAX_PAGE_BYTES}
    then '${TOO_LARGE}' || string_agg(${id}, ',' order by ${order})
    else string_agg(record.doc, ${DOCUMENT_SQL.separator} order by ${order}) filter (where octet_length(record.doc) <= ${maxBytes})
  end`;

/**
 * The page between cursors that some rows in its order are, of which the last one says that there are more: the documents, the keys
 * of its first and last record, and whether there are more. A page whose documents exceed the limit in bytes ends early, after one
 * record at least.
 */
export function cursorPage(
  rows: string,
  keyset: Keyset,
  position: Position | undefined,
  size: string,
): string {
  const isTurned = isBackward(position);
  const keys = ['id', ...keyset.keys.map(keyText)].join(', ');
  return `select rows, has_more, docs, keys[1] as nearest, keys[rows::int] as farthest
from (
  select count(*) filter (where is_shown) as rows, coalesce(bool_or(not is_shown), false) as has_more,
    string_agg(doc, ${DOCUMENT_SQL.separator} order by position ${isTurned ? 'desc' : 'asc'}) filter (where is_shown) as docs,
    array_agg(key order by position) filter (where is_shown) as keys
  from (
    select doc, json_build_array(${keys})::text as key, position,
      position = 1 or (position <= ${size} and bytes <= ${MAX_PAGE_BYTES}) as is_shown
    from (
      select record.*, row_number() over page as position, sum(octet_length(doc)) over page as bytes
      from ${rows}
      window page as (order by ${outerOrder(keyset, '', isTurned)} rows unbounded preceding)
    ) as record
  ) as record
) as page`;
}

/** A value of the order as cursors have it. */
const keyText = ({ column: { type } }: KeyColumn, at: number): string =>
  type === 'timestamptz'
    ? `to_char(key_${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
    : `key_${at}::text`;
