import type { Resource } from '../collection/resource.js';
import type { Run } from '../db/db.js';
import type { Engine } from '../db/engine.js';
import { DatabaseError } from '../db/migrate.js';
import { type SchemaConnection, withSchemaConnection } from '../db/schema-connection.js';
import { readStatements } from '../db/statements.js';
import type { Declaration } from '../declarations/declaration.js';
import { resourcesOf } from '../declarations/load-declarations.js';
import type { Declarations } from '../declarations/read-declarations.js';
import { findViolations, runStep, type Violations } from './apply-plan.js';
import { engineOf, readCatalog } from './catalog.js';
import { appliedText, type Plan, planChanges } from './plan.js';
import type { Step } from './step.js';

const STATEMENTS = readStatements('collections.sql');

/** The key of an advisory lock: "plnt" and 2. */
const LOCK = [0x706c6e74, 2];

export interface MigrateOptions {
  /** Whether steps that lose data run too. */
  readonly allowDrop?: boolean;
  /** Whether records that violate a new rule stay as they are. */
  readonly allowViolations?: boolean;
  readonly onStep?: (step: Step, index: number, of: number) => void | Promise<void>;
}

/** The plan for a database, and the stored records that violate new rules. */
export interface CheckedPlan extends Plan {
  readonly violations: readonly Violations[];
}

/** Plans without changing anything. Throws DatabaseError. */
export function planCollections(url: string, declarations: Declarations): Promise<CheckedPlan> {
  return withSchemaConnection(url, async ({ run }) => checkedPlan(run, declarations, await engineOf(run)));
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
    await run('select pg_advisory_lock($1::integer, $2::integer)', LOCK);
    const engine = await engineOf(run);
    const plan = await checkedPlan(run, declarations, engine);
    const violating = plan.violations.filter(({ violating }) => violating > 0);
    if (violating.length > 0 && !options.allowViolations)
      throw new DatabaseError(violating.map(violationText).join('\n'));
    const { collections } = declarations;
    const resources = new Map(resourcesOf(declarations).map((resource) => [resource.name, resource]));
    await runAll(connection, plan.steps, resources, options);
    if (plan.isRenaming) {
      const rest = planChanges(collections, await readCatalog(run, namesOf(collections), engine));
      await runAll(connection, rest.steps, resources, options);
    }
    if (options.allowDrop) await runAll(connection, plan.drops, resources, options);
    await recordApplied(run, collections);
    return plan;
  });
}

/** Records that the tables match these declarations. */
export async function recordApplied(run: Run, declarations: readonly Declaration[]): Promise<void> {
  for (const declaration of declarations)
    await run(STATEMENTS.get('apply')!, [declaration.name, appliedText(declaration)]);
}

/** One paragraph on records that violate a declaration. */
export function violationText({ collection, records, violating, examples }: Violations): string {
  return `${violating} of ${records} records of ${collection} violate the declaration:\n${examples.map((text) => `  ${text}`).join('\n')}`;
}

async function runAll(
  connection: SchemaConnection,
  steps: readonly Step[],
  resources: ReadonlyMap<string, Resource>,
  { onStep }: MigrateOptions,
): Promise<void> {
  for (const [index, step] of steps.entries()) {
    await onStep?.(step, index, steps.length);
    await runStep(connection, step, resources.get(step.work?.collection ?? '')).catch((error: Error) => {
      throw new DatabaseError(`${step.title}: ${error.message}`, { cause: error });
    });
  }
}

async function checkedPlan(run: Run, declarations: Declarations, engine: Engine): Promise<CheckedPlan> {
  const { collections } = declarations;
  const plan = planChanges(collections, await readCatalog(run, namesOf(collections), engine));
  const resources = new Map(resourcesOf(declarations).map((resource) => [resource.name, resource]));
  const violations: Violations[] = [];
  for (const { name } of plan.changed) violations.push(await findViolations(run, resources.get(name)!));
  return { ...plan, violations };
}

/** The tables that declarations name, and those that they named before. */
export function namesOf(declarations: readonly Declaration[]): string[] {
  return declarations.flatMap(({ name, schema }) => {
    const was = schema['x-collection']?.was;
    return was === undefined ? [name] : [name, was];
  });
}
