import type { Resource } from '../collection/resource.js';
import { joined, type Parameter } from './comparison-sql.js';
import type { Access } from './condition.js';

/** The columns of records, without values of fields that a caller may not read. `held`: SQL that is true if a grant holds. */
export function readableColumns(
  { columns }: Resource,
  { grants }: Access,
  held: readonly string[],
  parameter: Parameter,
): string {
  const showing = (field: string | undefined) =>
    grants.flatMap(({ fields }, at) =>
      !fields || (field !== undefined && fields.includes(field)) ? [at] : [],
    );
  const when = (places: readonly number[]) =>
    joined(
      places.map((at) => held[at]!),
      'or',
    );
  const own = [...columns].map(([field, { name }]) => {
    const places = showing(field);
    if (places.length === grants.length) return `granted.${name}`;
    return `case when ${when(places)} then granted.${name} end as ${name}`;
  });
  const limited = grants.flatMap(({ fields }, at) => {
    if (!fields) return [];
    const names = `array(select json_array_elements_text(${parameter(JSON.stringify(fields))}::json))`;
    return [`case when ${held[at]} then ${names} else '{}' end`];
  });
  // Not a function, which would begin a statement of its own for each record.
  const doc = `case when ${when(showing(undefined))} then granted.doc else (
    select '{' || string_agg(to_json(key)::text || ':' || value::text, ',' order by place) || '}'
    from json_each(granted.doc::json) with ordinality as member (key, value, place)
    where place = 1 or key = any (${limited.join(' || ')}) or key in ('created_at', 'updated_at', '_version')
  ) end as doc`;
  return ['granted.id', 'granted.version', 'granted.updated_at', doc, ...own].join(', ');
}
