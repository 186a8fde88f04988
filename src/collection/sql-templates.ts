import { fill, readStatements } from '../db/statements.js';
import { nameStatement } from '../telemetry/wait-tracking.js';
import type { Resource } from './resource.js';
import { rulesOf } from './rules.js';

/** Which records a list holds, and in which order. */
export interface Selection {
  readonly sort: string;
  readonly order: 'asc' | 'desc';
  readonly search: string;
  /** The parent's id, when the list is nested. */
  readonly parent?: string;
}

interface Narrowed {
  readonly kind:
    | ''
    | '_counted'
    | '_deep'
    | '_of_parent'
    | '_matching'
    | '_matching_common'
    | '_matching_short';
  /** What a page statement takes after limit and offset, and a stream statement by name. */
  readonly settings: Readonly<Record<string, string>>;
  /** It costs as much as what it finds or skips, which may be a lot. */
  readonly long: boolean;
}

/** Bytes of a document that is read by itself, and not together with others. */
export const LARGE_DOCUMENT_BYTES = 65_536;
/** Bytes of the documents of a page that is put together in memory. One with more, or with a large document, is streamed. */
export const MAX_PAGE_BYTES = 1_048_576;
/** What a page statement gives instead of the documents of a page that is to be streamed. */
export const STREAMED = '!';

/** Where a page ends that is read from the beginning on: what is before it is cheaper to skip than to look up. */
const SHALLOW = 500;

/**
 * Which statement a selection needs, for a page that ends at a place or for the whole list: trigrams serve a term that
 * has three letters or digits in a row. `isCommon` tells whether many records are known to match.
 */
export function narrow({ parent, search, sort }: Selection, end = 0, isCommon = false): Narrowed {
  if (parent !== undefined) return { kind: '_of_parent', settings: { 'plinth.parent': parent }, long: false };
  if (search === '') {
    if (end <= SHALLOW) return { kind: '', settings: {}, long: false };
    const counted = sort === 'created_at';
    return { kind: counted ? '_counted' : '_deep', settings: {}, long: !counted };
  }
  return /[\p{L}\p{N}]{3}/u.test(search)
    ? {
        kind: isCommon && end <= SHALLOW ? '_matching_common' : '_matching',
        settings: { 'plinth.pattern': `%${search.replace(/[\\%_]/g, '\\$&')}%` },
        long: true,
      }
    : { kind: '_matching_short', settings: { 'plinth.term': search }, long: true };
}

/** Statements that only a collection below a parent has. */
const OF_PARENTS: ReadonlySet<string> = new Set(['owned', 'lock_owned']);

/** Every statement of the collection, `page` and `stream` once for each order: `page:name:asc`. */
export function compileStatements(resource: Resource, tombstones = false): ReadonlyMap<string, string> {
  const columns = Object.values(resource.columns);
  const parts = {
    table: resource.name,
    rules: String(rulesOf(resource)),
    shallow: String(SHALLOW),
    document: `case when octet_length(doc) > ${LARGE_DOCUMENT_BYTES} then ${LARGE_DOCUMENT} else doc end`,
    bounds: '',
    columns: columns.map((column) => `, ${column}`).join(''),
    record: `(select * from ${resource.name} as record where record.id = page.id limit 1)`,
    assigned: columns.map((column) => `, ${column} = record.${column}`).join(''),
    unique: Object.values(resource.unique ?? {})
      .map(({ field }) => `${resource.columns[field]}, `)
      .join(''),
    values: columns.map((_, index) => `, $${index + 4}`).join(''),
    changes: columns.map((column, index) => `,\n    ${column} = $${index + 7}`).join(''),
    buried_many: tombstones
      ? `\n  union all select '{"id":"' || id || '"}' from tombstones where id = any ($1::uuid[])`
      : '',
    amended: columns.map((column, index) => `,\n  ${column} = coalesce($${index + 7}, ${column})`).join(''),
    parent: parentColumn(resource),
    buried: tombstones ? '\nunion all select 0, null from tombstones where id = $1' : '',
  };
  const compiled = new Map<string, string>();
  for (const [name, template] of readStatements('collection.sql')) {
    const kind = /^(?:page|stream)(.*)$/.exec(name)?.[1];
    if (kind === undefined) {
      if (resource.parent || !OF_PARENTS.has(name)) compiled.set(name, fill(template, parts));
    } else if (applies(kind, resource)) {
      for (const [key, order] of ordersOf(kind, resource)) {
        compiled.set(`${name}:${key}`, fill(template, { ...parts, ...order }));
        if (name.startsWith('stream'))
          compiled.set(`bounded_${name}:${key}`, fill(template, { ...parts, ...order, bounds: BOUNDS }));
      }
    }
  }
  for (const [name, text] of compiled) nameStatement(text, `${name.replace(/:.*/, '')} ${resource.name}`);
  return compiled;
}

/** What stands for a large document among others: its id and its length in bytes. */
const LARGE_DOCUMENT = `'{"id":"' || id || '",' || octet_length(doc)`;

/** What makes a page of a stream. */
const BOUNDS = `
  limit current_setting('plinth.limit')::bigint
  offset current_setting('plinth.offset')::bigint`;

/** The documents of a page, or STREAMED; a large document never becomes part of the text. */
const documentsOf = (order: string) => `case
    when max(octet_length(record.doc)) > ${LARGE_DOCUMENT_BYTES} or sum(octet_length(record.doc)) > ${MAX_PAGE_BYTES}
    then '${STREAMED}'
    else string_agg(record.doc, ',' order by ${order}) filter (where octet_length(record.doc) <= ${LARGE_DOCUMENT_BYTES})
  end`;

function applies(kind: string, resource: Resource): boolean {
  if (kind === '_of_parent') return resource.parent !== undefined;
  return kind === '' || kind === '_counted' || kind === '_deep' || resource.searchable !== undefined;
}

/** Where a page of `$1` records at offset `$2` is, oldest first. */
const PLACES = {
  asc: { position: '$2::bigint', rows: '$1::bigint' },
  desc: {
    position: 'greatest(total - $2::bigint - $1::bigint, 0)',
    rows: 'greatest(least($1::bigint, total - $2::bigint), 0)',
  },
};

function parentColumn({ columns, parent }: Resource): string {
  return columns[parent?.field ?? ''] ?? '';
}

/** `$.` in an order stands for the relation that holds the column at that place of the statement. */
function ordersOf(kind: string, resource: Resource): [key: string, parts: Record<string, string>][] {
  const parts = {
    search: `lower(${resource.columns[resource.searchable ?? '']})`,
    parent: parentColumn(resource),
  };
  const byCreation = kind === '_deep' ? [] : ['created_at'];
  const others = kind === '_counted' ? [] : Object.keys(resource.sortable);
  return [...byCreation, ...others].flatMap((sort) =>
    (['asc', 'desc'] as const).map((direction): [string, Record<string, string>] => {
      const expression = resource.sortable[sort]?.[direction];
      const order = expression === undefined ? `$.id ${direction}` : `${expression}, $.id ${direction}`;
      const orders = {
        ...PLACES[direction],
        keys: expression === undefined ? '' : `, ${resource.columns[sort]}`,
        order: order.replaceAll('$.', ''),
        documents: documentsOf(order.replaceAll('$.', 'record.')),
        match_order: order.replaceAll('$.', 'match.'),
      };
      return [`${sort}:${direction}`, { ...parts, ...orders }];
    }),
  );
}
