import postgres from 'postgres';
import { collectionsSchemaOf } from '../../src/db/object-names.js';
import type { Test } from './test.js';

/** The schema of the tables of collections. */
export const SCHEMA = collectionsSchemaOf('public');

/** Opens a connection of a test, which knows the tables of the service and those of collections by their names alone. */
export const openSql = (
  url: string,
  { connection, ...options }: postgres.Options<Record<string, never>> = {},
): postgres.Sql =>
  postgres(url, { ...options, connection: { search_path: `public, ${SCHEMA}`, ...connection } });

/** Opens one connection, which reports no notices and is closed after the test. */
export function sqlOf(
  t: Pick<Test, 'teardown'>,
  url: string,
  options?: postgres.Options<Record<string, never>>,
): postgres.Sql {
  const sql = openSql(url, { max: 1, onnotice: () => undefined, ...options });
  t.teardown(() => sql.end());
  return sql;
}
