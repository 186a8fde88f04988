import type { Resource } from '../collection/resource.js';
import { COLLECTIONS_SQL } from '../db/core-statements.js';
import { databaseErrorOf, UNIQUE_VIOLATION } from '../db/database-errors.js';
import type { Run } from '../db/db.js';
import { DatabaseError } from '../db/migrate.js';
import { qualified } from '../db/object-names.js';
import { type SchemaConnection, takeTurn, withSchemaConnection } from '../db/schema-connection.js';
import type { Declaration } from '../declarations/declaration.js';
import { resourcesOf } from '../declarations/load-declarations.js';
import type { Declarations } from '../declarations/read-declarations.js';
import { type Catalog, layoutOf, namesOf, readCatalog, storedPlaces } from './catalog.js';
import {
  type CheckedPlan,
  isRefused,
  type MigrateAllowances,
  type Plan,
  violationsText,
} from './checked-plan.js';
import { workOnDocuments } from './document-work.js';
import type { Change } from './field-work.js';
import { planChanges } from './plan.js';
import type { DocumentWork, SchemaStep } from './step.js';
import { appliedText } from './stricter-rules.js';
import {
  type BrokenRule,
  checkRecords,
  findViolations,
  type RecordCheck,
  type Violation,
  type Violations,
} from './violations.js';

/** The key of an advisory lock: "plnt" and 2. */
const LOCK = [0x706c6e74, 2] as const;

export interface MigrateOptions extends MigrateAllowances {
  readonly onStep?: (step: SchemaStep, index: number, of: number) => void | Promise<void>;
}

/** Plans without changing anything; `maxRecords`: how many records of a collection are compared. Throws DatabaseError. */
export function planCollections(
  url: string,
  declarations: Declarations,
  allowDrop?: boolean,
  maxRecords?: number,
): Promise<CheckedPlan> {
  return withSchemaConnection(url, async ({ run }) => {
    const catalog = await catalogOf(run, declarations);
    const plan = planChanges(declarations.collections, catalog, declarations.sqlFiles);
    const violations = await violationsOf(run, declarations, catalog, plan, allowDrop, maxRecords);
    return { ...plan, violations };
  });
}

/**
 * Passes every stored record that violates its declaration to `onViolation`, once for each rule that it violates, also those
 * that a migration let stay. The records are checked as they are after the steps of the plan. Throws DatabaseError.
 */
export function listViolations(
  url: string,
  declarations: Declarations,
  onViolation: (collection: string, violation: Omit<Violation, 'rules'> & BrokenRule) => void | Promise<void>,
): Promise<void> {
  return withSchemaConnection(url, async ({ run }) => {
    const catalog = await catalogOf(run, declarations);
    const { changes } = planChanges(declarations.collections, catalog);
    for (const check of checksOf(declarations, catalog, changes))
      for await (const violation of checkRecords(run, check))
        for (const rule of violation?.rules ?? []) {
          const { id, isDuplicate } = violation!;
          await onViolation(check.resource.name, { id, ...rule, isDuplicate });
        }
  });
}

/**
 * Brings the tables in line with declarations. Each step is planned from the state of the database, so that an interrupted
 * run is completed by the next one; an advisory lock lets one run at a time. Throws DatabaseError if stored records violate
 * a declaration, or if a step fails.
 */
export function migrateCollections(
  url: string,
  declarations: Declarations,
  options: MigrateOptions = {},
): Promise<CheckedPlan> {
  return withSchemaConnection(url, async (connection) => {
    const { run } = connection;
    await takeTurn(run, LOCK);
    const { collections } = declarations;
    const catalog = await catalogOf(run, declarations);
    const plan = planChanges(collections, catalog, declarations.sqlFiles);
    const resources = resourcesByName(declarations, catalog, plan.tables);
    await runAll(connection, plan.steps.slice(0, plan.sqlFiles), resources, options, plan.steps);
    const violations = await violationsOf(run, declarations, catalog, plan, options.allowDrop);
    const checked = { ...plan, violations };
    if (isRefused(checked, options)) throw new DatabaseError(violationsText(checked));
    await runAll(connection, plan.steps.slice(plan.sqlFiles), resources, options, plan.steps);
    for (const { name: collection, dropped } of plan.changes)
      for (const field of dropped) {
        const work: DocumentWork = { kind: 'prune', collection, fields: [field] };
        await run(COLLECTIONS_SQL.offer, [collection, JSON.stringify(work)]);
      }
    if (options.allowDrop) await runAll(connection, plan.drops, resources, options, plan.drops);
    await recordApplied(run, unrecorded(collections, catalog));
    await settle(run, options.allowDrop ? undefined : plan.fenced);
    return checked;
  });
}

