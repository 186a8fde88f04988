import type { Config } from '../../config/config.js';
import type { Inspection } from '../../db/inspect.js';
import { pendingMigrationsAt } from '../../db/migrate.js';
import type { Declarations } from '../../declarations/read-declarations.js';
import { planCollections } from '../../schema/migrate-collections.js';
import { type Check, messageOf, resultsOf } from './check.js';

const plan = resultsOf('plan');

/** The changes that the next start or `plinth migrate` makes. */
export async function checkPlan(
  url: string,
  config: Config,
  declarations: Declarations,
  found: Inspection,
): Promise<Check[]> {
  try {
    return await compare(url, config, declarations, found);
  } catch (error) {
    const text = `the tables cannot be compared with the declarations: ${messageOf(error)}`;
    return [plan.problem(text, `let the role ${found.role} own the tables, or correct the cause`)];
  }
}

async function compare(
  url: string,
  { migrate, databaseEngine }: Config,
  declarations: Declarations,
  found: Inspection,
): Promise<Check[]> {
  if (!found.hasMigrations) return [plan.ok('the first start creates all tables')];
  const pending = await pendingMigrationsAt(url, databaseEngine);
  if (pending.refusal !== undefined)
    return [plan.problem(pending.refusal, 'start the version that the database needs')];
  if (pending.changed.length > 0)
    return [
      plan.problem(
        `applied migrations are others than those of this version: ${pending.changed.join(', ')}`,
        'restore the files of sql/migrations, or delete a database of development',
      ),
    ];
  if (pending.missing.length > 0) return [plan.ok(`the next start applies ${pending.missing.join(', ')}`)];
  const { steps, drops, violations } = await planCollections(url, declarations);
  const violating = violations.filter((each) => each.violating > 0);
  if (violating.length > 0)
    return violating.map((each) =>
      plan.problem(
        `${each.violating} of ${each.records} records of ${each.collection} violate the declaration`,
        'plinth migrate --violations lists them; correct them, or plinth migrate --allow-violations',
      ),
    );
  if (steps.length > 0)
    return [
      migrate === 'auto'
        ? plan.ok(`the next start takes ${steps.length} steps: plinth migrate --plan`)
        : plan.problem(
            `the tables do not match the declarations: ${steps.length} steps are missing`,
            'plinth migrate --plan, then plinth migrate',
          ),
    ];
  return drops.length > 0
    ? [
        plan.warning(
          `${drops.length} steps complete a change of the declarations: they remove what is no longer declared`,
          'plinth migrate --plan, then plinth migrate --allow-drop when no service has them; or declare it again',
        ),
      ]
    : [plan.ok('the tables match the declarations')];
}
