import type { Column } from '../collection/column.js';
import { type Catalog, type ExistingTable, FILLING } from './catalog.js';
import { lockTable, NO_LOCK, type Step } from './step.js';
import type { Table } from './table.js';
import { ACTIONS, addForeignKey, attach, createIndex, dropForeignKey, nullTrigger } from './table-sql.js';

/** The columns that every collection has. */
const BASE_COLUMNS = [
  'id uuid primary key',
  'version integer not null default 1',
  'updated_at timestamptz not null',
  'doc text not null',
];

/** The step that creates a collection's table with all that belongs to it. */
export function createTable(table: Table): Step {
  const columns = [...BASE_COLUMNS, ...table.columns.map(({ name, type }) => `${name} ${type}`)];
  return {
    title: `Create the table ${table.name}`,
    locks: 'nothing',
    sql: [
      `create table ${table.name} (\n  ${columns.join(',\n  ')}\n)`,
      ...table.indexes.map((index) => createIndex(table.name, index)),
      ...attach(table),
    ],
  };
}

/** The foreign keys of a new table; they are added when all tables exist. */
export function referenceTables(table: Table): Step[] {
  const { name, foreignKeys } = table;
  return foreignKeys.map((key) => ({
    title: `Make ${name}.${key.column} refer to ${key.to}`,
    locks: lockTable(`${name} and ${key.to}`),
    sql: [addForeignKey(table, key, ''), ...nullTrigger(table, key)],
  }));
}

/** The steps that add what an existing table lacks. `former` is the table of the applied declaration. */
export function alterTable(
  table: Table,
  former: Table | undefined,
  existing: ExistingTable,
  catalog: Catalog,
): Step[] {
  return [
    ...dropColumns(table, former, existing),
    ...addColumns(table, existing),
    ...fillColumns(table, existing),
    ...indexSteps(table, former, existing),
    ...foreignKeySteps(table, former, existing, catalog),
    ...triggerSteps(table, former, existing),
  ];
}

function dropColumns(table: Table, former: Table | undefined, existing: ExistingTable): Step[] {
  const isWanted = (column: Column) =>
    table.columns.some(({ name, type }) => name === column.name && type === column.type);
  const surplus = (former?.columns ?? []).filter(
    (column) => existing.columns.has(column.name) && !isWanted(column),
  );
  return surplus.map(({ name }) => ({
    title: `Remove the column ${table.name}.${name}; the documents keep the field`,
    locks: lockTable(table.name),
    sql: [`alter table ${table.name} drop column ${name}`],
  }));
}

function addColumns(table: Table, { columns }: ExistingTable): Step[] {
  const isThere = ({ name, type }: Column) => columns.get(name)?.type === type;
  return table.columns
    .filter((column) => !isThere(column))
    .map(({ name, type }) => ({
      title: `Add the column ${table.name}.${name}`,
      locks: lockTable(table.name),
      sql: [
        `alter table ${table.name} add column ${name} ${type}`,
        `comment on column ${table.name}.${name} is '${FILLING}'`,
      ],
    }));
}

/** Columns that are new, and those whose filling was interrupted. */
function fillColumns(table: Table, { columns }: ExistingTable): Step[] {
  const names = table.columns
    .filter(({ name, type }) => columns.get(name)?.type !== type || columns.get(name)!.isFilling)
    .map(({ name }) => name);
  if (names.length === 0) return [];
  return [
    {
      title: `Fill ${names.map((name) => `${table.name}.${name}`).join(', ')} from the documents, 1,000 at a time`,
      locks: 'the records of a batch, while it is written',
      work: { kind: 'fill', collection: table.name, columns: names },
      sql: names.map((name) => `comment on column ${table.name}.${name} is null`),
    },
  ];
}

function indexSteps(table: Table, former: Table | undefined, { indexes, columns }: ExistingTable): Step[] {
  const steps: Step[] = [];
  const drop = (name: string, why: string) =>
    steps.push({
      title: `Remove the index ${name}${why}`,
      locks: NO_LOCK,
      isConcurrent: true,
      sql: [`drop index concurrently if exists ${name}`],
    });
  for (const { name } of former?.indexes ?? [])
    if (indexes.has(name) && !table.indexes.some((index) => index.name === name)) drop(name, '');
  for (const index of table.indexes) {
    const isValid = indexes.get(index.name);
    const hasColumns = table.columns.every(
      ({ name, type }) => !index.name.includes(name) || columns.get(name)?.type === type,
    );
    if (isValid && hasColumns) continue;
    if (isValid === false) drop(index.name, ', whose build was interrupted');
    steps.push({
      title: `Build the index ${index.name}`,
      locks: NO_LOCK,
      isConcurrent: true,
      sql: [createIndex(table.name, index, ' concurrently')],
    });
  }
  return steps;
}

function foreignKeySteps(
  table: Table,
  former: Table | undefined,
  { foreignKeys }: ExistingTable,
  { tables }: Catalog,
): Step[] {
  const steps: Step[] = [];
  const drop = (name: string) =>
    steps.push({
      title: `Remove the reference ${name}`,
      locks: lockTable(table.name),
      sql: dropForeignKey(table, name),
    });
  for (const key of former?.foreignKeys ?? [])
    if (foreignKeys.has(key.name) && !table.foreignKeys.some(({ name }) => name === key.name)) drop(key.name);
  for (const key of table.foreignKeys) {
    const present = foreignKeys.get(key.name);
    const hasTrigger =
      key.onDelete !== 'null' || tables.get(key.to)?.triggers.has(`${key.name}_null`) === true;
    const isRight = present?.action === ACTIONS[key.onDelete].catalog && hasTrigger;
    if (isRight && present.isValid) continue;
    if (present && !isRight) drop(key.name);
    if (!isRight)
      steps.push({
        title: `Make ${table.name}.${key.column} refer to ${key.to}`,
        locks: lockTable(`${table.name} and ${key.to}`),
        sql: [addForeignKey(table, key, ' not valid'), ...nullTrigger(table, key)],
      });
    // On Citus the step before checks them.
    if (table.distribution) continue;
    steps.push({
      title: `Check that the records of ${table.name} refer to existing ${key.to}`,
      locks: NO_LOCK,
      sql: [`alter table ${table.name} validate constraint ${key.name}`],
    });
  }
  return steps;
}

/** The triggers that count records and record events. */
function triggerSteps(table: Table, former: Table | undefined, { triggers }: ExistingTable): Step[] {
  const needed = ['created_events', 'updated_events', 'deleted_events', 'inserted', 'deleted'];
  const isAttached = needed.every((suffix) => triggers.has(`${table.name}_${suffix}`));
  const unique = ({ distribution }: Table) => distribution?.unique.join();
  const isSame = former === undefined || (former.owner === table.owner && unique(former) === unique(table));
  if (isAttached && isSame) return [];
  return [
    {
      title: `Attach counting and events to ${table.name}`,
      locks: lockTable(table.name),
      sql: attach(table),
    },
  ];
}
