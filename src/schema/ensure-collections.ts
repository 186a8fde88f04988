import type { Resource } from '../collection/resource.js';
import type { Db } from '../db/db.js';
import type { Database } from '../db/open-database.js';
import { resourcesOf } from '../declarations/load-declarations.js';
import type { Declarations } from '../declarations/read-declarations.js';
import { RefusedError } from '../errors/exit-error.js';
import type { Log } from '../telemetry/log.js';
import { namesOf, readCatalog, storedPlaces } from './catalog.js';
import { planText } from './checked-plan.js';
import {
  migrateCollections,
  planCollections,
  recordApplied,
  settle,
  unrecorded,
} from './migrate-collections.js';
import { planChanges } from './plan.js';
import { appliedText } from './stricter-rules.js';

/**
 * Makes sure that the tables match the declarations: with `auto` it takes the steps that lose nothing, otherwise it throws
 * with the plan. Services with the declarations that these replaced need no step. Throws DeclarationError, and DatabaseError if
 * stored records violate a declaration.
 */
export async function ensureCollections(
  database: { readonly db: Pick<Db, 'run' | 'engine'>; readonly url: string; readonly schema: string },
  declarations: Declarations,
  mode: 'auto' | 'check',
  log: Log,
): Promise<void> {
  const { run, engine } = database.db;
  const { collections } = declarations;
  const present = await readCatalog(run, namesOf(collections), { engine, schema: database.schema });
  const former = unrecorded(collections, present).filter(
    (each) => present.former.get(each.name) === appliedText(each),
  );
  const catalog = {
    ...present,
    applied: new Map([...present.applied, ...former.map((each) => [each.name, appliedText(each)] as const)]),
  };
  const changed = unrecorded(collections, catalog);
  const isRecorded = changed.length === 0;
  // Loaded on demand: a start with known declarations takes less time without it.
  if (!isRecorded) (await import('../declarations/check-declarations.js')).checkDeclarations(declarations);
  const plan = planChanges(collections, catalog, declarations.sqlFiles);
  if (plan.steps.length === 0 && !plan.changes.some(({ isStricter }) => isStricter)) {
    if (!isRecorded) await recordApplied(run, changed);
    await settle(run, plan.fenced);
    return;
  }
  // A database whose declarations were never applied has nothing that a step could disturb.
  const isNew = catalog.applied.size === 0;
  if (mode === 'check' && !isNew) {
    const text = planText(await planCollections(database.url, declarations));
    throw new RefusedError(
      `the database does not match the declarations; \`plinth migrate\` takes these steps:\n\n${text}`,
    );
  }
  await migrateCollections(database.url, declarations, {
    onStep: ({ title }, index, of) => log.info({ step: index + 1, of }, title),
  });
}

/** The collections of declarations that the tables of a database match. `prefix` precedes the paths of links. */
export async function storedResources(
  { db, schema }: Pick<Database, 'db' | 'schema'>,
  declarations: Declarations,
  prefix = '',
): Promise<Resource[]> {
  const { collections } = declarations;
  const catalog = await readCatalog(db.run, namesOf(collections), { engine: db.engine, schema });
  return resourcesOf(declarations, { ...storedPlaces(catalog, collections), prefix });
}

/** The collections, of those given, that have a table. */
export async function collectionsWithTables(
  { db, schema }: Pick<Database, 'db' | 'schema'>,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const { tables } = await readCatalog(db.run, names, { engine: db.engine, schema });
  return new Set(names.filter((name) => tables.has(name)));
}
