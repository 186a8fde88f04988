import type { Column } from '../../collection/column.js';
import type { Run } from '../../db/db.js';
import { fill } from '../../db/statements.js';
import type { Json } from '../../json.js';
import { IMPORT_SQL } from './import-statements.js';

/** A stored record with given values; `isAmbiguous`: there are others. */
export interface FoundRecord {
  readonly id: string;
  readonly isAmbiguous: boolean;
}

/** Stored records with these values of columns, by the keys of the values. */
export async function findByValues(
  run: Run,
  table: string,
  columns: readonly Column[],
  values: readonly (readonly Json[])[],
): Promise<Map<string, FoundRecord>> {
  if (values.length === 0) return new Map();
  const collation = ({ type }: Column) => (type === 'text' ? ' collate "C"' : '');
  const parts = {
    table,
    values: columns.map(({ name }) => `current.${name}::text as ${name}, `).join(''),
    columns: columns.map(({ name }) => `current.${name}`).join(', '),
    given: columns.map(({ name, type }) => `${name} ${type}`).join(', '),
    equal: columns.map((each) => `current.${each.name}${collation(each)} = given.${each.name}`).join(' and '),
  };
  const given = new Map(
    values.map((row) => [
      keyOf(columns, row),
      Object.fromEntries(columns.map(({ name }, at) => [name, row[at]!])),
    ]),
  );
  const rows = await run(fill(IMPORT_SQL.find_by_values, parts), [JSON.stringify([...given.values()])]);
  return new Map(
    rows.map(({ id, is_ambiguous, ...row }) => [
      keyOf(columns, Object.values(row)),
      { id: id as string, isAmbiguous: is_ambiguous === true },
    ]),
  );
}

/** Values of columns as a key; numbers have several texts. */
export const keyOf = (columns: readonly Column[], values: readonly unknown[]): string =>
  columns
    .map(({ type }, at) => (type === 'double precision' ? String(Number(values[at])) : String(values[at])))
    .join('\0');
