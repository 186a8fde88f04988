import type { Resource } from '../../collection/resource.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import type { Run } from '../../db/db.js';
import { fill } from '../../db/statements.js';
import { duplicate, unknownReference } from '../../errors/record-errors.js';
import type { Json } from '../../json.js';
import { findByValues, keyOf } from './find-by-values.js';
import type { Refuse, Row } from './import-row.js';
import { recordStatement } from './import-statements.js';

/** A reference to a record that the import stores later: it is set at the end. */
export interface DeferredReference {
  readonly field: string;
  readonly id: string;
  readonly target: string;
  readonly place: number;
}

/** Refuses rows that refer to missing records; locks those that they refer to. Returns the references that wait. */
export async function requireReferences(
  { run, engine }: Pick<BulkConnection, 'run' | 'engine'>,
  rows: readonly Row[],
  resource: Resource,
  refuse: Refuse,
): Promise<readonly DeferredReference[]> {
  const fields = [...resource.columns.keys()];
  const deferred: DeferredReference[] = [];
  for (const { field, to, table, singular, isList } of resource.references) {
    const at = fields.indexOf(field);
    const valid = rows.filter(({ columns }) => columns[at] !== null);
    const idsIn = ({ columns }: Row) => [columns[at] as string | readonly string[]].flat();
    const ids = new Set(valid.flatMap(idsIn));
    if (ids.size === 0) continue;
    const text = fill(recordStatement(engine, 'existing'), { table, name: to });
    const existing = new Set((await run(text, [JSON.stringify([...ids])])).map(({ id }) => id));
    for (const row of valid) {
      const { id, place, columns, expected } = row;
      const given = idsIn(row);
      const missing = [...new Set(given)].filter((each) => !existing.has(each));
      if (missing.length === 0) continue;
      // On Citus no later statement can write a column that decides the shard.
      const unknown = missing.find((each) => engine.isDistributed || !expected.has(each));
      if (unknown !== undefined) {
        refuse(row, unknownReference(field, singular, isList ? given.indexOf(unknown) : undefined));
        continue;
      }
      const present = given.filter((each) => existing.has(each));
      columns[at] = present.length === 0 ? null : present;
      deferred.push(...missing.map((target) => ({ field, id, target, place })));
    }
  }
  return deferred;
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
