import { comparable, type Resource, searchSql } from '../collection/resource.js';
import type { Selection } from '../collection/sql-templates.js';
import type { Value } from '../db/db.js';
import type { Engine } from '../db/engine.js';
import type { ExtendedQuery, SortKey } from './extended-query.js';
import type { Condition } from './filter.js';
import { documentsOf, MAX_PAGE_BYTES, orderSql, TOO_LARGE } from './list-orders.js';

/** A statement with its parameters. Names in it come from the declaration, values are parameters. */
export interface QueryStatement {
  readonly text: string;
  readonly args: readonly Value[];
}

/** Reads a page, and counts what matches unless the query says otherwise. */
export function pageSql(
  resource: Resource,
  query: ExtendedQuery,
  selection: Selection,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): QueryStatement {
  const args: Value[] = [];
  const where = whereSql(resource, query.conditions, selection, parametersIn(args));
  const order = orderOf(resource, sortsOf(query, selection));
  const total =
    query.count === 'none' ? 'null' : `(select count(*) from ${resource.table} as record${where})`;
  const bounds = `limit $${args.length + 1}::bigint offset $${args.length + 2}::bigint`;
  const text = `select ${total} as total, count(*) as rows, ${documentsOf(order)} as docs
from (select record.* from ${resource.table} as record${where} order by ${order} ${bounds}) as record`;
  return { text, args: [...args, limit, offset] };
}

/** Reads the documents of all that a query selects, by COPY. It takes no parameters: the values are settings. */
export function streamSql(
  resource: Resource,
  query: ExtendedQuery,
  selection: Selection,
  engine: Engine,
): { readonly text: string; readonly settings: Readonly<Record<string, string>> } {
  const settings: Record<string, string> = {};
  const setting: Parameter = (value, type = 'text') => {
    const name = `plinth.value_${Object.keys(settings).length + 1}`;
    settings[name] = value;
    const place = Object.keys(settings).length;
    return engine === 'citus' ? `($1)[${place}]::${type}` : `current_setting('${name}')::${type}`;
  };
  const where = whereSql(resource, query.conditions, selection, setting);
  const order = orderOf(resource, sortsOf(query, selection));
  const rows = `select record.doc from ${resource.table} as record${where} order by ${order}`;
  if (engine === 'postgresql') return { text: `copy (${rows}) to stdout (format binary)`, settings };
  const values = Object.keys(settings).map((name) => `current_setting('${name}')`);
  const call = `distributed_rows($sql$${rows}$sql$, array[${values.join(', ')}]::text[])`;
  return { text: `copy (select ${call}) to stdout (format binary)`, settings };
}

/** Reads the ids of what matches, up to a limit, in the order in which they are to be locked. */
export function idsSql(
  resource: Resource,
  conditions: readonly Condition[],
  selection: Selection,
  limit: number,
): QueryStatement {
  const args: Value[] = [];
  const where = whereSql(resource, conditions, selection, parametersIn(args));
  const text = `select id::text from ${resource.table} as record${where} order by id limit $${args.length + 1}::bigint`;
  return { text, args: [...args, limit] };
}

/**
 * Reads the records that refer to some, up to `limit` each: `parent`, and the documents as `docs`. Instead of documents of more
 * than MAX_PAGE_BYTES, which it does not read, it returns TOO_LARGE.
 */
export function referringSql(
  { name, table }: Resource,
  column: string,
  ids: readonly string[],
  limit: number,
  engine: Engine,
): QueryStatement {
  const args = [`{${ids.join(',')}}`, limit];
  if (engine === 'citus') {
    const bounds = `${MAX_PAGE_BYTES}, '${TOO_LARGE}'`;
    const text = `select parent, docs from bounded_referring('${name}', '${column}', $1, $2, ${bounds})`;
    return { text, args };
  }
  const text = `with _found as materialized (
  select given.id as parent, record.id, record.bytes
  from unnest($1::uuid[]) as given (id), lateral (
    select referring.id, octet_length(referring.doc) as bytes from ${table} as referring
    where referring.${column} = given.id order by referring.id limit $2::bigint
  ) as record
), _total as materialized (
  select sum(bytes) > ${MAX_PAGE_BYTES} as exceeds from _found
)
select null as parent, '${TOO_LARGE}' as docs from _total where exceeds
union all
select _found.parent::text, string_agg(record.doc, ',' order by record.id)
from _found join ${table} as record on record.id = _found.id
where not (select exceeds from _total)
group by _found.parent`;
  return { text, args };
}

function sortsOf({ sorts }: ExtendedQuery, { sort, order }: Selection): readonly SortKey[] {
  return sorts ?? [{ field: sort, direction: order }];
}

function orderOf(resource: Resource, sorts: readonly SortKey[]): string {
  const keys = sorts.map(
    ({ field, direction }) => orderSql(resource, field, direction) ?? `$.id ${direction}`,
  );
  const last = sorts.at(-1)!;
  const isUnique = sorts.some(({ field }) => field === 'created_at');
  return [...keys, ...(isUnique ? [] : [`$.id ${last.direction}`])].join(', ').replaceAll('$.', 'record.');
}

/** Adds a value to a statement, and returns the expression for it. */
export type Parameter = (value: string, type?: string) => string;

export function parametersIn(args: Value[]): Parameter {
  return (value, type = 'text') => {
    args.push(value);
    return `$${args.length}::${type}`;
  };
}

export function whereSql(
  resource: Resource,
  conditions: readonly Condition[],
  { parent, search }: Selection,
  parameter: Parameter,
): string {
  const terms = conditions.map((condition) => termOf(resource, condition, parameter));
  if (parent !== undefined)
    terms.push(`${resource.columns.get(resource.parent!.field)!.name} = ${parameter(parent, 'uuid')}`);
  const matches = search.map(
    (term) => `${searchSql(resource)} like lower(${parameter(`%${escaped(term)}%`)})`,
  );
  if (matches.length > 0) terms.push(`(${matches.join(' or ')})`);
  return terms.length === 0 ? '' : ` where ${terms.join(' and ')}`;
}

const SIGNS = { eq: '=', ne: '<>', lt: '<', lte: '<=', gt: '>', gte: '>=' };

function termOf(resource: Resource, { column, operator, values }: Condition, parameter: Parameter): string {
  const { name, type } = column;
  const element = type.replace('[]', '');
  const [value = ''] = values;
  switch (operator) {
    case 'null':
      return `${name} is ${value === 'true' ? '' : 'not '}null`;
    case 'in':
      return `${comparable(column)} = any (array(select element::${element} from json_array_elements_text(${parameter(JSON.stringify(values))}::json) as element))`;
    case 'has':
      return `${name} @> array[${parameter(value, element)}]`;
    case 'prefix': {
      // A range, which the index of the order serves. U+10FFFF follows every other character.
      const from = parameter(value);
      return `${comparable(column)} >= ${from} and ${comparable(column)} <= ${from} || chr(1114111)`;
    }
    case 'contains': {
      // The first part is what the index of the search has; the second is about this field alone.
      const pattern = `lower(${parameter(`%${escaped(value)}%`)})`;
      const own = `lower(${name}) like ${pattern}`;
      return resource.searchable.length === 1 ? own : `${searchSql(resource)} like ${pattern} and ${own}`;
    }
    default:
      // The driver would read a boolean parameter as a JavaScript value.
      return `${comparable(column)} ${SIGNS[operator]} ${parameter(value, element === 'boolean' ? 'text::boolean' : element)}`;
  }
}

const escaped = (text: string) => text.replace(/[\\%_]/g, '\\$&');
