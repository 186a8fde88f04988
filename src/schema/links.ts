import { LINKED_RECORD as RECORD } from '../collection/column.js';
import type { Resource } from '../collection/resource.js';
import { linksName, qualified, referenceName } from '../db/object-names.js';
import { type ExistingTable, MOVED } from './catalog.js';
import { type LinkedTable, type Links, removeIds } from './removed-ids.js';

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

const linksSql = ({ name, schema }: NamedTable, column: string): string =>
  qualified(schema, linksName(name, column));

/** A function in the schema of the collections. */
const routine = ({ name, schema }: NamedTable, column: string, ...parts: string[]): string =>
  qualified(schema, linksName(name, column, ...parts));

const trigger = (name: string): string => `"${name}"`;

/** Statements that make the links of a column, anew if there are some. Ids of missing records are left out. */
export function createLinks(table: LinkedTable, links: Links): string[] {
  const { column, target } = links;
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
    ...checkLinks(table, links, ''),
  ];
}

/** Triggers that write the links of a record whose array changes. */
function writeLinks(table: LinkedTable, column: string): string[] {
  const sql = linksSql(table, column);
  const call = `for each row when (COND) execute function ${routine(table, column)}()`;
  const on = (suffix: string, event: string, condition: string) =>
    `create or replace trigger ${trigger(linksName(table.name, column, ...(suffix === '' ? [] : [suffix])))} after ${event} on ${table.sql} ${call.replace('COND', condition)}`;
  return [
    `create or replace function ${routine(table, column)}() returns trigger language plpgsql as $$
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

/** The foreign key of the ids, and what a deletion does to the links. */
export function checkLinks(table: LinkedTable, links: Links, suffix: string): string[] {
  const { column, target, onDelete } = links;
  const action = onDelete === 'remove' ? 'no action' : 'restrict';
  const name = referenceName(table.name, column).plain;
  return [
    `alter table ${linksSql(table, column)} add constraint "${name}" foreign key (${column}) references ${target} (id) on delete ${action}${suffix}`,
    ...onDeletion(table, links),
  ];
}

/**
 * The triggers of deletions. A record's own links are removed before it is, so that records of one statement, and one that refers to
 * itself, do not prevent each other's deletion.
 */
function onDeletion(table: LinkedTable, links: Links): string[] {
  const { column, onDelete } = links;
  const release = routine(table, column, 'release');
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
export const stopChecking = (
  table: LinkedTable,
  column: string,
  onDelete: Links['onDelete'],
  foreignKey = referenceName(table.name, column).all,
): string[] => [
  ...foreignKey.map(
    (name) => `alter table ${linksSql(table, column)} drop constraint if exists ${trigger(name)}`,
  ),
  `drop trigger if exists ${trigger(linksName(table.name, column, onDelete))} on ${table.sql}`,
  `drop function if exists ${routine(table, column, 'remove')}() cascade`,
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
    (parts) => `drop function if exists ${routine(table, column, ...parts)}() cascade`,
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
