import { readdirSync, readFileSync } from 'node:fs';

/** The folder sql/, beside dist/. In a bundle this module is replaced by one with the texts inlined: .ci/bundle.js. */
export const SQL_DIR = new URL('../../../sql/', import.meta.url);

/** The text of a file of sql/. Throws ENOENT. */
export function readSql(file: string): string {
  return readFileSync(new URL(file, SQL_DIR), 'utf8');
}

/** The names of the files in a folder of migrations. */
export function listMigrations(folder: string): string[] {
  return readdirSync(new URL(`${folder}/`, SQL_DIR));
}
