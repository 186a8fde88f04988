import { type Column, WRITE_ONLY } from '../collection/column.js';
import { qualified } from '../db/object-names.js';
import { type ExistingTable, FILLING, INSTANT, UNUSED } from './catalog.js';
import { type ChooseName, presentIndex, presentKey } from './chosen-names.js';
import { documentStep } from './field-steps.js';
import type { Links } from './links.js';
import { areChecked, createLinks, dropLinks, stopChecking } from './links.js';
import { lockTable, NO_LOCK, type SchemaStep, step } from './step.js';
import type { ForeignKey, Table } from './table.js';
import {
  ACTIONS,
  addForeignKey,
  attach,
  createIndex,
  dropForeignKey,
  nullTrigger,
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
  return step(`Create the table ${table.name}`, 'nothing', [
    `create table ${table.sql} (\n  ${columns.join(',\n  ')}\n)`,
    ...table.columns.filter(({ isInstant }) => isInstant).map((column) => completeColumn(table, column)),
    ...table.indexes.map((index) => createIndex(table, index, nameOf)),
    ...attach(table),
  ]);
}

/** The foreign keys of a new table; they are added when all tables exist. */
export function referenceTables(table: Table, nameOf: ChooseName): SchemaStep[] {
  const { name, foreignKeys } = table;
  const keys = foreignKeys.map((key) =>
    step(`Make ${name}.${key.column} refer to ${key.to}`, lockTable(`${name} and ${key.to}`), [
      addForeignKey(table, key, ''),
      ...nullTrigger(table, key, nameOf),
    ]),
  );
  return [...keys, ...table.links.map((links) => creation(table, links))];
}

/** A table that exists, beside the one that a declaration needs. */
export interface Alteration {
  readonly table: Table;
  /** The table of the applied declaration. */
  readonly former: Table | undefined;
  readonly existing: ExistingTable;
  readonly nameOf: ChooseName;
  /** Whether an SQL file may have changed the documents. */
  readonly isDue: boolean;
  /** The columns of fields that earlier steps change. */
  readonly changed: ReadonlySet<string>;
  /** Whether no service with a former declaration writes. */
  readonly isFenced: boolean;
}

/** The steps that add what an existing table lacks. */
export const alterTable = (alteration: Alteration): SchemaStep[] => [
  ...retireLinks(alteration),
  ...retireColumns(alteration),
  ...addColumns(alteration),
  // The columns are filled when triggers write their links.
  ...addLinks(alteration),
  ...fillColumns(alteration),
  ...indexSteps(alteration),
  ...foreignKeySteps(alteration),
  ...triggerSteps(alteration),
];

/** Columns of the former declaration. Unless the table is fenced, services with that one write them, so that they stay. */
function retireColumns({ table, former, existing: { columns }, isFenced }: Alteration): SchemaStep[] {
  const isSurplus = ({ name }: Column) =>
    columns.has(name) &&
    columns.get(name)!.comment !== UNUSED &&
    !table.columns.some((each) => each.name === name);
  return (former?.columns ?? []).filter(isSurplus).map(({ name }) =>
    // No document has the values that no response contains.
    isFenced && name !== WRITE_ONLY.name
      ? dropColumn(table, name)
      : step(`Leave the column ${table.name}.${name} to services with the former declaration`, NO_LOCK, [
          commentOn(table, name, UNUSED),
        ]),
  );
}

const commentOn = ({ sql }: Table, name: string, text: string | null): string =>
  `comment on column ${sql}.${name} is ${text === null ? 'null' : `'${text}'`}`;

/** Steps that remove the columns which no declaration has. */
export function dropColumns(table: Table, { columns }: ExistingTable): SchemaStep[] {
  const unused = [...columns].filter(
    ([name, { comment }]) => comment === UNUSED && !table.columns.some((each) => each.name === name),
  );
  return unused.map(([name]) => dropColumn(table, name));
}

function dropColumn(table: Table, name: string): SchemaStep {
  const isWriteOnly = name === WRITE_ONLY.name;
  return step(
    `Remove the column ${table.name}.${name}${isWriteOnly ? '' : '; the documents keep the field'}`,
    lockTable(table.name),
    [...(table.distribution ? [] : dropLinks(table, name)), `alter table ${table.sql} drop column ${name}`],
    {
      loses: isWriteOnly
        ? `the values of ${table.name} that no response contains`
        : 'nothing, if no service with the former declaration runs',
    },
  );
}

const addColumns = ({ table, existing }: Alteration): SchemaStep[] =>
  table.columns
    .filter(({ name }) => !existing.columns.has(name))
    .map(({ name, type }) =>
      step(`Add the column ${table.name}.${name}`, lockTable(table.name), [
        `alter table ${table.sql} add column ${name} ${type}`,
        commentOn(table, name, FILLING),
      ]),
    );

/** The comment on a column that is complete says what its texts are. */
const completeComment = ({ isInstant }: Column): string | null => (isInstant ? INSTANT : null);
const completeColumn = (table: Table, column: Column): string =>
  commentOn(table, column.name, completeComment(column));

