import type { Resource } from '../collection/resource.js';
import { qualified } from '../db/object-names.js';
import type { Declaration, DeclarationFault, DeclaredField, SqlFile } from '../declarations/declaration.js';
import { declaredReference } from '../declarations/declared-column.js';
import {
  appliedNameFault,
  collectionNames,
  fieldNames,
  type Names,
} from '../declarations/former-name-faults.js';
import { DeclarationError } from '../declarations/read-declarations.js';
import { resourcesWithoutRefs } from '../declarations/resource-of.js';
import { escapeToken } from '../json.js';
import { type Catalog, type ExistingTable, formerNamesOf, storedPlaces } from './catalog.js';
import type { Plan } from './checked-plan.js';
import { type ChooseName, namesIn } from './chosen-names.js';
import { dropFormerName, dropTable, moveTable } from './collection-steps.js';
import {
  documentStep,
  droppedFields,
  fieldWorks,
  hideFields,
  pruneFields,
  repeatWork,
} from './field-steps.js';
import { type Change, fieldsOf, worksOf } from './field-work.js';
import { isCollection, requireFreeName } from './occupied.js';
import { requireInShards } from './shards.js';
import { isNamedIn, sqlFileSteps } from './sql-file-steps.js';
import type { SchemaStep } from './step.js';
import { isStricter } from './stricter-rules.js';
import { type Table, tableOf } from './table.js';
import { alterTable, createTable, dropColumns, referenceTables } from './table-steps.js';
import { type Windows, windowHash, windowsOf } from './windows.js';

