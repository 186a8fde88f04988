import { type Resource, singleReferences } from '../../collection/resource.js';
import type { Parameter } from '../../list/comparison-sql.js';
import type { Selection } from '../../list/condition.js';
import { sourceSql } from '../../list/condition-sql.js';
import { type Builder, idTexts, LEGACY_ID, listOf, memberSql, textSql, valueSql } from './loose-value-sql.js';

/** A condition on the text of a member of a document, which need not be declared. */
export interface LooseCondition {
  /** The name of the member, or names that lead to it: `author.names[0]`. */
  readonly field: string;
  readonly operator: 'eq' | 'ne' | 'gte' | 'lte' | 'like';
  /** One of them must fit; with `ne` all. */
  readonly values: readonly string[];
}

/** A query of json-server: about documents as they are, without declarations. */
export interface LooseQuery {
  readonly conditions: readonly LooseCondition[];
  /** The text, in lower case, that a value of the record contains; empty: each record matches. */
  readonly term: string;
  readonly sorts: readonly { readonly field: string; readonly isFalling: boolean }[];
  /** The first record, and the one after the last; undefined: all that follow. Negative ones count from the end. */
  readonly start: number;
  readonly end: number | undefined;
  /** The records that the conditions are about. */
  readonly selection: Selection;
}

/** A statement with its parameters, all of type text. */
export interface LooseStatement {
  readonly text: string;
  readonly args: readonly string[];
}

/** Max records of a page whose documents are read one by one. */
const MAX_LARGE_RECORDS = 10_000;

/**
 * Builds the statement of a query. It returns the number of matches and the documents of the page, if these `fit` into a
 * number of bytes; otherwise their ids, unless there are too many.
 */
export function looseStatement(
  resource: Resource,
  others: ReadonlyMap<string, Resource>,
  query: LooseQuery,
  maxBytes: number,
): LooseStatement {
  const args: string[] = [];
  const parameter: Parameter = (value, type = 'text') => `$${args.push(value)}::text::${type}`;
  const builder = { resource, others, parameter };
  const conditions = [
    ...query.conditions.map((condition) => conditionSql(builder, condition)),
    ...(query.term === '' ? [] : [termSql(builder, query.term)]),
  ];
  const order = [...query.sorts.flatMap((sort) => orderSql(builder, sort)), 'record.id'];
  const bound = (at: number) =>
    at < 0
      ? `greatest((select count(*) from _matching) + ${parameter(String(at), 'bigint')}, 0)`
      : parameter(String(at), 'bigint');
  const start = bound(query.start);
  const limit = query.end === undefined ? 'null' : `greatest(${bound(query.end)} - ${start}, 0)`;
  const source = sourceSql(resource, 'record');
  // No column of a collection has a name with an underscore at its beginning.
  const text = `with _matching as materialized (
  select record.id, row_number() over (order by ${order.join(', ')}) as _position
  from ${sourceSql(resource, 'record', query.selection, parameter)}
  cross join lateral (select record.doc::jsonb as json) as parsed
  ${conditions.length === 0 ? '' : `where ${conditions.join('\n    and ')}`}
), _page as (
  select id, _position from _matching order by _position offset ${start} limit ${limit}
), _size as (
  select coalesce(sum(octet_length(record.doc)), 0) <= ${parameter(String(maxBytes))}::bigint as fits, count(*) as records
  from _page join ${source} using (id)
)
select (select count(*) from _matching)::text as total, _size.fits, case when _size.fits then (
  select string_agg(record.doc, ',' order by _position) from _page join ${source} using (id)
) end as docs, case when not _size.fits and _size.records <= ${parameter(String(MAX_LARGE_RECORDS))}::bigint then (
  select string_agg(id::text, ',' order by _position) from _page
) end as ids
from _size`;
  return { text, args };
}

