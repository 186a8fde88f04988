import { linksName, qualified, referenceName } from '../db/object-names.js';
import type { ExistingTable } from './catalog.js';
import { checkLinks, createLinks, linkTriggers, stopChecking } from './links.js';
import type { Links } from './removed-ids.js';
import { lockTable, NO_LOCK, type SchemaStep } from './step.js';
import type { Table } from './table.js';

/** The steps for the arrays of references of a new table. */
export const newLinks = (table: Table): SchemaStep[] => table.links.map((links) => creation(table, links));

const creation = (table: Table, links: Links): SchemaStep => ({
  title: `Make the ids in ${table.name}.${links.column} refer to ${links.to}`,
  locks: lockTable(`${table.name} and ${links.to}`),
  sql: createLinks(table, links),
});

/** The steps for arrays of references that an existing table does not check yet, or not so. Their columns exist. */
export const addLinks = (table: Table, existing: ExistingTable): SchemaStep[] =>
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
export const retireLinks = (table: Table, former: Table | undefined, existing: ExistingTable): SchemaStep[] =>
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
