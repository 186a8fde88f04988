import type { Resource } from '../collection/resource.js';
import { COLLECTIONS_SQL } from '../db/core-statements.js';
import type { Database } from '../db/open-database.js';
import { resourcesOf } from '../declarations/load-declarations.js';
import type { Declarations } from '../declarations/read-declarations.js';

const COLUMNS = COLLECTIONS_SQL.columns;

/** The collections of declarations that the tables of a database match. `prefix` precedes the paths of links. */
export async function storedResources(
  { db, schema }: Pick<Database, 'db' | 'schema'>,
  declarations: Declarations,
  prefix = '',
): Promise<Resource[]> {
  const rows = await db.run(COLUMNS, [schema]);
  const types = new Map(rows.map(({ of, name, type }) => [`${of}.${name}`, String(type)]));
  const typeOf = (collection: string, column: string) => types.get(`${collection}.${column}`);
  return resourcesOf(declarations, { schema, prefix, typeOf });
}
