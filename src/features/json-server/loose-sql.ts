import type { Resource } from '../../collection/resource.js';
import { EVERYTHING, type Expression } from '../../list/condition.js';
import { sourceSql } from '../../list/condition-sql.js';
import type { SliceRequest } from '../../list/list-request.js';
import { idConditions, LEGACY_ID, singleReferences } from './loose-ids.js';
import type { JsonServerQuery, LooseCondition } from './loose-query.js';

/** The source of records that SQL is about, in a statement that is being built. */
interface Builder {
  readonly resource: Resource;
  readonly others: ReadonlyMap<string, Resource>;
  readonly record: string;
  readonly parameter: Parameters<Expression>[1];
}

/** The document of a record as `parsed.json`. Without the offset, the planner would parse it once for each use. */
const parsedSql = (record: string) => `(select ${record}.doc::jsonb as json offset 0) as parsed`;

/** SQL about the JSON of a field, which it names `given.value`. */
const ofValue = (builder: Builder, field: string, sql: string) =>
  `(select ${sql} from (select ${valueSql(builder, field)} as value from ${parsedSql(builder.record)} offset 0) as given)`;

/** The slice of a list that a query means, among the records of a selection. */
export function sliceOf(
  { conditions, term, sorts, start, end }: JsonServerQuery,
  resource: Resource,
  others: ReadonlyMap<string, Resource>,
): SliceRequest {
  const expressed =
    (toSql: (builder: Builder) => string): Expression =>
    (record, parameter) =>
      toSql({ resource, others, record, parameter });
  const found = conditions.map((condition) => ({
    condition,
    onIds: idConditions(condition, resource, others),
  }));
  const compared = found.filter(({ onIds }) => onIds === undefined);
  const expressions = compared.map(({ condition }) =>
    expressed((builder) => comparedSql(builder, condition)),
  );
  if (term !== '') expressions.push(expressed((builder) => termSql(builder, term)));
  return {
    selection: {
      ...EVERYTHING,
      conditions: [...found.flatMap(({ onIds }) => onIds ?? [])],
      expressions,
    },
    order: sorts.map((sort) => expressed((builder) => orderSql(builder, sort))),
    start,
    end,
  };
}

function comparedSql(builder: Builder, { field, operator, values }: LooseCondition): string {
  const text = `(${textSql('given.value')})`;
  if (operator === 'ne') return ofValue(builder, field, `${text} <> all (${listOf(builder, values)})`);
  if (operator === 'eq') {
    // json-server ignores the names of fields that no record has.
    const isKnown = `exists (
      select from ${sourceSql(builder.resource, 'any_record')}
      cross join lateral ${parsedSql('any_record')}
      where ${memberSql(builder, field)} is not null
    )`;
    const isEqual = ofValue(builder, field, `${text} = any (${listOf(builder, values)})`);
    return `(${isEqual} or not ${isKnown})`;
  }
  const compared = values.map((each) => {
    if (operator === 'like') return `${text} ~* ${builder.parameter(each)}`;
    const sign = operator === 'gte' ? '>=' : '<=';
    const given = Number(each);
    const number = (own: string) =>
      Number.isNaN(given) ? 'false' : `${own} ${sign} ${builder.parameter(String(given), 'text::numeric')}`;
    return `case jsonb_typeof(given.value)
      when 'null' then false
      when 'number' then ${number('given.value::numeric')}
      when 'boolean' then ${number('given.value::boolean::integer')}
      else ${text} collate "C" ${sign} ${builder.parameter(each)}
    end`;
  });
  return ofValue(builder, field, compared.join(' or '));
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
      select from jsonb_path_query(${builder.record}.doc::jsonb - ${listOf(builder, own)}, 'strict $.**') as member (value)
      where jsonb_typeof(value) in ('string', 'number', 'boolean') and value not in ('0', 'false')
        and strpos(lower(value #>> '{}'), ${builder.parameter(term)}) > 0
    )`;
}

/** Values before null, and null before no value; falling the other way round. Numbers as numbers, texts by code points. */
function orderSql(builder: Builder, { field, isFalling }: JsonServerQuery['sorts'][number]): string {
  const direction = isFalling ? 'desc' : 'asc';
  // Ids since an import follow the ids from before, in their order.
  const ids = field === 'id' ? [`${builder.record}.id ${direction}`] : [];
  if (ids.length > 0 && !builder.resource.columns.has(LEGACY_ID)) return ids.join();
  const keys = [
    `case when given.value is null then 2 when jsonb_typeof(given.value) = 'null' then 1 else 0 end`,
    `case jsonb_typeof(given.value) when 'number' then (given.value #>> '{}')::numeric when 'boolean' then (given.value #>> '{}')::boolean::integer end`,
    `(${textSql('given.value')})`,
  ].map((key, at) => `${ofValue(builder, field, key)}${at === 2 ? ' collate "C"' : ''} ${direction}`);
  return [...keys, ...ids].join(', ');
}

/** Texts as an array. */
const listOf = ({ parameter }: Builder, values: readonly string[]) =>
  `array(select jsonb_array_elements_text(${parameter(JSON.stringify(values))}::jsonb))`;

/** The JSON of a member. json-server reads `a.b` as the name of a member, if there is one, before it reads it as a path. */
function memberSql(builder: Builder, field: string): string {
  const names = field.split(/[.[\]]+/).filter((each) => each !== '');
  const path = `parsed.json #> ${listOf(builder, names)}`;
  if (names[0] === field) return `(${path})`;
  return `coalesce(parsed.json -> ${builder.parameter(field)}, ${path})`;
}

/** The JSON of a field as json-server's records have it: ids from before an import, also in references. */
function valueSql(builder: Builder, field: string): string {
  const { resource, others } = builder;
  if (field === 'id' && resource.columns.has(LEGACY_ID)) return memberSql(builder, LEGACY_ID);
  const target = others.get(singleReferences(resource).find((each) => each.field === field)?.to ?? '');
  const legacy = target?.columns.get(LEGACY_ID);
  if (!target || !legacy) return memberSql(builder, field);
  return `(
      select coalesce(to_jsonb(referred.${legacy.name}), to_jsonb(referred.id))
      from ${sourceSql(target, 'referred')} where referred.id = ${builder.record}.${resource.columns.get(field)!.name}
    )`;
}

/** The text that JavaScript makes of a value. */
const textSql = (value: string) => `case jsonb_typeof(${value})
      when 'object' then '[object Object]'
      when 'array' then (
        select coalesce(string_agg(coalesce(_element #>> '{}', ''), ',' order by _position), '')
        from jsonb_path_query(${value}, 'strict $[*].** ? (@.type() != "array")') with ordinality as elements (_element, _position)
      )
      else ${value} #>> '{}'
    end`;
