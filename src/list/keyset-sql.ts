import { DOCUMENT_SQL, MAX_PAGE_BYTES } from '../collection/document.js';
import { comparable, type Resource } from '../collection/resource.js';
import type { Value } from '../db/db.js';
import type { Engine } from '../db/engine.js';
import { type Parameter, parametersIn } from './comparison-sql.js';
import { isRestricted, recordsSql, totalSql } from './condition-sql.js';
import type { KeyColumn, Keyset, Position } from './keyset.js';
import { type KeysetPart, type ListRequest, MAX_LIMIT } from './list-request.js';
import type { Direction } from './order.js';

/**
 * Reads a page from its cursor on: the documents, the keys of its first and last record, and whether there are more. It
 * skips no records, so that its cost does not depend on its place in the list. A page whose documents exceed the limit in
 * bytes ends early, after one record at least.
 */
export function keysetSql(
  resource: Resource,
  { selection, counts }: ListRequest,
  { keyset, position, limit }: KeysetPart,
  engine: Engine,
): { readonly text: string; readonly args: readonly Value[] } {
  const args: Value[] = [];
  const parameter = parametersIn(args);
  const isBackward = position?.side === 'before';
  const records = recordsSql(resource, selection, parameter, engine);
  const size = parameter(String(limit), 'bigint');
  const rows = rowsSql(
    keyset,
    { isBackward, records, hasConditions: isRestricted({ ...selection, access: undefined }), size, position },
    parameter,
  );
  const keys = ['id', ...keyset.keys.map((_, index) => `key_${index}::text`)].join(', ');
  const text = `select ${counts ? `(${totalSql(resource, selection, records)})` : 'null'} as total, rows, has_more, docs,
  keys[1] as nearest, keys[rows::int] as farthest
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
      window page as (order by ${outerOrder(keyset, isBackward)} rows unbounded preceding)
    ) as record
  ) as record
) as page`;
  return { text, args };
}

interface Scan {
  readonly isBackward: boolean;
  /** The source of the records. */
  readonly records: string;
  /** Whether the source has conditions. */
  readonly hasConditions: boolean;
  /** SQL of the number of records; one more is read. */
  readonly size: string;
  readonly position: Position | undefined;
}

/**
 * The first records on one side of a position. An index serves a comparison of one column, or of the last one with the id,
 * but no alternatives. So each alternative is a query of its own that reads a page, and the first of all of these follow.
 * Its limit is a constant: for one that it does not know, the planner would assume a tenth of the table.
 */
function rowsSql(
  keyset: Keyset,
  { isBackward, records, hasConditions, size, position }: Scan,
  parameter: Parameter,
): string {
  const columns = keyset.keys.map(({ column }, at) => `, ${comparable(column, 'record.')} as key_${at}`);
  const order = innerOrder(keyset, isBackward);
  const queries = alternatives(keyset, position, parameter).map((terms) => {
    const more = terms.length === 0 ? '' : ` ${hasConditions ? 'and' : 'where'} ${terms.join(' and ')}`;
    return `select record.id, record.doc${columns.join('')} from ${records}${more} order by ${order} limit ${MAX_LIMIT + 1}`;
  });
  const union = queries.map((query) => `(${query})`).join('\nunion all ');
  return `select * from (${union}) as record order by ${outerOrder(keyset, isBackward)} limit ${size} + 1`;
}

/** The conditions of the records on one side of a position: those of each query are combined by "and". */
function alternatives(
  { keys, direction }: Keyset,
  position: Position | undefined,
  parameter: Parameter,
): (readonly string[])[] {
  if (!position) return [[]];
  const isBackward = position.side === 'before';
  const equal = position.isInclusive ? '=' : '';
  const id = parameter(position.id, 'uuid');
  const found: (readonly string[])[] = [];
  const same: string[] = [];
  for (const [at, { column, direction: order, isNullable }] of keys.entries()) {
    const name = comparable(column, 'record.');
    const value = position.values[at] ?? null;
    if (value === null) {
      if (isBackward) found.push([...same, `${name} is not null`]);
      same.push(`${name} is null`);
      continue;
    }
    const given = parameter(value, column.type === 'boolean' ? 'text::boolean' : column.type);
    if (isNullable && !isBackward) found.push([...same, `${name} is null`]);
    if (at === keys.length - 1 && order === direction)
      return [
        ...found,
        [...same, `(${name}, record.id) ${signOf(order, isBackward)}${equal} (${given}, ${id})`],
      ];
    found.push([...same, `${name} ${signOf(order, isBackward)} ${given}`]);
    same.push(`${name} = ${given}`);
  }
  return [...found, [...same, `record.id ${signOf(direction, isBackward)}${equal} ${id}`]];
}

const signOf = (direction: Direction, isBackward: boolean) =>
  (direction === 'asc') === isBackward ? '<' : '>';

const innerOrder = (keyset: Keyset, isBackward: boolean): string =>
  orderOf(keyset, isBackward, ({ column }) => comparable(column, 'record.'), 'record.id');

const outerOrder = (keyset: Keyset, isBackward: boolean): string =>
  orderOf(keyset, isBackward, (_, at) => `key_${at}`, 'id');

function orderOf(
  { keys, direction }: Keyset,
  isBackward: boolean,
  nameOf: (key: KeyColumn, at: number) => string,
  id: string,
): string {
  const turned = (each: Direction): Direction => ((each === 'asc') === isBackward ? 'desc' : 'asc');
  const nulls = isBackward ? ' nulls first' : ' nulls last';
  const terms = keys.map(
    (key, at) => `${nameOf(key, at)} ${turned(key.direction)}${key.isNullable ? nulls : ''}`,
  );
  return [...terms, `${id} ${turned(direction)}`].join(', ');
}