/** The declarations that are not recorded as those that the tables match. */
export const unrecorded = (declarations: readonly Declaration[], { applied }: Catalog): Declaration[] =>
  declarations.filter((each) => applied.get(each.name) !== appliedText(each));

/** Records that the tables match these declarations. */
export async function recordApplied(run: Run, declarations: readonly Declaration[]): Promise<void> {
  for (const declaration of declarations)
    await run(COLLECTIONS_SQL.apply, [declaration.name, appliedText(declaration)]);
}

/** Notes that no service with a former declaration of collections uses their tables; undefined: of any collection. */
export async function settle(run: Run, names: readonly string[] | undefined): Promise<void> {
  if (names?.length !== 0) await run(COLLECTIONS_SQL.settle, [names ? JSON.stringify(names) : null]);
}

async function runAll(
  connection: SchemaConnection,
  steps: readonly SchemaStep[],
  resources: ReadonlyMap<string, Resource>,
  { onStep }: MigrateOptions,
  all: readonly SchemaStep[],
): Promise<void> {
  for (const step of steps) {
    await onStep?.(step, all.indexOf(step), all.length);
    await runStep(connection, step, resources.get(step.work?.collection ?? '')).catch((error: Error) => {
      const isDuplicate = databaseErrorOf(error)?.code === UNIQUE_VIOLATION;
      const hint = isDuplicate ? '; `plinth migrate --violations` lists the records' : '';
      throw new DatabaseError(`${step.title}: ${error.message}${hint}`, { cause: error });
    });
  }
}

/** Compares the records that may violate the declarations with these. */
async function violationsOf(
  run: Run,
  declarations: Declarations,
  catalog: Catalog,
  { changes }: Plan,
  allowDrop?: boolean,
  maxRecords?: number,
): Promise<Violations[]> {
  const compared = changes.filter(({ isStricter }) => isStricter);
  const violations: Violations[] = [];
  for (const check of checksOf(declarations, catalog, compared, allowDrop))
    violations.push(await findViolations(run, check, maxRecords));
  return violations;
}

/** How the records of collections are compared: as they are after the steps, and with `allowDrop` after the drops. */
function checksOf(
  declarations: Declarations,
  catalog: Catalog,
  changes: readonly Change[],
  allowDrop = false,
): RecordCheck[] {
  const resources = resourcesByName(declarations, catalog);
  const stored = storedPlaces(catalog, declarations.collections);
  const tableOf = (collection: string) => {
    const name = stored.tableOf(collection);
    return name === undefined ? undefined : qualified(catalog.schema, name);
  };
  return changes.map(({ name, table, works, prunes }) => ({
    resource: resources.get(name)!,
    table: qualified(catalog.schema, table),
    works: allowDrop ? [...works, ...prunes] : works,
    tableOf,
  }));
}

const catalogOf = async (run: Run, { collections }: Declarations): Promise<Catalog> =>
  readCatalog(run, namesOf(collections), await layoutOf(run));

/** The collections of declarations, with the columns that the steps make, and the names that `tables` get. */
const resourcesByName = (
  declarations: Declarations,
  catalog: Catalog,
  tables: Plan['tables'] = new Map(),
): ReadonlyMap<string, Resource> =>
  new Map(
    resourcesOf(declarations, {
      ...storedPlaces(catalog, declarations.collections),
      tableOf: (name) => tables.get(name),
    }).map((resource) => [resource.name, resource]),
  );

/** Runs one step. `resource`: the collection of its work on documents. */
async function runStep(
  connection: SchemaConnection,
  step: SchemaStep,
  resource: Resource | undefined,
): Promise<void> {
  if (step.work) await workOnDocuments(connection.run, step.work, resource!);
  if (step.isConcurrent) for (const text of step.sql) await connection.run(text, []);
  else if (step.sql.length > 0) await connection.transaction(step.sql);
}
