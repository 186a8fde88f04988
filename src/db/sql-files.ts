import { readdirSync, readFileSync } from 'node:fs';

/** Where the project's SQL lives, beside dist/. A bundle has the texts inlined in place of this file: .ci/bundle.js. */
export const SQL_DIR = new URL('../../../sql/', import.meta.url);

/** The text of a file of sql/. Throws ENOENT. */
export function readSql(file: string): string {
  return readFileSync(new URL(file, SQL_DIR), 'utf8');
}

/** The names of the files in sql/migrations. */
export function listMigrations(): string[] {
  return readdirSync(new URL('migrations/', SQL_DIR));
}
