import type { Run } from './db.js';

/** The schema that a migrated database has for the tables of collections. */
export async function collectionsSchema(run: Run): Promise<string> {
  const [row] = await run('select plinth_collections_schema() as name', []);
  return String(row!.name);
}
