import type { Resource } from '../../collection/resource.js';
import type { Parameter } from '../../list/comparison-sql.js';
import type { Selection } from '../../list/condition.js';
import { sourceSql } from '../../list/condition-sql.js';

/** A condition on the text of a member of a document, which need not be declared. */
export interface LooseCondition {
  /** The names of the members that lead to the value. */
  readonly path: readonly string[];
  readonly operator: 'eq' | 'ne' | 'gte' | 'lte' | 'like';
  /** One of them must fit; with `ne` all. */
  readonly values: readonly string[];
}

/** A query of json-server: about documents as they are, without declarations. */
export interface LooseQuery {
  readonly conditions: readonly LooseCondition[];
  /** The text, in lower case, that a value of the record contains; empty: each record matches. */
  readonly term: string;
  readonly sorts: readonly { readonly path: readonly string[]; readonly isFalling: boolean }[];
  readonly offset: number;
  /** Undefined: all that follow. */
  readonly limit: number | undefined;
  /** The records that the conditions are about. */
  readonly selection: Selection;
}

/** A statement with its parameters, all of type text. */
export interface LooseStatement {
  readonly text: string;
  readonly args: readonly string[];
}

const LEGACY_ID = 'legacy_id';
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
  const page = `offset ${parameter(String(query.offset))}::bigint limit ${
    query.limit === undefined ? 'null' : `${parameter(String(query.limit))}::bigint`
  }`;
  const source = sourceSql(resource, 'record');
  // No column of a collection has a name with an underscore at its beginning.
  const text = `with _matching as materialized (
  select record.id, row_number() over (order by ${order.join(', ')}) as _position
  from ${sourceSql(resource, 'record', query.selection, parameter)}
  cross join lateral (select record.doc::jsonb as json) as parsed
  ${conditions.length === 0 ? '' : `where ${conditions.join('\n    and ')}`}
), _page as (
  select id, _position from _matching order by _position ${page}
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

interface Builder {
  readonly resource: Resource;
  readonly others: ReadonlyMap<string, Resource>;
  readonly parameter: Parameter;
}

const listOf = ({ parameter }: Builder, values: readonly string[]) =>
  `array(select jsonb_array_elements_text(${parameter(JSON.stringify(values))}::jsonb))`;

const pathOf = (builder: Builder, path: readonly string[]) => `(parsed.json #> ${listOf(builder, path)})`;

/** Texts by which a record is known: its id and the one from before an import. */
const idTexts = (relation: string, { columns }: Resource): string => {
  const legacy = columns.get(LEGACY_ID);
  return legacy
    ? `array[${relation}.id::text, ${relation}.${legacy.name}::text]`
    : `array[${relation}.id::text]`;
};

function conditionSql(builder: Builder, { path, operator, values }: LooseCondition): string {
  const { resource, others } = builder;
  const [field = ''] = path;
  const reference = path.length === 1 ? resource.references.find((each) => each.field === field) : undefined;
  const isId = path.length === 1 && field === 'id';
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
  const legacy = isId && resource.columns.has(LEGACY_ID) ? [LEGACY_ID] : path;
  return valueSql(builder, { path: legacy, operator, values });
}

function valueSql(builder: Builder, { path, operator, values }: LooseCondition): string {
  const value = pathOf(builder, path);
  const text = `(${value} #>> '{}')`;
  if (operator === 'ne') return `${text} <> all (${listOf(builder, values)})`;
  if (operator === 'eq') {
    // json-server ignores the names of fields that no record has.
    const isKnown = `exists (select from ${sourceSql(builder.resource, 'any_record')} where any_record.doc::jsonb #> ${listOf(builder, path)} is not null)`;
    return `(${text} = any (${listOf(builder, values)}) or not ${isKnown})`;
  }
  const compared = values.map((each) => {
    if (operator === 'like') return `${text} ~* ${builder.parameter(each)}`;
    const sign = operator === 'gte' ? '>=' : '<=';
    const isNumber = each.trim() !== '' && Number.isFinite(Number(each));
    const number = isNumber
      ? `(${text})::numeric ${sign} ${builder.parameter(String(Number(each)))}::numeric`
      : 'false';
    return `case jsonb_typeof(${value})
      when 'number' then ${number}
      when 'string' then ${text} collate "C" ${sign} ${builder.parameter(each)}
      else false
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
function orderSql(builder: Builder, { path, isFalling }: LooseQuery['sorts'][number]): string[] {
  const isId = path.length === 1 && path[0] === 'id';
  const direction = isFalling ? 'desc' : 'asc';
  if (isId && !builder.resource.columns.has(LEGACY_ID)) return [`record.id ${direction}`];
  const value = pathOf(builder, isId ? [LEGACY_ID] : path);
  return [
    `case when ${value} is null then 2 when jsonb_typeof(${value}) = 'null' then 1 else 0 end ${direction}`,
    `case jsonb_typeof(${value}) when 'number' then (${value} #>> '{}')::numeric when 'boolean' then (${value} #>> '{}')::boolean::integer end ${direction}`,
    `(${value} #>> '{}') collate "C" ${direction}`,
  ];
}

/** Finds the id of a record by its id or the one from before an import. */
export function looseIdStatement(resource: Resource, text: string): LooseStatement {
  return {
    text: `select record.id from ${sourceSql(resource, 'record')} where ${idTexts('record', resource)} && array[$1::text] order by record.id limit 1`,
    args: [text],
  };
}
