import { type Resource, shardColumn } from '../collection/resource.js';
import { arrayLiteral } from '../db/statements.js';
import { type Access, type Condition, hidesFields, isOfColumns } from './condition.js';
import type { Source } from './record-source.js';

/** SQL that is true if conditions hold for a record of a source. */
type Holds = (conditions: readonly Condition[], source?: string) => string;

/** The columns of records from the source `granted`, and what precedes the conditions after that source. */
interface ReadableColumns {
  readonly columns: string;
  readonly joins: string;
}

/** The columns of the source `granted` that a caller may read, without values of fields that it may not read. */
export function readableColumns(granted: Source, access: Access, holds: Holds): ReadableColumns {
  if (!hidesFields(access)) return { columns: 'granted.*', joins: '' };
  const joins: string[] = [];
  const held = access.grants.map(({ conditions }, at) => {
    if (granted.engine.correlates || conditions.every(isOfColumns)) return holds(conditions);
    joins.push(heldJoin(granted.resource, `held_${at}`, holds(conditions, 'held')));
    return `held_${at}.id is not null`;
  });
  return { columns: columnsOf(granted, access, held), joins: joins.join('') };
}

/**
 * A join with the records for which a grant holds. On Citus no column depends on a query, but the records that are joined may.
 */
function heldJoin(resource: Resource, name: string, holding: string): string {
  const keys = ['id', shardColumn(resource) ?? []].flat();
  const columns = keys.map((key) => `held.${key}`).join(', ');
  const isRecord = keys.map((key) => `${name}.${key} = granted.${key}`).join(' and ');
  return ` left join (select ${columns} from ${resource.table} as held where ${holding}) as ${name} on ${isRecord}`;
}

/** `held`: SQL that is true if a grant holds. */
function columnsOf(granted: Source, { grants }: Access, held: readonly string[]): string {
  const showing = (field: string | undefined) =>
    grants.flatMap(({ fields }, at) =>
      !fields || (field !== undefined && fields.includes(field)) ? [at] : [],
    );
  const when = (places: readonly number[]) =>
    granted.joined(
      places.map((at) => held[at]!),
      'or',
    );
  const own = [...granted.resource.columns].map(([field, { name }]) => {
    const places = showing(field);
    if (places.length === grants.length) return `granted.${name}`;
    return `case when ${when(places)} then granted.${name} end as ${name}`;
  });
  const limited = grants.flatMap(({ fields }, at) => {
    if (!fields) return [];
    return [
      `case when ${held[at]} then ${granted.parameter(arrayLiteral(fields), 'text::text[]')} else '{}' end`,
    ];
  });
  const fields = limited.join(' || ');
  // A function begins a statement of its own for each record. Citus has no other way.
  const part = granted.engine.correlates
    ? `(
    select '{' || string_agg(to_json(key)::text || ':' || value::text, ',' order by place) || '}'
    from json_each(granted.doc::json) with ordinality as member (key, value, place)
    where place = 1 or key = any (${fields}) or key in ('created_at', 'updated_at', '_version')
  )`
    : `plinth_readable_part(granted.doc, ${fields})`;
  const doc = `case when ${when(showing(undefined))} then granted.doc else ${part} end as doc`;
  return ['granted.id', 'granted.version', 'granted.updated_at', doc, ...own].join(', ');
}
