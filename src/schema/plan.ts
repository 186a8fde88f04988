import type { Engine } from '../db/engine.js';
import type { Declaration, DeclaredField } from '../declarations/declaration.js';
import { resourcesWithoutRefs } from '../declarations/resource-of.js';
import type { Catalog } from './catalog.js';
import { lockTable, type Step } from './step.js';
import { type Table, tableOf } from './table.js';
import { attach } from './table-sql.js';
import { alterTable, createTable, referenceTables } from './table-steps.js';

/** What brings a database in line with declarations. */
export interface Plan {
  /** Steps that lose nothing, in order. */
  readonly steps: readonly Step[];
  /** Steps that lose data. They are not needed for the service to run. */
  readonly drops: readonly Step[];
  /** Whether a table gets another name: what else differs is planned after that. */
  readonly isRenaming: boolean;
  /** Collections with stored records that the declaration does not describe yet: these are checked before the steps. */
  readonly changed: readonly Declaration[];
}

/** The text of a declaration as it is recorded when it has been applied. */
export const appliedText = ({ schema }: Declaration): string => JSON.stringify(schema);

/** Plans what is missing. Of a database that is in line, the plan has no steps. */
export function planChanges(declarations: readonly Declaration[], catalog: Catalog): Plan {
  const { tables, applied, engine } = catalog;
  const formerDeclarations = [...applied].map(
    ([name, text]) => ({ name, file: name, schema: JSON.parse(text) }) as Declaration,
  );
  const formerTables = new Map(
    resourcesWithoutRefs(known(formerDeclarations)).map((resource) => [
      resource.name,
      tableOf(resource, engine),
    ]),
  );
  const steps: Step[] = [];
  const references: Step[] = [];
  const changed: Declaration[] = [];
  const renamed = new Set<string>();
  for (const [index, resource] of resourcesWithoutRefs(declarations).entries()) {
    const declaration = declarations[index]!;
    const table = tableOf(resource, engine);
    const was = declaration.schema['x-collection']?.was;
    const existing = tables.get(table.name);
    if (existing) {
      steps.push(...renameFields(declaration, formerSchema(applied, table.name)));
      steps.push(...alterTable(table, formerTables.get(table.name), existing, catalog));
      if (isStricter(declaration, applied.get(table.name))) changed.push(declaration);
    } else if (was !== undefined && tables.has(was) && !declarations.some(({ name }) => name === was)) {
      steps.push(renameTable(was, table, formerTables.get(was)));
      renamed.add(was);
    } else {
      steps.push(createTable(table));
      references.push(...referenceTables(table));
    }
  }
  const drops = [...applied.keys()]
    .filter(
      (name) => tables.has(name) && !renamed.has(name) && !declarations.some((each) => each.name === name),
    )
    .map((name) => dropTable(name, engine));
  return { steps: [...steps, ...references], isRenaming: renamed.size > 0, drops, changed };
}

/** Former declarations whose references still lead somewhere; the others cannot be turned into resources. */
function known(declarations: readonly Declaration[]): Declaration[] {
  const names = new Set(declarations.map(({ name }) => name));
  const isKnown = ({ 'x-references': to }: DeclaredField) => to === undefined || names.has(to);
  return declarations.filter(({ schema }) => Object.values(schema.properties).every(isKnown));
}

function formerSchema(applied: ReadonlyMap<string, string>, name: string): Declaration['schema'] | undefined {
  const text = applied.get(name);
  return text === undefined ? undefined : (JSON.parse(text) as Declaration['schema']);
}

/** Fields with x-was that the applied declaration knows by their former names. */
function renameFields({ name, schema }: Declaration, former: Declaration['schema'] | undefined): Step[] {
  return Object.entries(schema.properties).flatMap(([to, { 'x-was': from }]) =>
    from === undefined || former?.properties[from] === undefined || former.properties[to] !== undefined
      ? []
      : [
          {
            title: `Rename the field ${from} of ${name} to ${to} in the documents, 1,000 at a time`,
            locks: 'the records of a batch, while it is written',
            work: { kind: 'rename', collection: name, from, to } as const,
            sql: [],
          },
        ],
  );
}

/** A table that gets its new name. What else differs is planned when the step has been done. */
function renameTable(was: string, table: Table, former: Table | undefined): Step {
  const rename = (name: string) => `${table.name}${name.slice(was.length)}`;
  const pairs = (former?.indexes ?? []).map(({ name }) => name).concat(`${was}_pkey`);
  return {
    title: `Rename the collection ${was} to ${table.name}`,
    locks: lockTable(was),
    sql: [
      `alter table ${was} rename to ${table.name}`,
      ...pairs.map((name) => `alter index if exists ${name} rename to ${rename(name)}`),
      ...(table.distribution
        ? [`select rename_distributed_collection('${was}', '${table.name}')`]
        : [
            ...(former?.foreignKeys ?? []).map(
              ({ name }) => `alter table ${table.name} rename constraint ${name} to ${rename(name)}`,
            ),
            ...['created_events', 'updated_events', 'deleted_events', 'inserted', 'deleted'].map(
              (suffix) => `drop trigger ${was}_${suffix} on ${table.name}`,
            ),
            ...attach(table),
          ]),
      `update counts set collection = '${table.name}' where collection = '${was}'`,
      `update blocks set collection = '${table.name}' where collection = '${was}'`,
      `update collections set name = '${table.name}' where name = '${was}'`,
    ],
  };
}

function dropTable(name: string, engine: Engine): Step {
  return {
    title: `Remove the collection ${name}`,
    locks: lockTable(name),
    loses: `all records of ${name}`,
    sql: [
      ...(engine === 'citus' ? [`select forget_distributed_collection('${name}')`] : []),
      `drop table ${name} cascade`,
      `delete from counts where collection = '${name}'`,
      `delete from blocks where collection = '${name}'`,
      `delete from collections where name = '${name}'`,
    ],
  };
}

/** Whether records that were valid may violate the declaration now. */
function isStricter(declaration: Declaration, applied: string | undefined): boolean {
  if (applied === undefined) return false;
  return rulesOf(declaration.schema) !== rulesOf(JSON.parse(applied) as Declaration['schema']);
}

/** What a schema says of values, without what describes it. */
function rulesOf(schema: object): string {
  return JSON.stringify(schema, (key, value) =>
    key.startsWith('x-') ||
    ['title', 'description', '$schema', '$comment', 'examples', 'default'].includes(key)
      ? undefined
      : value,
  );
}
