import type { Resource } from '../../collection/resource.js';
import { sourceSql } from '../../list/condition-sql.js';
import type { LooseStatement } from './loose-sql.js';

/** The statement of whether the records that refer to any one of some others have more than a number of bytes. */
export function largeChildrenStatement(
  child: Resource,
  field: string,
  ids: readonly string[],
  maxBytes: number,
): LooseStatement {
  const column = child.columns.get(field)!.name;
  return {
    text: `select coalesce(max(_bytes) > $2::text::bigint, false) as exceeds
from (
  select sum(octet_length(doc)) as _bytes
  from ${sourceSql(child, 'record')}
  where ${column} = any (array(select json_array_elements_text($1::text::json))::uuid[])
  group by ${column}
) as child`,
    args: [JSON.stringify(ids), String(maxBytes)],
  };
}

/** The statement of whether one of the records to which some others refer has more than a number of bytes. */
export function largeReferredStatement(
  resource: Resource,
  field: string,
  referred: Resource,
  ids: readonly string[],
  maxBytes: number,
): LooseStatement {
  return {
    text: `select coalesce(max(octet_length(referred.doc)) > $2::text::bigint, false) as exceeds
from ${sourceSql(referred, 'referred')}
where referred.id in (
  select record.${resource.columns.get(field)!.name} from ${sourceSql(resource, 'record')}
  where record.id = any (array(select json_array_elements_text($1::text::json))::uuid[])
)`,
    args: [JSON.stringify(ids), String(maxBytes)],
  };
}

/** The statement of records that refer to some others; without documents if these have more than a number of bytes. */
export function looseChildrenStatement(
  child: Resource,
  field: string,
  ids: readonly string[],
  maxBytes: number,
): LooseStatement {
  const column = child.columns.get(field)!.name;
  return {
    text: `select _parent as parent,
  '[' || string_agg(doc, ',' order by id) filter (where _bytes <= $2::text::bigint) || ']' as docs
from (
  select id, ${column} as _parent, doc, sum(octet_length(doc)) over () as _bytes
  from ${sourceSql(child, 'record')}
  where ${column} = any (array(select json_array_elements_text($1::text::json))::uuid[])
) as child
group by _parent`,
    args: [JSON.stringify(ids), String(maxBytes)],
  };
}
