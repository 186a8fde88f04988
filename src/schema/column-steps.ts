import { type Column, WRITE_ONLY } from '../collection/column.js';
import { type ExistingTable, FILLING, INSTANT, UNUSED } from './catalog.js';
import { documentStep } from './field-steps.js';
import { dropLinks } from './links.js';
import { lockTable, NO_LOCK, type SchemaStep } from './step.js';
import type { Table } from './table.js';

/** The steps for the columns of an existing table. `former` is the table of the applied declaration; `links`: steps that precede the filling. */
export const columnSteps = (
  table: Table,
  former: Table | undefined,
  existing: ExistingTable,
  isDue: boolean,
  changed: ReadonlySet<string>,
  links: readonly SchemaStep[],
  isFenced: boolean,
): SchemaStep[] => [
  ...retireColumns(table, former, existing, isFenced),
  ...addColumns(table, existing),
  ...links,
  ...fillColumns(table, existing, isDue, changed, isFenced),
];

/** Columns of the former declaration. Unless the table is fenced, services with that one write them, so that they stay. */
function retireColumns(
  table: Table,
  former: Table | undefined,
  { columns }: ExistingTable,
  isFenced: boolean,
): SchemaStep[] {
  const isSurplus = ({ name }: Column) =>
    columns.get(name)?.isUnused === false && !table.columns.some((each) => each.name === name);
  const surplus = (former?.columns ?? []).filter(isSurplus);
  // No document has the values that no response contains.
  const dropped = surplus.filter((column) => isFenced && column.name !== WRITE_ONLY.name);
  const left = surplus.filter((column) => !dropped.includes(column));
  return [
    ...dropped.map(({ name }) => dropColumn(table, name)),
    ...left.map(({ name }) => leaveColumn(table, name)),
  ];
}

const leaveColumn = (table: Table, name: string): SchemaStep => ({
  title: `Leave the column ${table.name}.${name} to services with the former declaration`,
  locks: NO_LOCK,
  sql: [`comment on column ${table.sql}.${name} is '${UNUSED}'`],
});

/** Steps that remove the columns which no declaration has. */
export function dropColumns(table: Table, { columns }: ExistingTable): SchemaStep[] {
  const unused = [...columns].filter(
    ([name, { isUnused }]) => isUnused && !table.columns.some((each) => each.name === name),
  );
  return unused.map(([name]) => dropColumn(table, name));
}

function dropColumn(table: Table, name: string): SchemaStep {
  const isWriteOnly = name === WRITE_ONLY.name;
  return {
    title: `Remove the column ${table.name}.${name}${isWriteOnly ? '' : '; the documents keep the field'}`,
    locks: lockTable(table.name),
    loses: isWriteOnly
      ? `the values of ${table.name} that no response contains`
      : 'nothing, if no service with the former declaration runs',
    sql: [
      ...(table.distribution ? [] : dropLinks(table, name)),
      `alter table ${table.sql} drop column ${name}`,
    ],
  };
}

function addColumns(table: Table, { columns }: ExistingTable): SchemaStep[] {
  return table.columns
    .filter(({ name }) => !columns.has(name))
    .map(({ name, type }) => ({
      title: `Add the column ${table.name}.${name}`,
      locks: lockTable(table.name),
      sql: [
        `alter table ${table.sql} add column ${name} ${type}`,
        `comment on column ${table.sql}.${name} is '${FILLING}'`,
      ],
    }));
}

/** Says that a column is complete, and what its texts are. */
export const completeColumn = (table: Table, { name, isInstant }: Column): string =>
  `comment on column ${table.sql}.${name} is ${isInstant ? `'${INSTANT}'` : 'null'}`;

/** Columns that are new, those with texts that are points in time no longer or not yet, those whose filling was interrupted, those that a former declaration had, those of fields that a step has changed, and if it is due all. */
function fillColumns(
  table: Table,
  { columns }: ExistingTable,
  isDue: boolean,
  changed: ReadonlySet<string>,
  isFenced: boolean,
): SchemaStep[] {
  const isIncomplete = ({ name, type, isInstant }: Column) => {
    const found = columns.get(name);
    return (
      isDue ||
      changed.has(name) ||
      found?.type !== type ||
      found.isFilling ||
      found.isUnused ||
      found.isInstant !== isInstant
    );
  };
  const incomplete = table.columns.filter(isIncomplete);
  const names = incomplete.map(({ name }) => name);
  const complete = incomplete.map((column) => completeColumn(table, column));
  if (isDue)
    complete.push(`delete from plinth_document_work where collection = '${table.name}' and state = 'due'`);
  // The values that no response contains are in no document.
  const filled = names.filter((name) => name !== WRITE_ONLY.name);
  if (filled.length > 0)
    return [
      documentStep(
        `Fill ${filled.map((name) => `${table.name}.${name}`).join(', ')} from the documents, 1,000 at a time`,
        { kind: 'fill', collection: table.name, columns: filled },
        isFenced,
        complete,
      ),
    ];
  return complete.length === 0
    ? []
    : [
        {
          title:
            names.length === 0
              ? `Note that ${table.name} has no columns to fill`
              : `Use the column ${table.name}.${names[0]}`,
          locks: NO_LOCK,
          sql: complete,
        },
      ];
}
