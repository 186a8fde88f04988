import { linksName, type ObjectName, objectName, qualified } from '../db/object-names.js';
import type { Catalog, ExistingTable, Layout } from './catalog.js';
import { type ChooseName, presentIndex, presentKey, primaryKeyOf } from './chosen-names.js';
import type { Links } from './links.js';
import { areChecked, dropLinks, fence, linkedColumns, linkTriggers, moveLinks } from './links.js';
import { lockTable, NO_LOCK, type SchemaStep, step } from './step.js';
import type { ForeignKey, Table } from './table.js';
import { attach, dropNullTrigger, nullTrigger, TRIGGERS } from './table-sql.js';

/** A collection that gets another name, or another table name in a window. */
export interface Move {
  /** The collection. */
  readonly was: string;
  readonly existing: ExistingTable;
  /** The table by its new names, as the applied declaration describes it; undefined: none was applied. */
  readonly former: Table | undefined;
  readonly table: Table;
  /** The new name of the table. */
  readonly to: string;
  /** Views by names that the table had before. */
  readonly formerNames: readonly string[];
  /** The hash of the declaration to which the window leads. */
  readonly hash: string;
}

/** The table of a collection at a step, for references that lead to it. */
type TargetOf = (collection: string) => { readonly to: string; readonly target: string };

/**
 * The step that begins a window: the table gets another name, and a fence stands under each one that it had. On Citus,
 * nothing stands there.
 */
export function moveTable(
  move: Move,
  nameOf: ChooseName,
  target: TargetOf,
): {
  readonly step: SchemaStep;
  readonly moved: ExistingTable;
} {
  const { was, existing, former, table, to, hash } = move;
  const { name } = table;
  const isRenamed = was !== name;
  const indexes = isRenamed
    ? renamedIndexes(was, existing, former, table, nameOf)
    : new Map<string, string>();
  const keys = (former?.foreignKeys ?? []).flatMap((key): [string, ForeignKey][] => {
    const present = presentKey(existing, objectName(was, ...key.name.parts));
    return present === undefined ? [] : [[present, { ...key, ...target(key.to) }]];
  });
  const links = linkedColumns(was, existing).map((column) => ({
    column,
    checked: checkedLinks(was, column, existing, former, target),
  }));
  const title = isRenamed
    ? `Rename the collection ${was} to ${name}`
    : `Give the table of ${name} the name ${to}`;
  const locks = isRenamed ? `${was}, while its events, deliveries and jobs get the name` : lockTable(name);
  const sql = [
    `alter table ${qualified(table.schema, existing.table ?? was)} rename to "${to}"`,
    ...[...indexes].map(([index, as]) => `alter index ${qualified(table.schema, index)} rename to ${as}`),
    ...(table.distribution
      ? [`select rename_distributed_collection('${was}', '${name}')`]
      : moveObjects(move, keys, links, nameOf)),
    ...(isRenamed ? renameRows(was, name) : []),
    `delete from plinth_document_work where collection = '${name}' and state = 'window'`,
    `insert into plinth_document_work values ('${name}', '${hash}', 'window')`,
  ];
  const renamed = isRenamed ? afterRenaming(was, name, existing, indexes, new Map(keys), links) : existing;
  return {
    step: step(`${title}, ${inWindow(was, table)}`, locks, sql),
    moved: { ...renamed, table: to },
  };
}

/** Puts fences under the former names of a table, and lets what has the name of the table, or of its collection, follow. */
function moveObjects(
  { was, existing, former, table, formerNames }: Move,
  keys: readonly (readonly [present: string, key: ForeignKey])[],
  links: readonly RenamedLinks[],
  nameOf: ChooseName,
): string[] {
  const { name, schema, sql } = table;
  const columns = [...existing.columns].map(([column, { type }]) => [column, type] as const);
  const renames = [
    ...keys.map(([key, { name: as }]) => `alter table ${sql} rename constraint ${key} to ${as.plain}`),
    ...TRIGGERS.map((suffix) => `drop trigger ${was}_${suffix} on ${sql}`),
    ...attach(former ?? table),
  ];
  return [
    ...formerNames.map((each) => `drop view ${qualified(schema, each)}`),
    ...[existing.table ?? was, ...formerNames].flatMap((each) => fence(table, each, columns)),
    ...(was === name ? [] : renames),
    // A function of a reference updates the table by name.
    ...keys.flatMap(([, key]) =>
      key.onDelete === 'null'
        ? [
            ...dropNullTrigger(schema, objectName(was, ...key.nullName.parts)),
            ...nullTrigger(former!, key, nameOf),
          ]
        : [],
    ),
    ...links.flatMap(({ column, checked }) => moveLinks(was, table, column, checked)),
  ];
}

