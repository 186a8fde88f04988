import { LARGE_DOCUMENT_BYTES, MAX_PAGE_BYTES } from '../collection/document.js';
import { comparable, RANK, type Resource } from '../collection/resource.js';
import { type Access, hides } from './condition.js';
import type { Direction, SortKey } from './read-sort.js';

/** The text in place of documents that are too large. In a page, the ids of its records follow. */
export const TOO_LARGE = '!';

type Parts = Readonly<Record<string, string>>;

/** The parts of statements that depend on the order, of one collection, if its own members have it. */
export class Orders {
  /** Orders by one key, which are few, by the direction and the field. */
  readonly #known = new Map<string, Parts>();

  constructor(readonly resource: Resource) {}

  of(sorts: readonly SortKey[], access: Access | undefined): Parts {
    if (sorts.length > 1 || access) return partsOf(this.resource, sorts, access);
    const key = `${sorts[0]!.direction} ${sorts[0]!.field}`;
    const parts = this.#known.get(key) ?? partsOf(this.resource, sorts, undefined);
    this.#known.set(key, parts);
    return parts;
  }
}

/** The first record, oldest first, and the length of a page of `$1` records at offset `$2`. */
const POSITIONS: Readonly<Record<Direction, { readonly position: string; readonly rows: string }>> = {
  asc: { position: '$2::bigint', rows: '$1::bigint' },
  desc: {
    position: 'greatest(total - $2::bigint - $1::bigint, 0)',
    rows: 'greatest(least($1::bigint, total - $2::bigint), 0)',
  },
};

/** The parts of a statement that depend on the order. */
function partsOf(resource: Resource, sorts: readonly SortKey[], access: Access | undefined): Parts {
  const keys: string[] = [];
  const columns: string[] = [];
  for (const { field, direction } of sorts) {
    // The time of creation is in the id, which is unique.
    if (field === 'created_at') break;
    const column = resource.sorts.get(field)!;
    // Records without the field are last in both directions.
    keys.push(
      `${comparable(column, '$.')} ${direction}${column.isNullable || hides(access, field) ? ' nulls last' : ''}`,
    );
    columns.push(`, record.${column.name}`);
  }
  const last = (sorts[keys.length] ?? sorts.at(-1)!).direction;
  const order = [...keys, `$.id ${last}`].join(', ');
  return {
    ...POSITIONS[sorts[0]!.direction],
    order: order.replaceAll('$.', 'record.'),
    match_order: order.replaceAll('$.', 'match.'),
    by: order.replaceAll('$.', ''),
    keys: [...new Set(columns)].join(''),
    documents: documentsOf(order.replaceAll('$.', 'record.')),
  };
}

/**
 * The documents of a page, separated by commas, or TOO_LARGE and the ids of its records. A large document never becomes part
 * of the text. `id` is SQL of what the text has of each record in place of documents.
 */
export const documentsOf = (
  order: string,
  { id = 'record.id::text', maxBytes = LARGE_DOCUMENT_BYTES } = {},
) => `case
    when max(octet_length(record.doc)) > ${maxBytes} or sum(octet_length(record.doc)) > ${MAX_PAGE_BYTES}
    then '${TOO_LARGE}' || string_agg(${id}, ',' order by ${order})
    else string_agg(record.doc, ',' order by ${order}) filter (where octet_length(record.doc) <= ${maxBytes})
  end`;

/** Of a page by relevance, the relevance of a record is a column of the page. */
export const rankedParts = (source: string): Parts => ({
  rank: `, ${RANK.name}`,
  record: `(select record.*, page.${RANK.name} from ${source} where record.id = page.id limit 1)`,
});
