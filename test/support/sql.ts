import postgres from 'postgres';
import { collectionsSchemaOf } from '../../src/db/object-names.js';

/** The schema of the tables of collections. */
export const SCHEMA = collectionsSchemaOf('public');

/** Opens a connection of a test, which knows the tables of the service and those of collections by their names alone. */
export const openSql = (
  url: string,
  { connection, ...options }: postgres.Options<Record<string, never>> = {},
): postgres.Sql =>
  postgres(url, { ...options, connection: { search_path: `public, ${SCHEMA}`, ...connection } });
