import { objectName, qualified } from '../db/object-names.js';
import type { ChooseName } from './chosen-names.js';
import { quoted } from './step.js';
import type { ForeignKey, Index, Table } from './table.js';

/** The effect on a record when the one that it refers to is deleted, and the letter for it in pg_constraint. */
export const ACTIONS: Readonly<
  Record<ForeignKey['onDelete'], { readonly sql: string; readonly catalog: string }>
> = {
  cascade: { sql: 'on delete cascade', catalog: 'c' },
  restrict: { sql: 'on delete restrict', catalog: 'r' },
  // The trigger removes the field before the constraint is checked.
  null: { sql: 'on delete no action', catalog: 'a' },
};

export function createIndex(
  { sql }: Table,
  { name, definition, isUnique }: Index,
  nameOf: ChooseName,
  concurrently = '',
): string {
  return `create ${isUnique ? 'unique ' : ''}index${concurrently} ${nameOf(name)} on ${sql} ${definition}`;
}

export function addForeignKey(
  { name: table, sql, distribution }: Table,
  { name, field, column, to, target, onDelete }: ForeignKey,
  suffix: string,
): string {
  if (distribution)
    return `select refer_to('${table}', '${column}', ${quoted(field)}, '${to}', '${onDelete}')`;
  return `alter table ${sql} add constraint ${name.plain} foreign key (${column}) references ${target} (id) ${ACTIONS[onDelete].sql}${suffix}`;
}

export function dropForeignKey(
  { name: table, schema, sql, distribution }: Table,
  present: string,
  { nullName, onDelete }: ForeignKey,
): string[] {
  if (distribution) return [`select stop_referring('${table}', '${present}')`];
  return [
    `alter table ${sql} drop constraint if exists ${present}`,
    ...(onDelete === 'null' ? dropNullTrigger(schema, nullName) : []),
  ];
}

export const dropNullTrigger = (schema: string, { all }: ForeignKey['nullName']): string[] =>
  all.map((name) => `drop function if exists ${qualified(schema, name)}() cascade`);

/** The suffixes of the triggers that count records and record events; the name of the table precedes them. */
export const TRIGGERS: readonly string[] = [
  'created_events',
  'updated_events',
  'deleted_events',
  'inserted',
  'deleted',
];

/** Makes the database count records and record events. */
export function attach({ name, sql, owner, hasHistory, isInviting, distribution }: Table): string[] {
  const ownerSql = owner === undefined ? '' : `, '${owner}'`;
  const options = `${hasHistory ? ', history => true' : ''}${isInviting ? ', invite => true' : ''}`;
  if (!distribution) return [`select attach_collection(${quoted(sql)}${ownerSql}${options})`];
  const { parent, unique } = distribution;
  return [
    `select distribute_collection('${name}'${ownerSql || ', null'}, ${parent === undefined ? 'null' : `'${parent}'`})`,
    `select set_unique_columns('${name}', '{${unique.join(',')}}')`,
  ];
}

/** Statements that remove the field from the documents when the record that it refers to is deleted. On Citus functions do that. */
export function nullTrigger(table: Table, key: ForeignKey, nameOf: ChooseName): string[] {
  const { column, target, field } = key;
  if (key.onDelete !== 'null' || table.distribution) return [];
  const name = nameOf(key.nullName);
  const routine = qualified(table.schema, name);
  const creation = `create or replace function ${routine}() returns trigger language plpgsql as $$
begin
  update ${table.sql} as referring
  set ${column} = null, version = referring.version + 1, updated_at = date_trunc('milliseconds', now()),
    doc = without_member(referring.doc, ${quoted(field)}, referring.version + 1, date_trunc('milliseconds', now()))
  where referring.${column} = old.id;
  return old;
end $$`;
  const trigger = (name: string, when: string) =>
    `create or replace trigger ${name} ${when} on ${target} for each row`;
  if (key.to !== table.name)
    return [creation, `${trigger(name, 'before delete')} execute function ${routine}()`];
  // Before a record of one collection is deleted, the statement that deletes it cannot change it, nor others that it deletes.
  // Versions that did so look for the first trigger. In capitals, the name precedes those of PostgreSQL's checks of the reference.
  const after = objectName('A', table.name, column, 'null').plain;
  return [
    creation,
    `${trigger(name, 'before delete')} when (false) execute function ${routine}()`,
    `${trigger(`"${after}"`, 'after delete')} execute function ${routine}()`,
  ];
}
