import type { ForeignKey, Index, Table } from './table.js';

/** What happens to a record when the one that it refers to is deleted, and the letter for it in pg_constraint. */
export const ACTIONS: Readonly<
  Record<ForeignKey['onDelete'], { readonly sql: string; readonly catalog: string }>
> = {
  cascade: { sql: 'on delete cascade', catalog: 'c' },
  restrict: { sql: 'on delete restrict', catalog: 'r' },
  // The trigger removes the field before the constraint is checked.
  null: { sql: 'on delete no action', catalog: 'a' },
};

export function createIndex(table: string, { name, definition, isUnique }: Index, concurrently = ''): string {
  return `create ${isUnique ? 'unique ' : ''}index${concurrently} ${name} on ${table} ${definition}`;
}

export function addForeignKey(
  { name: table, distribution }: Table,
  { name, field, column, to, onDelete }: ForeignKey,
  suffix: string,
): string {
  if (distribution)
    return `select refer_to('${table}', '${column}', ${quoted(field)}, '${to}', '${onDelete}')`;
  return `alter table ${table} add constraint ${name} foreign key (${column}) references ${to} (id) ${ACTIONS[onDelete].sql}${suffix}`;
}

export function dropForeignKey({ name: table, distribution }: Table, name: string): string[] {
  if (distribution) return [`select stop_referring('${table}', '${name}')`];
  return [
    `alter table ${table} drop constraint if exists ${name}`,
    `drop function if exists ${name}_null() cascade`,
  ];
}

/** Makes the database count records and record events. */
export function attach({ name, owner, distribution }: Table): string[] {
  const ownerSql = owner === undefined ? '' : `, '${owner}'`;
  if (!distribution) return [`select attach_collection('${name}'${ownerSql})`];
  const { parent, unique } = distribution;
  return [
    `select distribute_collection('${name}'${ownerSql || ', null'}, ${parent === undefined ? 'null' : `'${parent}'`})`,
    `select set_unique_columns('${name}', '{${unique.join(',')}}')`,
  ];
}

/** What removes the field from the documents when the record that it refers to is deleted. */
export function nullTrigger(
  { name: table, distribution }: Table,
  { name, column, to, onDelete, field }: ForeignKey,
): string[] {
  if (onDelete !== 'null' || distribution) return [];
  const member = quoted(field);
  return [
    `create or replace function ${name}_null() returns trigger language plpgsql as $$
begin
  update ${table}
  set ${column} = null, version = version + 1, updated_at = date_trunc('milliseconds', now()),
    doc = without_member(doc, ${member}, version + 1, date_trunc('milliseconds', now()))
  where ${column} = old.id;
  return old;
end $$`,
    `create or replace trigger ${name}_null before delete on ${to} for each row execute function ${name}_null()`,
  ];
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
