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
import { type Catalog, formerNames, layoutOf, readCatalog, storedTypes } from './catalog.js';
import { type CheckedPlan, isRefused, type Plan, violationsText } from './checked-plan.js';
import type { TableOf } from './dangling.js';
import { workOnDocuments } from './document-work.js';
import { planChanges } from './plan.js';
import type { SchemaStep } from './step.js';
import { appliedText } from './stricter-rules.js';
import { checkRecords, findViolations, type Violation, type Violations } from './violations.js';

/** The key of an advisory lock: "plnt" and 2. */
const LOCK = [0x706c6e74, 2] as const;

export interface MigrateOptions {
  /** Whether steps that lose data run too. */
  readonly allowDrop?: boolean;
  /** Whether records that violate a new rule stay as they are. */
  readonly allowViolations?: boolean;
  readonly onStep?: (step: SchemaStep, index: number, of: number) => void | Promise<void>;
}

/** Plans without changing anything. `allowDrop`: the records are checked as they are after the drops. Throws DatabaseError. */
export function planCollections(
  url: string,
  declarations: Declarations,
  allowDrop?: boolean,
): Promise<CheckedPlan> {
  return withSchemaConnection(url, async ({ run }) =>
    checkedPlan(run, declarations, await catalogOf(run, declarations), allowDrop),
  );
}

/**
 * Passes every stored record that violates its declaration to `onViolation`, once for each rule that it violates, also those
 * that a migration let stay. The records are checked as they are after the steps of the plan. Throws DatabaseError.
 */
export function listViolations(
  url: string,
  declarations: Declarations,
  onViolation: (collection: string, violation: Omit<Violation, 'others'>) => void | Promise<void>,
): Promise<void> {
  return withSchemaConnection(url, async ({ run }) => {
    const { collections } = declarations;
    const catalog = await catalogOf(run, declarations);
    const { changed, repeated } = planChanges(collections, catalog);
    for (const resource of resourcesIn(catalog, declarations)) {
      const change = [...changed, ...repeated].find(({ name }) => name === resource.name);
      const name = change?.table ?? resource.name;
      if (!catalog.tables.has(name)) continue;
      const table = qualified(catalog.schema, name);
      for await (const violation of checkRecords(run, {
        resource,
        table,
        works: change ? [...change.works, ...change.repeats] : [],
        tableOf: presentTables(catalog, collections),
      }))
        if (violation) {
          const { others, ...first } = violation;
          for (const rule of [first, ...others.map(({ path, message }) => ({ ...first, path, message }))])
            await onViolation(resource.name, rule);
        }
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
    const catalog = await catalogOf(run, declarations);
    const plan = await checkedPlan(run, declarations, catalog, options.allowDrop);
    const { collections } = declarations;
    const resources = resourcesByName(declarations, catalog);
    await runAll(connection, plan.steps.slice(0, plan.sqlFiles), resources, options, plan.steps);
    const checked =
      plan.sqlFiles === 0
        ? plan
        : { ...plan, violations: await violationsOf(run, declarations, catalog, plan, options.allowDrop) };
    if (isRefused(checked, options.allowViolations)) throw new DatabaseError(violationsText(checked));
    await runAll(connection, plan.steps.slice(plan.sqlFiles), resources, options, plan.steps);
    for (const [name, fields] of plan.dropped)
      for (const field of fields)
        await run(COLLECTIONS_SQL.offer, [
          name,
          JSON.stringify({ kind: 'prune', collection: name, fields: [field] }),
        ]);
    if (options.allowDrop) await runAll(connection, plan.drops, resources, options, plan.drops);
    await recordApplied(run, unrecorded(collections, catalog));
    return plan;
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

async function checkedPlan(
  run: Run,
  declarations: Declarations,
  catalog: Catalog,
  allowDrop = false,
): Promise<CheckedPlan> {
  const plan = planChanges(declarations.collections, catalog, declarations.sqlFiles);
  return { ...plan, violations: await violationsOf(run, declarations, catalog, plan, allowDrop) };
}

async function violationsOf(
  run: Run,
  declarations: Declarations,
  catalog: Catalog,
  plan: Plan,
  allowDrop = false,
): Promise<Violations[]> {
  const resources = resourcesByName(declarations, catalog);
  const violations: Violations[] = [];
  const changes = [
    ...plan.changed.map((change) => ({ ...change, onlyDuplicates: false })),
    // Records of services with a former declaration violate other rules until a client changes them.
    ...(allowDrop ? plan.repeated.map((change) => ({ ...change, onlyDuplicates: true })) : []),
  ];
  for (const { name, table: present, works, repeats, prunes, onlyDuplicates } of changes) {
    const resource = resources.get(name)!;
    if (onlyDuplicates && resource.unique.length === 0) continue;
    violations.push(
      await findViolations(run, {
        resource,
        table: qualified(catalog.schema, present),
        works: allowDrop ? [...works, ...repeats, ...prunes] : works,
        tableOf: presentTables(catalog, declarations.collections),
        onlyDuplicates,
      }),
    );
  }
  return violations;
}

const catalogOf = async (run: Run, { collections }: Declarations): Promise<Catalog> =>
  readCatalog(run, namesOf(collections), await layoutOf(run));

/** The collections of declarations, with the columns that the steps make. */
const resourcesIn = (catalog: Catalog, declarations: Declarations): Resource[] =>
  resourcesOf(declarations, {
    schema: catalog.schema,
    typeOf: storedTypes(catalog, declarations.collections),
  });

/** The tables of collections before the steps, which may rename them. */
function presentTables(catalog: Catalog, declarations: readonly Declaration[]): TableOf {
  const former = formerNames(declarations);
  return (collection) => {
    const name = [collection, former.get(collection) ?? ''].find((each) => catalog.tables.has(each));
    return name === undefined ? undefined : qualified(catalog.schema, name);
  };
}

const resourcesByName = (declarations: Declarations, catalog: Catalog): ReadonlyMap<string, Resource> =>
  new Map(resourcesIn(catalog, declarations).map((resource) => [resource.name, resource]));

/** The tables that declarations name, and those that they named before. */
export function namesOf(declarations: readonly Declaration[]): string[] {
  return declarations.flatMap(({ name, schema }) => {
    const was = schema['x-collection']?.was;
    return was === undefined ? [name] : [name, was];
  });
}

/** Runs one step. `resource`: the collection of its work on documents. */
export async function runStep(
  connection: SchemaConnection,
  step: SchemaStep,
  resource: Resource | undefined,
): Promise<void> {
  if (step.work) await workOnDocuments(connection.run, step.work, resource!);
  if (step.isConcurrent) for (const text of step.sql) await connection.run(text, []);
  else if (step.sql.length > 0) await connection.transaction(step.sql);
}
