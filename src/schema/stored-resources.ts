import type { Resource } from '../collection/resource.js';
import { COLLECTIONS_SQL } from '../db/core-statements.js';
import type { Database } from '../db/open-database.js';
import { resourcesOf } from '../declarations/load-declarations.js';
import type { Declarations } from '../declarations/read-declarations.js';

const { columns: COLUMNS, fields_since: FIELDS_SINCE } = COLLECTIONS_SQL;

/** The collections of declarations that the tables of a database match. `prefix` precedes the paths of links. */
export async function storedResources(
  { db, schema }: Pick<Database, 'db' | 'schema'>,
  declarations: Declarations,
  prefix = '',
): Promise<Resource[]> {
  const rows = await db.run(COLUMNS, [schema]);
  const types = new Map(rows.map(({ of, name, type }) => [`${of}.${name}`, String(type)]));
  const tables = new Map(rows.map(({ of, table }) => [String(of), String(table)]));
  const typeOf = (collection: string, column: string) => types.get(`${collection}.${column}`);
  const since = await db.run(FIELDS_SINCE, []);
  const fieldsSince = new Map(
    since.map(({ name, fields }) => [
      String(name),
      new Map(Object.entries(JSON.parse(String(fields)) as Record<string, number>)),
    ]),
  );
  return resourcesOf(declarations, {
    schema,
    prefix,
    typeOf,
    tableOf: (name) => tables.get(name),
    fieldsSince,
  });
}
