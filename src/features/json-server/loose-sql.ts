import type { Resource } from '../../collection/resource.js';
import type { Expression, Selection } from '../../list/condition.js';
import { sourceSql } from '../../list/condition-sql.js';
import type { SliceRequest } from '../../list/slice-sql.js';
import { idConditions, LEGACY_ID } from './loose-ids.js';
import type { JsonServerQuery, LooseCondition } from './loose-query.js';
import { type Builder, listOf, memberSql, ofValue, parsedSql, textSql } from './loose-value-sql.js';

/** The slice of a list that a query means, among the records of a selection. */
export function sliceOf(
  { conditions, term, sorts, start, end }: JsonServerQuery,
  selection: Selection,
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
      ...selection,
      conditions: [...selection.conditions, ...found.flatMap(({ onIds }) => onIds ?? [])],
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
