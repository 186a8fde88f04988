import { type Resource, singleReferences } from '../../collection/resource.js';
import type { Parameter } from '../../list/comparison-sql.js';
import { sourceSql } from '../../list/condition-sql.js';
import { LEGACY_ID } from './loose-ids.js';

/** The source of records that SQL is about, in a statement that is being built. */
export interface Builder {
  readonly resource: Resource;
  readonly others: ReadonlyMap<string, Resource>;
  readonly record: string;
  readonly parameter: Parameter;
}

/** The document of a record as `parsed.json`. Without the offset, the planner would parse it once for each use. */
export const parsedSql = (record: string) => `(select ${record}.doc::jsonb as json offset 0) as parsed`;

/** SQL about the JSON of a field, which it names `given.value`. */
export const ofValue = (builder: Builder, field: string, sql: string) =>
  `(select ${sql} from (select ${valueSql(builder, field)} as value from ${parsedSql(builder.record)} offset 0) as given)`;

/** Texts as an array. */
export const listOf = ({ parameter }: Builder, values: readonly string[]) =>
  `array(select jsonb_array_elements_text(${parameter(JSON.stringify(values))}::jsonb))`;

/** The JSON of a member. json-server reads `a.b` as the name of a member, if there is one, before it reads it as a path. */
export function memberSql(builder: Builder, field: string): string {
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
export const textSql = (value: string) => `case jsonb_typeof(${value})
      when 'object' then '[object Object]'
      when 'array' then (
        select coalesce(string_agg(coalesce(_element #>> '{}', ''), ',' order by _position), '')
        from jsonb_path_query(${value}, 'strict $[*].** ? (@.type() != "array")') with ordinality as elements (_element, _position)
      )
      else ${value} #>> '{}'
    end`;