/** Plans what is missing. Of a database that is in line, the plan has no steps. Throws RefusedError and DeclarationError. */
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
  /** The collections as they are at the step that is planned. */
  readonly #tables: Map<string, ExistingTable>;
  readonly #windows: Windows;
  // Creations and moves precede all others, which may refer to the tables.
  readonly #creations: SchemaStep[] = [];
  readonly #moves: SchemaStep[] = [];
  readonly #references: SchemaStep[] = [];

  constructor(
    readonly declarations: readonly Declaration[],
    readonly catalog: Catalog,
    readonly sqlFiles: readonly SqlFile[],
  ) {
    const { engine, tables } = catalog;
    const formerDeclarations = [...catalog.applied].map(
      ([name, text]) => ({ name, file: name, schema: JSON.parse(text) }) as Declaration,
    );
    this.#formerResources = new Map(
      resourcesWithoutRefs(known(formerDeclarations), storedPlaces(catalog, formerDeclarations)).map(
        (resource) => [resource.name, resource],
      ),
    );
    this.#tables = new Map(tables);
    this.#windows = windowsOf(declarations, catalog);
    this.#resources = resourcesWithoutRefs(declarations, {
      ...storedPlaces(catalog, declarations),
      tableOf: (name) => this.#windows.names.get(name),
    });
    requireInShards(declarations, this.#resources, engine);
    requireFormerNames(declarations, catalog);
    this.#wanted = this.#resources.map((resource) => tableOf(resource, catalog));
  }

  plan(): Plan {
    const nameOf = namesIn(this.#wanted);
    const created = new Set(
      this.#wanted.filter((table, index) => !this.#findOrCreate(table, index)).map(({ name }) => name),
    );
    const [steps, drops]: [SchemaStep[], SchemaStep[]] = [[], []];
    const changes: Change[] = [];
    const first = sqlFileSteps(this.sqlFiles, this.catalog);
    for (const [name, present] of this.catalog.formerNames)
      drops.push(dropFormerName(name, this.#windows.renamed.get(present) ?? present, this.catalog));
    for (const [index, table] of this.#wanted.entries()) {
      if (created.has(table.name)) continue;
      const altered = this.#alter(table, index, nameOf);
      steps.push(...altered.steps);
      drops.push(...altered.drops);
      changes.push(altered.change);
    }
    const isDropped = (name: string) =>
      isCollection(name, this.catalog) &&
      !this.#windows.renamed.has(name) &&
      !this.declarations.some((each) => each.name === name);
    const removed = [...this.catalog.applied.keys()].filter(isDropped);
    return {
      steps: [...first, ...this.#creations, ...this.#moves, ...steps, ...this.#references],
      drops: [...drops, ...removed.map((name) => dropTable(name, this.catalog))],
      sqlFiles: first.length,
      changes,
      tables: this.#windows.names,
      fenced: [...this.#windows.fenced],
    };
  }

  /** The steps for a table that exists, and what they change for its records. */
  #alter(table: Table, index: number, nameOf: ChooseName) {
    const { pending, due, sqlFiles, applied, tables } = this.catalog;
    const declaration = this.declarations[index]!;
    const resource = this.#resources[index]!;
    const was = this.#formerNameOf(table.name);
    const before = applied.get(was);
    const former = before === undefined ? undefined : (JSON.parse(before) as Declaration['schema']);
    const existing = this.#tables.get(table.name)!;
    // No service has served a collection without an applied declaration, as on a new database.
    const isFenced = this.#windows.fenced.has(table.name) || before === undefined;
    const works = fieldWorks(declaration, former);
    const workedFields = works.flatMap(fieldsOf);
    const pendingFiles = this.sqlFiles.filter(({ name }) => !sqlFiles.has(name));
    const isDue = due.has(was) || pendingFiles.some((file) => isNamedIn(file, was));
    const dropped = droppedFields(declaration, former);
    const ofTable = pending.filter(({ collection }) => collection === was);
    const prunes = pruneFields(declaration, dropped, ofTable);
    const repeats = repeatWork(declaration, table, resource.writeOnly, ofTable);
    const change: Change = {
      name: table.name,
      table: tables.get(was)!.table ?? was,
      works: [...works, ...worksOf(repeats)],
      prunes: worksOf(prunes),
      dropped,
      // An SQL file may have given records values that the declaration does not permit.
      isStricter: isDue || isStricter(declaration, before),
    };
    return {
      steps: [
        ...works.map((work) => documentStep(work, isFenced)),
        ...alterTable({
          table,
          former: this.#formerTable(was, table.name),
          existing,
          nameOf,
          isDue,
          changed: new Set(workedFields.flatMap((field) => resource.columns.get(field)?.name ?? [])),
          isFenced,
        }),
        ...hideFields(resource, former, isFenced),
      ],
      drops: [...repeats, ...prunes, ...dropColumns(table, existing)],
      change,
    };
  }

  /** Whether a collection has a table, also by a former name, which it has no more after the step; otherwise the plan creates it. */
  #findOrCreate(table: Table, index: number): boolean {
    const { catalog } = this;
    const nameOf = namesIn(this.#wanted);
    const was = this.#formerNameOf(table.name);
    if (!catalog.tables.has(table.name) && !catalog.formerNames.has(table.name))
      requireFreeName(table.name, catalog);
    if (!catalog.tables.has(was)) {
      this.#creations.push(createTable(table, nameOf));
      this.#references.push(...referenceTables(table, nameOf));
      return false;
    }
    const { moved: isMoved, names, renamed } = this.#windows;
    if (!isMoved.has(table.name)) return true;
    const [existing, to] = [this.#tables.get(was)!, names.get(table.name)!];
    this.#tables.delete(was);
    this.#tables.set(table.name, { ...existing, table: to });
    const { step, moved } = moveTable(
      {
        was,
        existing,
        former: this.#formerTable(was, table.name),
        table,
        to,
        formerNames: formerNamesOf(was, catalog.formerNames),
        hash: windowHash(this.declarations[index]!),
      },
      nameOf,
      (collection) => {
        const name = this.#tables.has(collection) ? collection : (renamed.get(collection) ?? collection);
        return { to: name, target: qualified(catalog.schema, this.#tables.get(name)?.table ?? name) };
      },
    );
    this.#moves.push(step);
    this.#tables.set(table.name, moved);
    return true;
  }

  #formerNameOf(name: string): string {
    return [...this.#windows.renamed].find(([, present]) => present === name)?.[0] ?? name;
  }

  /** The table of an applied declaration, by its name in the plan. */
  #formerTable(was: string, name: string): Table | undefined {
    const resource = this.#formerResources.get(was);
    const table = qualified(this.catalog.schema, this.#windows.names.get(name) ?? name);
    return resource && tableOf({ ...resource, name, table }, this.catalog);
  }
}

/** Throws DeclarationError for former names that the applied declarations contradict. */
function requireFormerNames(declarations: readonly Declaration[], catalog: Catalog): void {
  const stored = new Map([...catalog.applied].filter(([name]) => isCollection(name, catalog)));
  const applied = new Map([...stored.keys()].map((name) => [name, undefined] as const));
  const collections = collectionNames(declarations);
  const faults = declarations.flatMap(({ file, schema }, at): DeclarationFault[] => {
    const { name, was } = collections[at]!;
    const before = stored.get(name) ?? catalog.applied.get(was ?? '');
    const ofCollection = appliedNameFault('collection', collections[at]!, collections, applied);
    const fields = fieldNames(schema);
    const former =
      before === undefined ? undefined : namesOf(fieldNames(JSON.parse(before) as typeof schema));
    return [
      ...(former ? fields : []).map(
        (each) =>
          [
            `/properties/${escapeToken(each.name)}/x-was`,
            appliedNameFault('field', each, fields, former!),
          ] as const,
      ),
      ['/x-collection/was', ofCollection] as const,
    ].flatMap(([pointer, reason]) => (reason === undefined ? [] : [{ file, pointer, reason }]));
  });
  if (faults.length > 0) throw new DeclarationError(faults);
}

const namesOf = (names: Names) => new Map(names.map(({ name, was }) => [name, was]));

/** Former declarations whose references still lead somewhere; the others cannot be turned into resources. */
export function known(declarations: readonly Declaration[]): Declaration[] {
  const names = new Set(declarations.map(({ name }) => name));
  const isKnown = (field: DeclaredField) => {
    const reference = declaredReference(field);
    return reference === undefined || names.has(reference.to);
  };
  return declarations.filter(({ schema }) => Object.values(schema.properties).every(isKnown));
}
