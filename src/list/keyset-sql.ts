import { DOCUMENT_SQL, MAX_PAGE_BYTES } from '../collection/document.js';
import type { Resource } from '../collection/resource.js';
import type { Engine } from '../database-url/engine.js';
import type { Value } from '../db/db.js';
import { parametersIn } from './comparison-sql.js';
import { hasTerms } from './condition.js';
import { recordsSql, totalSql } from './condition-sql.js';
import type { KeyColumn } from './keyset.js';
import { type KeysetPart, type ListRequest, MAX_LIMIT } from './list-request.js';
import { outerOrder, rowsSql } from './ordered-rows.js';

/**
 * Reads a page from its cursor on: the documents, the keys of its first and last record, and whether there are more. It
 * skips no records, so that its cost does not depend on its place in the list. A page whose documents exceed the limit in
 * bytes ends early, after one record at least.
 */
export function keysetSql(
  resource: Resource,
  { selection, counts }: ListRequest,
  part: KeysetPart,
  engine: Engine,
): { readonly text: string; readonly args: readonly Value[] } {
  const { keyset, position, limit } = part;
  const args: Value[] = [];
  const parameter = parametersIn(args);
  const isBackward = position?.side === 'before';
  const records = recordsSql(resource, selection, parameter, engine);
  const total = counts ? `(${totalSql(resource, selection, records)})` : 'null';
  const size = parameter(String(limit), 'bigint');
  // The limit is a constant: for one that it does not know, the planner would assume a tenth of the table.
  const limits = { position, isBackward, limit: String(MAX_LIMIT + 1) };
  const scan = {
    keyset,
    records,
    isRestricted: hasTerms(selection),
    ...limits,
  };
  const rows = `select * from (${rowsSql(scan, engine, parameter)}) as record order by ${outerOrder(keyset, '', isBackward)} limit ${size} + 1`;
  return { text: `select ${total} as total, page.* from (${pageSql(rows, part, size)}) as page`, args };
}

/** The page that some rows in the order of the page are, of which the last one tells that there are more. */
function pageSql(rows: string, { keyset, position }: KeysetPart, size: string): string {
  const isBackward = position?.side === 'before';
  const keys = ['id', ...keyset.keys.map(keyText)].join(', ');
  return `select rows, has_more, docs, keys[1] as nearest, keys[rows::int] as farthest
from (
  select count(*) filter (where is_shown) as rows, coalesce(bool_or(not is_shown), false) as has_more,
    string_agg(doc, ${DOCUMENT_SQL.separator} order by position ${isBackward ? 'desc' : 'asc'}) filter (where is_shown) as docs,
    array_agg(key order by position) filter (where is_shown) as keys
  from (
    select doc, json_build_array(${keys})::text as key, position,
      position = 1 or (position <= ${size} and bytes <= ${MAX_PAGE_BYTES}) as is_shown
    from (
      select record.*, row_number() over page as position, sum(octet_length(doc)) over page as bytes
      from (${rows}) as record
      window page as (order by ${outerOrder(keyset, '', isBackward)} rows unbounded preceding)
    ) as record
  ) as record
) as page`;
}

/** A value of the order as cursors have it. */
const keyText = ({ column: { type } }: KeyColumn, at: number): string =>
  type === 'timestamptz'
    ? `to_char(key_${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
    : `key_${at}::text`;
