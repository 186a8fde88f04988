import { linksName, qualified, referenceName } from '../db/object-names.js';
import type { Catalog, ExistingTable } from './catalog.js';
import { type ChooseName, presentIndex, presentKey } from './chosen-names.js';
import { columnSteps, completeColumn } from './column-steps.js';
import type { Links } from './links.js';
import { checkLinks, createLinks, linkTriggers, stopChecking } from './links.js';
import { lockTable, NO_LOCK, type SchemaStep } from './step.js';
import type { ForeignKey, Table } from './table.js';
import {
  ACTIONS,
  addForeignKey,
  attach,
  createIndex,
  dropForeignKey,
  nullTrigger,
  nullTriggers,
  TRIGGERS,
} from './table-sql.js';

/** The columns that every collection has. */
const BASE_COLUMNS = [
  'id uuid primary key',
  'version integer not null default 1',
  'updated_at timestamptz not null',
  'doc text not null',
];

/** The step that creates a collection's table with all that belongs to it. */
export function createTable(table: Table, nameOf: ChooseName): SchemaStep {
  const columns = [...BASE_COLUMNS, ...table.columns.map(({ name, type }) => `${name} ${type}`)];
  return {
    title: `Create the table ${table.name}`,
    locks: 'nothing',
    sql: [
      `create table ${table.sql} (\n  ${columns.join(',\n  ')}\n)`,
      ...table.columns.filter(({ isInstant }) => isInstant).map((column) => completeColumn(table, column)),
      ...table.indexes.map((index) => createIndex(table, index, nameOf)),
      ...attach(table),
    ],
  };
}

/** The foreign keys of a new table; they are added when all tables exist. */
export function referenceTables(table: Table, nameOf: ChooseName): SchemaStep[] {
  const { name, foreignKeys } = table;
  const keys = foreignKeys.map((key) => ({
    title: `Make ${name}.${key.column} refer to ${key.to}`,
    locks: lockTable(`${name} and ${key.to}`),
    sql: [addForeignKey(table, key, ''), ...nullTrigger(table, key, nameOf)],
  }));
  return [...keys, ...newLinks(table)];
}

/** The steps that add what an existing table lacks. `former` is the table of the applied declaration; `isDue`: its documents may have been changed; `changed`: the columns of fields that earlier steps change; `isFenced`: no service with a former declaration writes. */
export function alterTable(
  table: Table,
  former: Table | undefined,
  existing: ExistingTable,
  catalog: Catalog,
  nameOf: ChooseName,
  isDue: boolean,
  changed: ReadonlySet<string>,
  isFenced: boolean,
): SchemaStep[] {
  return [
    ...retireLinks(table, former, existing),
    // The columns are filled when triggers write their links.
    ...columnSteps(table, former, existing, isDue, changed, addLinks(table, existing), isFenced),
    ...indexSteps(table, former, existing, nameOf),
    ...foreignKeySteps(table, former, existing, catalog, nameOf),
    ...triggerSteps(table, former, existing),
  ];
}

function indexSteps(
  table: Table,
  former: Table | undefined,
  existing: ExistingTable,
  nameOf: ChooseName,
): SchemaStep[] {
  const steps: SchemaStep[] = [];
  const drop = (name: string, why: string) =>
    steps.push({
      title: `Remove the index ${name}${why}`,
      locks: NO_LOCK,
      isConcurrent: true,
      sql: [`drop index concurrently if exists ${qualified(table.schema, name)}`],
    });
  const present = new Map(table.indexes.map((index) => [index, presentIndex(existing, index)]));
  const needed = new Set(present.values());
  for (const index of former?.indexes ?? []) {
    const name = presentIndex(existing, index);
    if (name !== undefined && !needed.has(name)) drop(name, '');
  }
  for (const [index, name] of present) {
    const isValid = name === undefined ? undefined : existing.indexes.get(name)!.isValid;
    const hasColumns = table.columns.every(
      ({ name, type }) => !index.columns.includes(name) || existing.columns.get(name)?.type === type,
    );
    if (isValid && hasColumns) continue;
    if (isValid === false) drop(name!, ', whose build was interrupted');
    steps.push({
      title: `Build the index ${nameOf(index.name)}`,
      locks: NO_LOCK,
      isConcurrent: true,
      sql: [createIndex(table, index, nameOf, ' concurrently')],
    });
  }
  return steps;
}

