import { LINKED_RECORD as RECORD } from '../collection/column.js';
import { linksName, objectName, qualified } from '../db/object-names.js';
import { quoted } from './step.js';

/**
 * The table with the ids in an array of references of a collection: a row for each record and each id. Triggers on the table of the
 * collection write it, and its foreign keys let no id be that of a missing record. Conditions and deletions find records by it.
 */
export interface Links {
  readonly field: string;
  /** The column with the array, whose name that of the ids has. */
  readonly column: string;
  readonly to: string;
  /** The table of that collection in statements. */
  readonly target: string;
  readonly onDelete: 'restrict' | 'remove';
}

/** A collection's table, as far as its links need it. */
export interface LinkedTable {
  readonly name: string;
  readonly schema: string;
  readonly sql: string;
}

/** The trigger that removes the id of a deleted record from the arrays, before the foreign key is checked. */
export function removeIds(
  table: LinkedTable,
  { column, field, target, to }: Links,
  linksSql: string,
): string[] {
  const name = linksName(table.name, column, 'remove');
  const isOwn = to === table.name;
  // As for a reference that is removed: in capitals, it precedes the triggers of PostgreSQL that check the reference.
  const called = isOwn ? objectName('A', table.name, column, '$refs').distinct : name;
  const remove = qualified(table.schema, name);
  return [
    `create or replace function ${remove}() returns trigger language plpgsql as $$
begin
  update ${table.sql} as referring
  set ${column} = nullif(array_remove(referring.${column}, old.id), '{}'), version = referring.version + 1,
    updated_at = date_trunc('milliseconds', now()), doc = ${withoutIdSql(field)}
  where referring.id in (select ${RECORD} from ${linksSql} where ${column} = old.id);
  return old;
end $$`,
    `create or replace trigger "${called}" ${isOwn ? 'after' : 'before'} delete on ${target} for each row execute function ${remove}()`,
  ];
}

/** The document of a record with the next version, and without the id of a deleted record in an array. */
const withoutIdSql = (field: string): string => `(
      select '{' || string_agg(to_json(key)::text || ':' || case
        when key = '_version' then (referring.version + 1)::text
        when key = 'updated_at' then to_json(to_char(date_trunc('milliseconds', now()) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text
        when key = ${quoted(field)} and json_typeof(value) = 'array' then (
          select '[' || coalesce(string_agg(item::text, ',' order by place), '') || ']'
          from json_array_elements(value) with ordinality as items (item, place)
          where lower(item #>> '{}') is distinct from old.id::text
        )
        else value::text
      end, ',' order by position) || '}'
      from json_each(referring.doc::json) with ordinality as members (key, value, position)
    )`;
