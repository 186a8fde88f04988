import type { Database } from '../../db/open-database.js';
import { withSchemaConnection } from '../../db/schema-connection.js';
import { layoutOf, readCatalog } from '../../schema/catalog.js';
import { runStep } from '../../schema/migrate-collections.js';
import { planChanges } from '../../schema/plan.js';

/** The collections, of those given, that have a table. */
export async function collectionsWithTables(
  { db, schema }: Pick<Database, 'db' | 'schema'>,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const { tables } = await readCatalog(db.run, names, { engine: db.engine, schema });
  return new Set(names.filter((name) => tables.has(name)));
}

/** Removes the tables of collections, also if their creation was interrupted. */
export async function dropCollections(url: string, names: readonly string[]): Promise<void> {
  await withSchemaConnection(url, async (connection) => {
    const { run } = connection;
    const catalog = await readCatalog(run, names, await layoutOf(run));
    const applied = new Map(names.map((name) => [name, JSON.stringify({ type: 'object', properties: {} })]));
    const formerNames = new Map([...catalog.formerNames].filter(([, present]) => names.includes(present)));
    for (const step of planChanges([], { ...catalog, applied, formerNames }).drops)
      await runStep(connection, step, undefined);
  });
}