function foreignKeySteps(
  table: Table,
  former: Table | undefined,
  existing: ExistingTable,
  { tables }: Catalog,
  nameOf: ChooseName,
): SchemaStep[] {
  const steps: SchemaStep[] = [];
  const drop = (name: string, key: ForeignKey) =>
    steps.push({
      title: `Remove the reference ${name}`,
      locks: lockTable(table.name),
      sql: dropForeignKey(table, name, key),
    });
  const present = new Map(table.foreignKeys.map((key) => [key, presentKey(existing, key.name)]));
  const needed = new Set(present.values());
  for (const key of former?.foreignKeys ?? []) {
    const name = presentKey(existing, key.name);
    if (name !== undefined && !needed.has(name)) drop(name, key);
  }
  for (const [key, name] of present) {
    const found = name === undefined ? undefined : existing.foreignKeys.get(name)!;
    const triggers = tables.get(key.to)?.triggers;
    const isRight =
      found?.action === ACTIONS[key.onDelete].catalog &&
      nullTriggers(table, key, nameOf).every((trigger) => triggers?.has(trigger));
    if (isRight && found.isValid) continue;
    const wasNull = found?.action === ACTIONS.null.catalog;
    if (!isRight) {
      const replaced: ForeignKey = { ...key, onDelete: wasNull ? 'null' : key.onDelete };
      steps.push({
        title: `Make ${table.name}.${key.column} refer to ${key.to}`,
        locks: lockTable(`${table.name} and ${key.to}`),
        // In one transaction, so that no write goes unchecked meanwhile.
        sql: [
          ...(name === undefined ? [] : dropForeignKey(table, name, replaced)),
          addForeignKey(table, key, ' not valid'),
          ...nullTrigger(table, key, nameOf),
        ],
      });
    }
    // On Citus the step before checks them.
    if (table.distribution) continue;
    steps.push({
      title: `Check that the records of ${table.name} refer to existing ${key.to}`,
      locks: NO_LOCK,
      sql: [`alter table ${table.sql} validate constraint ${isRight ? name! : key.name.plain}`],
    });
  }
  return steps;
}

/** The triggers that count records and record events. */
function triggerSteps(table: Table, former: Table | undefined, { triggers }: ExistingTable): SchemaStep[] {
  const isAttached = TRIGGERS.every((suffix) => triggers.has(`${table.name}_${suffix}`));
  const unique = ({ distribution }: Table) => distribution?.unique.join();
  const isSame =
    former === undefined ||
    (former.owner === table.owner &&
      former.hasHistory === table.hasHistory &&
      unique(former) === unique(table));
  if (isAttached && isSame) return [];
  return [
    {
      title: `Attach counting and events to ${table.name}`,
      locks: lockTable(table.name),
      sql: attach(table),
    },
  ];
}

/** The steps for the arrays of references of a new table. */
const newLinks = (table: Table): SchemaStep[] => table.links.map((links) => creation(table, links));

const creation = (table: Table, links: Links): SchemaStep => ({
  title: `Make the ids in ${table.name}.${links.column} refer to ${links.to}`,
  locks: lockTable(`${table.name} and ${links.to}`),
  sql: createLinks(table, links),
});

/** The steps for arrays of references that an existing table does not check yet, or not so. Their columns exist. */
const addLinks = (table: Table, existing: ExistingTable): SchemaStep[] =>
  table.links.flatMap((links) => {
    const action = actionIn(table, links, existing);
    if (action === links.onDelete) return [];
    if (action === undefined) return [creation(table, links)];
    const { name, schema } = table;
    return [
      {
        title: `Make the deletion of ${links.to} ${links.onDelete === 'remove' ? 'remove their ids from' : 'depend on'} ${name}.${links.column}`,
        locks: lockTable(`${name} and ${links.to}`),
        sql: [...stopChecking(table, links.column, action), ...checkLinks(table, links, ' not valid')],
      },
      {
        title: `Check that the ids in ${name}.${links.column} refer to existing ${links.to}`,
        locks: NO_LOCK,
        sql: [
          `alter table ${qualified(schema, linksName(name, links.column))} validate constraint ${referenceName(name, links.column).plain}`,
        ],
      },
    ];
  });

/** Steps that stop checking the arrays which refer to no records any more. Services with the former declaration read the links. */
const retireLinks = (table: Table, former: Table | undefined, existing: ExistingTable): SchemaStep[] =>
  (former?.links ?? []).flatMap((links) => {
    const action = actionIn(table, links, existing);
    if (action === undefined || table.links.some(({ column }) => column === links.column)) return [];
    return [
      {
        title: `Stop checking the ids in ${table.name}.${links.column}`,
        locks: lockTable(`${table.name} and ${links.to}`),
        sql: stopChecking(table, links.column, action),
      },
    ];
  });

/** The effect of a deletion that the triggers of a table show; undefined: they do not write the links, or do not check them. */
function actionIn(
  { name }: Table,
  { column }: Links,
  { triggers }: ExistingTable,
): Links['onDelete'] | undefined {
  return (['restrict', 'remove'] as const).find((onDelete) =>
    linkTriggers(name, { column, onDelete }).every((each) => triggers.has(each)),
  );
}
