import type { Column } from '../../collection/column.js';
import type { Run } from '../../db/db.js';
import { fill } from '../../db/statements.js';
import type { Json } from '../../json.js';
import { IMPORT_SQL } from './import-statements.js';

/** The ids of stored records with these values of columns, with the keys of the values. */
export async function findByValues(
  run: Run,
  table: string,
  columns: readonly Column[],
  values: readonly (readonly Json[])[],
): Promise<readonly { readonly key: string; readonly id: string }[]> {
  if (values.length === 0) return [];
  const collation = ({ type }: Column) => (type === 'text' ? ' collate "C"' : '');
  const parts = {
    table,
    values: columns.map(({ name }) => `current.${name}::text as ${name}, `).join(''),
    given: columns.map(({ name, type }) => `${name} ${type}`).join(', '),
    equal: columns.map((each) => `current.${each.name}${collation(each)} = given.${each.name}`).join(' and '),
  };
  const given = values.map((row) => Object.fromEntries(columns.map(({ name }, at) => [name, row[at]!])));
  const rows = await run(fill(IMPORT_SQL.find_by_values, parts), [JSON.stringify(given)]);
  return rows.map(({ id, ...row }) => ({ key: keyOf(columns, Object.values(row)), id: id as string }));
}

/** Values of columns as a key; numbers have several texts. */
export const keyOf = (columns: readonly Column[], values: readonly unknown[]): string =>
  columns
    .map(({ type }, at) => (type === 'double precision' ? String(Number(values[at])) : String(values[at])))
    .join('\0');