/** Tables with rows of collections. */
const BY_COLLECTION = ['counts', 'blocks', 'plinth_document_work', 'plinth_numbers'];

const renameRows = (was: string, name: string): string[] => [
  ...BY_COLLECTION.map((each) => `update ${each} set collection = '${name}' where collection = '${was}'`),
  `update collections set name = '${name}' where name = '${was}'`,
];

/** The effect of a window on the services that run. */
const inWindow = (name: string, { distribution }: Pick<Table, 'distribution'>): string =>
  distribution
    ? `while no service with the former declaration of ${name} runs`
    : `in a window: services with the former declaration respond 503 for ${name} until they are restarted`;

/** The links of a column; `checked`: as the former declaration has them. */
interface RenamedLinks {
  readonly column: string;
  readonly checked: Links | undefined;
}

function checkedLinks(
  was: string,
  column: string,
  existing: ExistingTable,
  former: Table | undefined,
  target: TargetOf,
): Links | undefined {
  const links = former?.links.find((each) => each.column === column);
  if (!links || !areChecked(was, links, existing)) return undefined;
  return { ...links, ...target(links.to) };
}

/** The present names of indexes, and those that they get. */
function renamedIndexes(
  was: string,
  existing: ExistingTable,
  former: Table | undefined,
  table: Table,
  nameOf: ChooseName,
): Map<string, string> {
  const renamed = new Map<string, string>();
  const rename = (name: string | undefined, { parts }: ObjectName) =>
    name === undefined ? undefined : renamed.set(name, nameOf(objectName(table.name, ...parts)));
  for (const index of former?.indexes ?? []) {
    const before = { ...index, name: objectName(was, ...index.name.parts) };
    rename(presentIndex(existing, before), index.name);
  }
  const primaryKey = primaryKeyOf(was);
  rename(
    primaryKey.all.find((name) => existing.indexes.has(name)),
    primaryKey,
  );
  return renamed;
}

function afterRenaming(
  was: string,
  name: string,
  existing: ExistingTable,
  indexes: ReadonlyMap<string, string>,
  keys: ReadonlyMap<string, ForeignKey>,
  links: readonly RenamedLinks[],
): ExistingTable {
  const suffixOf = (trigger: string) => TRIGGERS.find((each) => trigger === `${was}_${each}`);
  return {
    ...existing,
    indexes: new Map([...existing.indexes].map(([each, index]) => [indexes.get(each) ?? each, index])),
    foreignKeys: new Map(
      [...existing.foreignKeys].map(([each, key]) => [keys.get(each)?.name.plain ?? each, key]),
    ),
    triggers: new Set([
      ...[...existing.triggers].map((each) => {
        const suffix = suffixOf(each);
        return suffix === undefined ? each : `${name}_${suffix}`;
      }),
      ...links.flatMap(({ column, checked }) =>
        checked ? linkTriggers(name, checked) : [linksName(name, column)],
      ),
    ]),
  };
}

/** Removes a fence, or the view by which services of version 0.1.0 with the former declaration know a renamed collection. */
export const dropFormerName = (name: string, present: string, { schema }: Layout): SchemaStep =>
  step(
    `Remove the former name ${name} of ${present}`,
    NO_LOCK,
    [
      `drop view ${qualified(schema, name)}`,
      ...(name === present ? [] : [`delete from blocks where collection = '${name}'`]),
    ],
    { loses: 'nothing, if no service with the former declaration runs' },
  );

export function dropTable(name: string, { engine, schema, tables }: Catalog): SchemaStep {
  const existing = tables.get(name)!;
  const table = qualified(schema, existing.table ?? name);
  const sql = [
    ...(engine.isDistributed ? [`select forget_distributed_collection('${name}')`] : []),
    ...linkedColumns(name, existing).flatMap((column) => dropLinks({ name, schema }, column)),
    `drop table ${table} cascade`,
    `delete from collections where name = '${name}'`,
    ...BY_COLLECTION.map((each) => `delete from ${each} where collection = '${name}'`),
  ];
  return step(`Remove the collection ${name}`, lockTable(name), sql, {
    loses: `all records of ${name}, with their events, deliveries, stored responses and jobs`,
  });
}
