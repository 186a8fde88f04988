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
  table: string,
  { name, column, to, onDelete }: ForeignKey,
  suffix: string,
): string {
  return `alter table ${table} add constraint ${name} foreign key (${column}) references ${to} (id) ${ACTIONS[onDelete].sql}${suffix}`;
}

export const attach = ({ name, owner }: Table) =>
  `select attach_collection('${name}'${owner === undefined ? '' : `, '${owner}'`})`;

/** What removes the field from the documents when the record that it refers to is deleted. */
export function nullTrigger(table: string, { name, column, to, onDelete, field }: ForeignKey): string[] {
  if (onDelete !== 'null') return [];
  const member = `'${field.replaceAll("'", "''")}'`;
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
