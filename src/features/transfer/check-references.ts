import type { Column } from '../../collection/column.js';
import type { Resource } from '../../collection/resource.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import type { Run } from '../../db/db.js';
import { fill } from '../../db/statements.js';
import { duplicate, unknownReference } from '../../errors/record-errors.js';
import type { Json } from '../../json.js';
import type { Refuse, Row } from './import-row.js';
import { IMPORT_SQL, recordStatement } from './import-statements.js';

/**
 * Refuses rows that refer to records which neither are stored nor are among them, and locks the stored ones. The database refuses rows
 * that refer to a later one which is refused.
 */
export async function requireReferences(
  { run, engine }: Pick<BulkConnection, 'run' | 'engine'>,
  rows: readonly Row[],
  { name, references, columns }: Resource,
  refuse: Refuse,
): Promise<void> {
  const fields = [...columns.keys()];
  // On Citus, each shard is written by itself.
  const own = new Set(engine.isDistributed ? [] : rows.map(({ id }) => id));
  const checks: ((row: Row) => void)[] = [];
  for (const { field, to, table, singular, isList } of references) {
    const at = fields.indexOf(field);
    const idsIn = (row: Row) => [(row.columns[at] ?? []) as string | readonly string[]].flat();
    const ids = [...new Set(rows.flatMap(idsIn))];
    const text = fill(recordStatement(engine, 'existing'), { table, name: to });
    const found = ids.length === 0 ? [] : await run(text, [JSON.stringify(ids)]);
    const existing = new Set(found.map(({ id }) => id));
    checks.push((row) => {
      const index = idsIn(row).findIndex((id) => !existing.has(id) && !(to === name && own.has(id)));
      if (index < 0) return;
      refuse(row, unknownReference(field, singular, isList ? index : undefined));
      own.delete(row.id);
    });
  }
  for (const row of rows) for (const check of checks) check(row);
}

/** Refuses rows with the values of a unique key that another record has. */
export async function requireUnique(
  run: Run,
  rows: readonly Row[],
  { table, columns, unique }: Resource,
  refuse: Refuse,
): Promise<void> {
  const fields = [...columns.keys()];
  for (const { fields: own, code } of unique) {
    const wanted = own.map((field) => columns.get(field)!);
    const valuesOf = (row: Row) => own.map((field) => row.columns[fields.indexOf(field)] as Json);
    const valid = rows.filter((row) => !valuesOf(row).includes(null));
    const stored = await findByValues(run, table, wanted, valid.map(valuesOf));
    const used = new Map([...stored].map(([key, { id }]) => [key, id]));
    for (const row of valid) {
      const key = keyOf(wanted, valuesOf(row));
      const user = used.get(key);
      if (user === undefined) used.set(key, row.id);
      else if (user !== row.id) refuse(row, duplicate(own, code));
    }
  }
}

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