/** Columns that are new or not complete, or have the texts of another format, those of fields that a step has changed, and if it is due all. */
function fillColumns({ table, existing: { columns }, isDue, changed, isFenced }: Alteration): SchemaStep[] {
  const incomplete = table.columns.filter((column) => {
    const found = columns.get(column.name);
    const isComplete = found?.type === column.type && found.comment === completeComment(column);
    return isDue || changed.has(column.name) || !isComplete;
  });
  const names = incomplete.map(({ name }) => name);
  const complete = incomplete.map((column) => completeColumn(table, column));
  if (isDue)
    complete.push(`delete from plinth_document_work where collection = '${table.name}' and state = 'due'`);
  // The values that no response contains are in no document.
  const filled = names.filter((name) => name !== WRITE_ONLY.name);
  if (filled.length > 0)
    return [documentStep({ kind: 'fill', collection: table.name, columns: filled }, isFenced, complete)];
  if (complete.length === 0) return [];
  const title =
    names.length === 0
      ? `Note that ${table.name} has no columns to fill`
      : `Use the column ${table.name}.${names[0]}`;
  return [step(title, NO_LOCK, complete)];
}

function indexSteps({ table, former, existing, nameOf }: Alteration): SchemaStep[] {
  const steps: SchemaStep[] = [];
  const add = (title: string, sql: string) => steps.push(step(title, NO_LOCK, [sql], { isConcurrent: true }));
  const drop = (name: string, why: string) =>
    add(
      `Remove the index ${name}${why}`,
      `drop index concurrently if exists ${qualified(table.schema, name)}`,
    );
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
    add(`Build the index ${nameOf(index.name)}`, createIndex(table, index, nameOf, ' concurrently'));
  }
  return steps;
}

function foreignKeySteps({ table, former, existing, nameOf }: Alteration): SchemaStep[] {
  const steps: SchemaStep[] = [];
  const present = new Map(table.foreignKeys.map((key) => [key, presentKey(existing, key.name)]));
  const needed = new Set(present.values());
  for (const key of former?.foreignKeys ?? []) {
    const name = presentKey(existing, key.name);
    if (name !== undefined && !needed.has(name))
      steps.push(
        step(`Remove the reference ${name}`, lockTable(table.name), dropForeignKey(table, name, key)),
      );
  }
  for (const [key, name] of present) {
    const found = name === undefined ? undefined : existing.foreignKeys.get(name)!;
    const isRight = found?.action === ACTIONS[key.onDelete].catalog;
    if (isRight && found.isValid) continue;
    const wasNull = found?.action === ACTIONS.null.catalog;
    if (!isRight) {
      const replaced: ForeignKey = { ...key, onDelete: wasNull ? 'null' : key.onDelete };
      steps.push(
        step(
          `Make ${table.name}.${key.column} refer to ${key.to}`,
          lockTable(`${table.name} and ${key.to}`),
          [
            // In one transaction, so that no write goes unchecked meanwhile.
            ...(name === undefined ? [] : dropForeignKey(table, name, replaced)),
            addForeignKey(table, key, ' not valid'),
            ...nullTrigger(table, key, nameOf),
          ],
        ),
      );
    }
    // On Citus the step before checks them.
    if (table.distribution) continue;
    steps.push(
      step(`Check that the records of ${table.name} refer to existing ${key.to}`, NO_LOCK, [
        `alter table ${table.sql} validate constraint ${isRight ? name! : key.name.plain}`,
      ]),
    );
  }
  return steps;
}

/** The triggers that count records and record events. */
function triggerSteps({ table, former, existing: { triggers } }: Alteration): SchemaStep[] {
  const isAttached = TRIGGERS.every((suffix) => triggers.has(`${table.name}_${suffix}`));
  const optionsOf = ({ owner, hasHistory, isInviting, distribution }: Table) =>
    JSON.stringify([owner, hasHistory, isInviting, distribution?.unique]);
  const isComplete =
    !table.isInviting || table.distribution !== undefined || triggers.has('plinth_superseded');
  // Migrations attach users, items and posts, which have no former declaration in a new database.
  const applied = former ?? { ...table, hasHistory: false, isInviting: false };
  if (isAttached && isComplete && optionsOf(applied) === optionsOf(table)) return [];
  return [step(`Attach counting and events to ${table.name}`, lockTable(table.name), attach(table))];
}

const creation = (table: Table, links: Links): SchemaStep =>
  step(
    `Make the ids in ${table.name}.${links.column} refer to ${links.to}`,
    lockTable(`${table.name} and ${links.to}`),
    createLinks(table, links),
  );

/** The steps for arrays of references that an existing table does not check yet, or not so. Their columns exist. */
const addLinks = ({ table, existing }: Alteration): SchemaStep[] =>
  table.links
    .filter((links) => !areChecked(table.name, links, existing))
    .map((links) => creation(table, links));

/** Steps that stop checking the arrays which refer to no records any more. Services with the former declaration read the links. */
const retireLinks = ({ table, former, existing }: Alteration): SchemaStep[] =>
  (former?.links ?? [])
    // A migration that was killed may have made the triggers of another action.
    .filter((links) =>
      (['restrict', 'remove'] as const).some((onDelete) =>
        areChecked(table.name, { ...links, onDelete }, existing),
      ),
    )
    .filter(({ column }) => !table.links.some((links) => links.column === column))
    .map(({ column, to }) =>
      step(
        `Stop checking the ids in ${table.name}.${column}`,
        lockTable(`${table.name} and ${to}`),
        stopChecking(table, column),
      ),
    );
