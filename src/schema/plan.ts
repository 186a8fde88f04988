import type { Resource } from '../collection/resource.js';
import type { Declaration, DeclaredField, SqlFile } from '../declarations/declaration.js';
import { declaredReference } from '../declarations/declared-reference.js';
import { resourcesWithoutRefs } from '../declarations/resource-of.js';
import { type Catalog, type ExistingTable, formerNamesOf, storedTypes } from './catalog.js';
import type { Plan } from './checked-plan.js';
import { type ChooseName, namesIn } from './chosen-names.js';
import { dropFormerName, dropTable, renameTable } from './collection-steps.js';
import { dropColumns } from './column-steps.js';
import {
  defaultFields,
  droppedFields,
  hideFields,
  normalizeFields,
  pruneFields,
  renameFields,
  repeatWork,
  trustRecords,
} from './field-steps.js';
import { type Change, fieldsOf, worksOf } from './field-work.js';
import { requireFormerNames } from './former-names.js';
import { isCollection, makeWay, requireCollection } from './occupied.js';
import { requireInShards } from './shards.js';
import { isNamedIn, sqlFileSteps } from './sql-file-steps.js';
import type { SchemaStep } from './step.js';
import { isStricter } from './stricter-rules.js';
import { type Table, tableOf } from './table.js';
import { alterTable, createTable, referenceTables } from './table-steps.js';

/** Plans what is missing. Of a database that is in line, the plan has no steps. Throws OccupiedError, ChangedFileError and DeclarationError. */
export function planChanges(
  declarations: readonly Declaration[],
  catalog: Catalog,
  sqlFiles: readonly SqlFile[] = [],
): Plan {
  return new Planner(declarations, catalog, sqlFiles).plan();
}

/** Makes one plan. */
class Planner {
  readonly #formerResources: ReadonlyMap<string, Resource>;
  readonly #resources: readonly Resource[];
  readonly #wanted: readonly Table[];
  /** The tables as they are at the step that is planned. */
  readonly #tables: Map<string, ExistingTable>;
  /** Former names of collections, and their names by the plan. */
  readonly #renamed = new Map<string, string>();
  /** Views by former names, and what they show, at the step that is planned. */
  readonly #formerNames: Map<string, string>;
  // Creations and renames precede all others, which may refer to the tables.
  readonly #creations: SchemaStep[] = [];
  readonly #renames: SchemaStep[] = [];
  readonly #references: SchemaStep[] = [];

  constructor(
    readonly declarations: readonly Declaration[],
    readonly catalog: Catalog,
    readonly sqlFiles: readonly SqlFile[],
  ) {
    const formerDeclarations = [...catalog.applied].map(
      ([name, text]) => ({ name, file: name, schema: JSON.parse(text) }) as Declaration,
    );
    this.#formerResources = new Map(
      resourcesWithoutRefs(known(formerDeclarations), {
        typeOf: storedTypes(catalog, formerDeclarations),
      }).map((resource) => [resource.name, resource]),
    );
    this.#resources = resourcesWithoutRefs(declarations, { typeOf: storedTypes(catalog, declarations) });
    requireInShards(declarations, this.#resources, catalog.engine);
    requireFormerNames(declarations, catalog);
    this.#wanted = this.#resources.map((resource) => tableOf(resource, catalog));
    this.#tables = new Map(catalog.tables);
    const names = new Set(declarations.map(({ name }) => name));
    // A collection with such a name is created, or renamed, after the view is removed.
    this.#formerNames = new Map([...catalog.formerNames].filter(([name]) => !names.has(name)));
  }

