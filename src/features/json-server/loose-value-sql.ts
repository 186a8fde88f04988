import { type Resource, singleReferences } from '../../collection/resource.js';
import type { Parameter } from '../../list/comparison-sql.js';
import { sourceSql } from '../../list/condition-sql.js';

export const LEGACY_ID = 'legacy_id';

/** A statement that is being built. */
export interface Builder {
  readonly resource: Resource;
  readonly others: ReadonlyMap<string, Resource>;
  readonly parameter: Parameter;
}

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

/** Texts by which a record is known: its id and the one from before an import. */
export const idTexts = (relation: string, { columns }: Resource): string => {
  const legacy = columns.get(LEGACY_ID);
  return legacy
    ? `array[${relation}.id::text, ${relation}.${legacy.name}::text]`
    : `array[${relation}.id::text]`;
};

/** The JSON of a field as json-server's records have it: ids from before an import, also in references. */
export function valueSql(builder: Builder, field: string): string {
  const { resource, others } = builder;
  if (field === 'id' && resource.columns.has(LEGACY_ID)) return memberSql(builder, LEGACY_ID);
  const target = others.get(singleReferences(resource).find((each) => each.field === field)?.to ?? '');
  const legacy = target?.columns.get(LEGACY_ID);
  if (!target || !legacy) return memberSql(builder, field);
  return `(
      select coalesce(to_jsonb(referred.${legacy.name}), to_jsonb(referred.id))
      from ${sourceSql(target, 'referred')} where referred.id = record.${resource.columns.get(field)!.name}
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
