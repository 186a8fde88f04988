import { linksName, type ObjectName, objectName, qualified } from '../db/object-names.js';
import { type ExistingTable, FORMER_NAME, type Layout } from './catalog.js';
import { type ChooseName, presentIndex, presentKey, primaryKeyOf } from './chosen-names.js';
import { dropAllLinks, linkTriggers, renameLinks } from './links.js';
import type { Links } from './removed-ids.js';
import { lockTable, NO_LOCK, type SchemaStep } from './step.js';
import type { ForeignKey, Table } from './table.js';
import { attach, dropNullTrigger, nullTrigger, nullTriggers, TRIGGERS } from './table-sql.js';

/** A collection that gets another name. */
export interface Renaming {
  readonly was: string;
  readonly existing: ExistingTable;
  /** The table by the new name, as the applied declaration describes it; undefined: none was applied. */
  readonly former: Table | undefined;
  readonly table: Table;
  /** Names that it had before. */
  readonly formerNames: readonly string[];
}

/**
 * The step that renames a collection, and its table after it. `nameNow`: the name of a table at this step. Services with the
 * former declaration use a view by the former name.
 */
export function renameTable(
  { was, existing, former, table, formerNames }: Renaming,
  nameOf: ChooseName,
  nameNow: (table: string) => string,
): {
  readonly step: SchemaStep;
  readonly renamed: ExistingTable;
  readonly triggers: ReadonlyMap<string, readonly string[]>;
} {
  const inSchema = (name: string) => qualified(table.schema, name);
  const indexes = renamedIndexes(was, existing, former, table, nameOf);
  const keys = (former?.foreignKeys ?? []).flatMap((key): [string, ForeignKey][] => {
    const name = presentKey(existing, objectName(was, ...key.name.parts));
    return name === undefined ? [] : [[name, key]];
  });
  const nulls = keys
    .filter(([, { onDelete }]) => onDelete === 'null')
    .map(([, key]) => ({ ...key, to: nameNow(key.to), target: inSchema(nameNow(key.to)) }));
  const links = [...existing.columns.keys()]
    .filter((column) => existing.triggers.has(linksName(was, column)))
    .map((column) => ({ column, checked: checkedLinks(was, column, existing, former, nameNow) }));
  const step = {
    title: `Rename the collection ${was} to ${table.name}`,
    locks: `${was}, while its events, deliveries and jobs get the name`,
    sql: [
      `alter table ${inSchema(was)} rename to "${table.name}"`,
      ...[...indexes].map(([name, to]) => `alter index ${inSchema(name)} rename to ${to}`),
      ...(table.distribution
        ? [`select rename_distributed_collection('${was}', '${table.name}')`]
        : [
            ...keys.map(
              ([name, key]) => `alter table ${table.sql} rename constraint ${name} to ${key.name.plain}`,
            ),
            // The functions of references update the table by name.
            ...nulls.flatMap((key) => [
              ...dropNullTrigger(table.schema, objectName(was, ...key.nullName.parts)),
              ...nullTrigger(former!, key, nameOf),
            ]),
            ...TRIGGERS.map((suffix) => `drop trigger ${was}_${suffix} on ${table.sql}`),
            ...attach(former ?? table),
            ...links.flatMap(({ column, checked }) =>
              renameLinks(was, table, column, checked, `${FORMER_NAME}${table.name}.${column}`),
            ),
            ...createFormerName(was, table),
            ...formerNames.map((name) => nameFormer(name, table)),
          ]),
      ...['counts', 'blocks', 'plinth_document_work', 'plinth_numbers'].map(
        (each) => `update ${each} set collection = '${table.name}' where collection = '${was}'`,
      ),
      `update collections set name = '${table.name}' where name = '${was}'`,
      ...(table.distribution ? [] : formerTotal(was, table.name)),
    ],
  };
  return {
    step,
    renamed: afterRenaming(was, table.name, existing, indexes, new Map(keys), links),
    triggers: new Map(nulls.map((key) => [key.to, nullTriggers(former!, key, nameOf)])),
  };
}

/** The links of a column; `checked`: as the former declaration has them. */
interface RenamedLinks {
  readonly column: string;
  readonly checked: Links | undefined;
}

function checkedLinks(
  was: string,
  column: string,
  { triggers }: ExistingTable,
  former: Table | undefined,
  nameNow: (table: string) => string,
): Links | undefined {
  const links = former?.links.find((each) => each.column === column);
  if (!links || !linkTriggers(was, links).every((trigger) => triggers.has(trigger))) return undefined;
  const to = nameNow(links.to);
  return { ...links, to, target: qualified(former!.schema, to) };
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

/** A view by which services with the former declaration use a table. */
export const createFormerName = (was: string, table: Table): string[] => [
  `create view ${qualified(table.schema, was)} as select * from ${table.sql}`,
  nameFormer(was, table),
];

const nameFormer = (was: string, { name, schema }: Table) =>
  `comment on view ${qualified(schema, was)} is '${FORMER_NAME}${name}'`;

/** The total that services with the former declaration read. */
const formerTotal = (was: string, name: string): string[] => [
  `insert into blocks (collection, total) select '${was}', coalesce((select total from blocks where collection = '${name}'), 0) + coalesce((select sum(delta) from counts where collection = '${name}'), 0)`,
];

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

/** Removes the view by which services with the former declaration know a renamed collection. */
export function dropFormerName(name: string, present: string, { schema }: Layout): SchemaStep {
  return {
    title: `Remove the former name ${name} of ${present}`,
    locks: NO_LOCK,
    loses: 'nothing, if no service with the former declaration runs',
    sql: [`drop view ${qualified(schema, name)}`, `delete from blocks where collection = '${name}'`],
  };
}

export function dropTable(name: string, { engine, schema }: Layout): SchemaStep {
  return {
    title: `Remove the collection ${name}`,
    locks: lockTable(name),
    loses: `all records of ${name}, with their events, deliveries, stored responses and jobs`,
    sql: [
      ...(engine === 'citus' ? [`select forget_distributed_collection('${name}')`] : []),
      ...(engine === 'citus' ? [] : [dropAllLinks(qualified(schema, name))]),
      `drop table ${qualified(schema, name)} cascade`,
      `delete from counts where collection = '${name}'`,
      `delete from blocks where collection = '${name}'`,
      `delete from collections where name = '${name}'`,
      `delete from plinth_document_work where collection = '${name}'`,
      `delete from plinth_numbers where collection = '${name}'`,
    ],
  };
}
