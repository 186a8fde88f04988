import { readdirSync, readFileSync } from 'node:fs';

/** The folder sql/, beside dist/. In a bundle this module is replaced by one with the texts inlined: .ci/bundle.js. */
export const SQL_DIR = new URL('../../../sql/', import.meta.url);

/** The text of a file of sql/. Throws ENOENT. */
export function readSql(file: string): string {
  return readFileSync(new URL(file, SQL_DIR), 'utf8');
}

/** The paths of all files in sql/: `migrations/0200_plinth_records.sql`. */
export function listSql(): string[] {
  const names = readdirSync(SQL_DIR, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.sql')).map((name) => name.replaceAll('\\', '/'));
}