  plan(): Plan {
    const nameOf = namesIn(this.#wanted);
    const created = new Set(
      this.#wanted.filter((table) => !this.#findOrCreate(table)).map(({ name }) => name),
    );
    const [steps, drops]: [SchemaStep[], SchemaStep[]] = [[], []];
    const changes: Change[] = [];
    const dropped = new Map<string, readonly string[]>();
    const first = sqlFileSteps(this.sqlFiles, this.catalog);
    for (const name of this.catalog.formerNames.keys())
      if (this.#formerNames.has(name))
        drops.push(dropFormerName(name, this.#formerNames.get(name)!, this.catalog));
    for (const [index, table] of this.#wanted.entries()) {
      if (created.has(table.name)) continue;
      const altered = this.#alter(table, index, nameOf);
      steps.push(...altered.steps);
      drops.push(...altered.drops);
      dropped.set(table.name, altered.dropped);
      changes.push(altered.change);
    }
    const isDropped = (name: string) =>
      isCollection(name, this.catalog) &&
      !this.#renamed.has(name) &&
      !this.declarations.some((each) => each.name === name);
    const removed = [...this.catalog.applied.keys()].filter(isDropped);
    return {
      steps: [...first, ...this.#creations, ...this.#renames, ...steps, ...this.#references],
      drops: [...drops, ...removed.map((name) => dropTable(name, this.catalog))],
      sqlFiles: first.length,
      changes,
      dropped,
    };
  }

  /** The steps for a table that exists, and what they change for its records. */
  #alter(table: Table, index: number, nameOf: ChooseName) {
    const { pending, formerNames, due, doubted, sqlFiles, applied } = this.catalog;
    const declaration = this.declarations[index]!;
    const resource = this.#resources[index]!;
    const was = this.#formerNameOf(table.name);
    const before = applied.get(was);
    const former = before === undefined ? undefined : (JSON.parse(before) as Declaration['schema']);
    const existing = this.#tables.get(table.name)!;
    const work = [
      ...renameFields(declaration, former),
      ...defaultFields(declaration, former),
      ...normalizeFields(declaration, former),
    ];
    const workedFields = worksOf(work).flatMap(fieldsOf);
    const pendingFiles = this.sqlFiles.filter(({ name }) => !sqlFiles.has(name));
    const isDue = due.has(was) || pendingFiles.some((file) => isNamedIn(file, was));
    const dropped = droppedFields(declaration, former);
    const ofTable = pending.filter(({ collection }) => collection === was);
    const prunes = pruneFields(declaration, dropped, ofTable);
    const repeats = repeatWork(declaration, table, resource.writeOnly, ofTable);
    const change: Change = {
      name: table.name,
      table: was,
      works: worksOf(work),
      repeats: worksOf(repeats),
      prunes: worksOf(prunes),
      // An SQL file may have given records values that the declaration does not permit.
      isStricter: isDue || isStricter(declaration, before),
      isDoubted: doubted.has(was),
    };
    return {
      steps: [
        ...work,
        ...alterTable(
          table,
          this.#formerTable(was, table.name),
          existing,
          { ...this.catalog, tables: this.#tables, formerNames: this.#formerNames },
          nameOf,
          isDue,
          new Set(workedFields.flatMap((field) => resource.columns.get(field)?.name ?? [])),
        ),
        ...hideFields(resource, former),
      ],
      drops: [
        ...repeats,
        ...prunes,
        ...(change.isDoubted ? [trustRecords(table.name)] : []),
        ...dropColumns(
          table,
          existing,
          formerNamesOf(table.name, this.#formerNames).filter((name) => !formerNames.has(name)),
        ),
      ],
      change,
      dropped,
    };
  }

  /** Whether a collection has a table, also by a former name; otherwise the plan creates it. */
  #findOrCreate(table: Table): boolean {
    const { catalog, declarations } = this;
    if (catalog.tables.has(table.name)) {
      requireCollection(table.name, catalog);
      return true;
    }
    const nameOf = namesIn(this.#wanted);
    const present = catalog.formerNames.get(table.name);
    if (present !== undefined) {
      this.#formerNames.delete(table.name);
      this.#creations.push(dropFormerName(table.name, present, catalog));
    } else this.#creations.push(...makeWay(table.name, catalog, [...this.#wanted, ...this.#formerTables()]));
    const was = declarations.find(({ name }) => name === table.name)!.schema['x-collection']?.was ?? '';
    if (!isCollection(was, catalog) || declarations.some(({ name }) => name === was)) {
      this.#creations.push(createTable(table, nameOf));
      this.#references.push(...referenceTables(table, nameOf));
      return false;
    }
    this.#renamed.set(was, table.name);
    const { step, renamed, triggers } = renameTable(
      {
        was,
        existing: this.#tables.get(was)!,
        former: this.#formerTable(was, table.name),
        table,
        formerNames: formerNamesOf(was, this.#formerNames),
      },
      nameOf,
      (name) => this.#renamed.get(name) ?? name,
    );
    this.#renames.push(step);
    for (const each of formerNamesOf(was, this.#formerNames)) this.#formerNames.set(each, table.name);
    if (!table.distribution) this.#formerNames.set(was, table.name);
    this.#tables.delete(was);
    this.#tables.set(table.name, renamed);
    for (const [target, names] of triggers) {
      const found = this.#tables.get(target);
      if (found) this.#tables.set(target, { ...found, triggers: new Set([...found.triggers, ...names]) });
    }
    return true;
  }

  #formerNameOf(name: string): string {
    return [...this.#renamed].find(([, present]) => present === name)?.[0] ?? name;
  }

  /** The table of an applied declaration, by its name in the plan. */
  #formerTable(was: string, name: string): Table | undefined {
    const resource = this.#formerResources.get(was);
    return resource && tableOf({ ...resource, name }, this.catalog);
  }

  #formerTables(): Table[] {
    return [...this.#formerResources.values()].map((resource) => tableOf(resource, this.catalog));
  }
}

/** Former declarations whose references still lead somewhere; the others cannot be turned into resources. */
function known(declarations: readonly Declaration[]): Declaration[] {
  const names = new Set(declarations.map(({ name }) => name));
  const isKnown = (field: DeclaredField) => {
    const reference = declaredReference(field);
    return reference === undefined || names.has(reference.to);
  };
  return declarations.filter(({ schema }) => Object.values(schema.properties).every(isKnown));
}
