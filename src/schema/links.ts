import { LINKED_RECORD as RECORD } from '../collection/column.js';
import type { Resource } from '../collection/resource.js';
import { linksName, objectName, qualified, referenceName } from '../db/object-names.js';
import { type ExistingTable, MOVED } from './catalog.js';
import { quoted } from './step.js';

type NamedTable = Pick<LinkedTable, 'name' | 'schema'>;

/** The arrays of references of a collection. */
export const linksOf = ({ references, columns }: Resource): Links[] =>
  references.flatMap(({ field, to, table, onDelete, isList }) =>
    isList
      ? [
          {
            field,
            to,
            column: columns.get(field)!.name,
            target: table,
            onDelete: onDelete === 'remove' ? 'remove' : 'restrict',
          },
        ]
      : [],
  );

/** The triggers on the collection's table: one shows that the links are written, the other one what a deletion does to them. */
export const linkTriggers = (
  table: string,
  { column, onDelete }: Pick<Links, 'column' | 'onDelete'>,
): readonly [written: string, deleted: string] => [
  linksName(table, column),
  linksName(table, column, onDelete),
];

/** The table of the links in statements, and the function that writes them, or another function by its `parts`. */
const linksSql = ({ name, schema }: NamedTable, column: string, ...parts: string[]): string =>
  qualified(schema, linksName(name, column, ...parts));

/** Whether the triggers of a table write links and check them. */
export const areChecked = (table: string, links: Links, { triggers }: ExistingTable): boolean =>
  linkTriggers(table, links).every((each) => triggers.has(each));

const trigger = (name: string): string => `"${name}"`;

/** Statements that make the links of a column, anew if there are some. Ids of missing records are left out. */
export function createLinks(table: LinkedTable, links: Links): string[] {
  const { column, target, onDelete } = links;
  const { name } = table;
  const sql = linksSql(table, column);
  return [
    ...dropLinks(table, column),
    `create table ${sql} (
  ${RECORD} uuid not null constraint "${RECORD}" references ${table.sql} (id) on delete cascade,
  ${column} uuid not null,
  constraint "${linksName(name, column, 'pkey')}" primary key (${RECORD}, ${column})
)`,
    `create index "${linksName(name, column, 'records')}" on ${sql} (${column}, ${RECORD})`,
    // No record is written until the triggers write its links.
    `lock table ${table.sql} in share row exclusive mode`,
    `insert into ${sql} (${RECORD}, ${column})
  select distinct record.id, referred.id
  from ${table.sql} as record, unnest(record.${column}) as given (id) join ${target} as referred on referred.id = given.id`,
    ...writeLinks(table, column),
    `alter table ${sql} add constraint "${referenceName(name, column).plain}" foreign key (${column}) references ${target} (id) on delete ${onDelete === 'remove' ? 'no action' : 'restrict'}`,
    ...onDeletion(table, links),
  ];
}

/** Triggers that write the links of a record whose array changes. */
function writeLinks(table: LinkedTable, column: string): string[] {
  const sql = linksSql(table, column);
  const call = `for each row when (COND) execute function ${linksSql(table, column)}()`;
  const on = (suffix: string, event: string, condition: string) =>
    `create or replace trigger ${trigger(linksName(table.name, column, ...(suffix === '' ? [] : [suffix])))} after ${event} on ${table.sql} ${call.replace('COND', condition)}`;
  return [
    `create or replace function ${linksSql(table, column)}() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    delete from ${sql} where ${RECORD} = new.id and ${column} <> all (coalesce(new.${column}, '{}'));
  end if;
  insert into ${sql} (${RECORD}, ${column}) select distinct new.id, id from unnest(new.${column}) as given (id)
    on conflict do nothing;
  return null;
end $$`,
    on('', 'insert', `new.${column} is not null`),
    on('changed', 'update', `new.${column} is distinct from old.${column}`),
  ];
}

/**
 * The triggers of deletions. A record's own links are removed before it is, so that records of one statement, and one that refers to
 * itself, do not prevent each other's deletion.
 */
function onDeletion(table: LinkedTable, links: Links): string[] {
  const { column, onDelete } = links;
  const release = linksSql(table, column, 'release');
  return [
    `create or replace function ${release}() returns trigger language plpgsql as $$
begin
  delete from ${linksSql(table, column)} where ${RECORD} = old.id;
  return old;
end $$`,
    `create or replace trigger ${trigger(linksName(table.name, column, onDelete))} before delete on ${table.sql} for each row execute function ${release}()`,
    ...(onDelete === 'remove' ? removeIds(table, links, linksSql(table, column)) : []),
  ];
}

/** Lets ids be those of missing records. Services with the former declaration still read the links. */
export const stopChecking = (table: LinkedTable, column: string): string[] => [
  ...referenceName(table.name, column).all.map(
    (name) => `alter table ${linksSql(table, column)} drop constraint if exists ${trigger(name)}`,
  ),
  ...['release', 'remove'].map(
    (part) => `drop function if exists ${linksSql(table, column, part)}() cascade`,
  ),
];

/**
 * Statements after which the links of a column follow a table that has another name. `was`: the former name of the collection;
 * `checked`: the links of the former declaration; undefined: only services with an earlier one read them.
 */
export function moveLinks(
  was: string,
  table: LinkedTable,
  column: string,
  checked: Links | undefined,
): string[] {
  const deletion = checked === undefined ? [] : onDeletion(table, checked);
  if (was === table.name) return deletion;
  const former = { ...table, name: was };
  const renamed = (part: string) =>
    `alter index if exists ${qualified(table.schema, linksName(was, column, part))} rename to "${linksName(table.name, column, part)}"`;
  return [
    ...dropRoutines(former, column),
    `alter table ${linksSql(former, column)} rename to "${linksName(table.name, column)}"`,
    ...['pkey', 'records'].map(renamed),
    ...fence(table, linksName(was, column), [
      [RECORD, 'uuid'],
      [column, 'uuid'],
    ]),
    ...writeLinks(table, column),
    ...(checked === undefined
      ? []
      : [
          `alter table ${linksSql(table, column)} rename constraint "${referenceName(was, column).plain}" to "${referenceName(table.name, column).plain}"`,
        ]),
    ...deletion,
  ];
}

const dropRoutines = (table: NamedTable, column: string): string[] =>
  [[], ['release'], ['remove']].map(
    (parts) => `drop function if exists ${linksSql(table, column, ...parts)}() cascade`,
  );

/** The columns of a table that have links. */
export const linkedColumns = (name: string, { columns, triggers }: ExistingTable): string[] =>
  [...columns.keys()].filter((column) => triggers.has(linksName(name, column)));

/** Removes the links of a column, if it has some. */
export const dropLinks = (table: NamedTable, column: string): string[] => [
  ...dropRoutines(table, column),
  `drop table if exists ${linksSql(table, column)} cascade`,
];

/**
 * Leaves a fence under a name that a table had: a view whose every use fails with SQLSTATE 55000, so that services with the
 * former declaration respond 503. It also prevents that such a service creates the table again.
 */
export const fence = (
  { name, schema }: NamedTable,
  former: string,
  columns: Iterable<readonly [name: string, type: string]>,
): string[] => [
  `create view ${qualified(schema, former)} as select ${[...columns].map(([column, type]) => `null::${type} as ${column}`).join(', ')} where plinth_moved('${name}')`,
  `comment on view ${qualified(schema, former)} is '${MOVED}${name}'`,
];

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
function removeIds(table: LinkedTable, { column, field, target, to }: Links, linksSql: string): string[] {
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