function conditionSql(builder: Builder, condition: LooseCondition): string {
  const { resource, others } = builder;
  const { field, operator, values } = condition;
  const reference = singleReferences(resource).find((each) => each.field === field);
  const isId = field === 'id';
  if ((isId || reference) && (operator === 'eq' || operator === 'ne')) {
    const list = listOf(builder, values);
    const target = reference && others.get(reference.to);
    const matches = target
      ? `exists (
      select from ${sourceSql(target, 'referred')}
      where referred.id = record.${resource.columns.get(field)!.name} and ${idTexts('referred', target)} && ${list}
    )`
      : `${idTexts('record', resource)} && ${list}`;
    const isPresent = reference ? `record.${resource.columns.get(field)!.name} is not null and ` : '';
    return operator === 'eq' ? matches : `(${isPresent}not ${matches})`;
  }
  return comparedSql(builder, condition);
}

function comparedSql(builder: Builder, { field, operator, values }: LooseCondition): string {
  const value = valueSql(builder, field);
  const text = `(${textSql(value)})`;
  if (operator === 'ne') return `${text} <> all (${listOf(builder, values)})`;
  if (operator === 'eq') {
    // json-server ignores the names of fields that no record has.
    const isKnown = `exists (
      select from ${sourceSql(builder.resource, 'any_record')}
      cross join lateral (select any_record.doc::jsonb as json) as parsed
      where ${memberSql(builder, field)} is not null
    )`;
    return `(${text} = any (${listOf(builder, values)}) or not ${isKnown})`;
  }
  const compared = values.map((each) => {
    if (operator === 'like') return `${text} ~* ${builder.parameter(each)}`;
    const sign = operator === 'gte' ? '>=' : '<=';
    const given = Number(each);
    const number = (own: string) =>
      Number.isNaN(given) ? 'false' : `${own} ${sign} ${builder.parameter(String(given), 'numeric')}`;
    return `case jsonb_typeof(${value})
      when 'null' then false
      when 'number' then ${number(`(${value})::numeric`)}
      when 'boolean' then ${number(`(${value})::boolean::integer`)}
      else ${text} collate "C" ${sign} ${builder.parameter(each)}
    end`;
  });
  return `(${compared.join(' or ')})`;
}

/** Fields that json-server's records do not have: those of the service, and references, which are ids of the service. */
function termSql(builder: Builder, term: string): string {
  const own = [
    'id',
    'created_at',
    'updated_at',
    '_version',
    ...builder.resource.references.map(({ field }) => field),
  ];
  return `exists (
      select from jsonb_path_query(parsed.json - ${listOf(builder, own)}, 'strict $.**') as member (value)
      where jsonb_typeof(value) in ('string', 'number', 'boolean') and value not in ('0', 'false')
        and strpos(lower(value #>> '{}'), ${builder.parameter(term)}) > 0
    )`;
}

/** Values before null, and null before no value; falling the other way round. Numbers as numbers, texts by code points. */
function orderSql(builder: Builder, { field, isFalling }: LooseQuery['sorts'][number]): string[] {
  const direction = isFalling ? 'desc' : 'asc';
  const value = valueSql(builder, field);
  // Ids since an import follow the ids from before, in their order.
  const ids = field === 'id' ? [`record.id ${direction}`] : [];
  if (ids.length > 0 && !builder.resource.columns.has(LEGACY_ID)) return ids;
  return [
    `case when ${value} is null then 2 when jsonb_typeof(${value}) = 'null' then 1 else 0 end ${direction}`,
    `case jsonb_typeof(${value}) when 'number' then (${value} #>> '{}')::numeric when 'boolean' then (${value} #>> '{}')::boolean::integer end ${direction}`,
    `(${textSql(value)}) collate "C" ${direction}`,
    ...ids,
  ];
}

/** Finds the id of a record by its id or the one from before an import. */
export function looseIdStatement(resource: Resource, text: string): LooseStatement {
  return {
    text: `select record.id from ${sourceSql(resource, 'record')} where ${idTexts('record', resource)} && array[$1::text] order by record.id limit 1`,
    args: [text],
  };
}
