import { changedHead, DOCUMENT_SQL, unchangedPart } from '../../collection/document.js';
import type { Resource } from '../../collection/resource.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import { fill } from '../../db/statements.js';
import { duplicate } from '../../errors/record-errors.js';
import { isObject, type Json, type JsonObject } from '../../json.js';
import type { Refuse, Row } from './import-row.js';
import { IMPORT_SQL } from './import-statements.js';

/** The treatment of a record whose id belongs to a stored record that differs. */
export type OnConflict = 'skip' | 'replace' | 'fail';

/** Finds rows whose retained ids are in use. Those that equal the stored records are unchanged. */
export async function settleConflicts(
  { run }: BulkConnection,
  { table }: Resource,
  rows: readonly Row[],
  onConflict: OnConflict,
  refuse: Refuse,
): Promise<Readonly<Record<'fresh' | 'changed' | 'unchanged', readonly Row[]>>> {
  const retained = rows.filter(({ isRetained }) => isRetained);
  if (retained.length === 0) return { fresh: rows, changed: [], unchanged: [] };
  const stored = await run(fill(IMPORT_SQL.taken, { table }), [JSON.stringify(retained.map(({ id }) => id))]);
  const taken = new Set(stored.map(({ id }) => String(id)));
  // A file has the members of a record in an order of its own: CSV in that of its columns.
  const given = retained
    .filter(({ id }) => taken.has(id))
    .map(({ place, id, head, updatedAt }) => ({ place, id, members: unchangedPart(head, updatedAt) }));
  const text = fill(IMPORT_SQL.equal_records, { table, unchanged: DOCUMENT_SQL.unchanged });
  const found = given.length === 0 ? [] : await run(text, [JSON.stringify(given)]);
  const equal = new Set(found.map(({ place }) => Number(place)));
  const [fresh, changed, unchanged]: [Row[], Row[], Row[]] = [[], [], []];
  /** The members of the rows that this batch writes. */
  const written = new Map<string, string>();
  for (const row of rows) {
    const members = unchangedPart(row.head, row.updatedAt);
    const isEqual = written.has(row.id) ? written.get(row.id) === members : equal.has(row.place);
    if (!taken.has(row.id)) fresh.push(row);
    else if (onConflict === 'skip' || (isEqual && !(onConflict === 'replace' && hasHidden(row))))
      unchanged.push(row);
    else if (onConflict === 'fail') refuse(row, duplicate(['id'], 'ID_TAKEN'));
    else changed.push(nextVersion(row));
    if (!taken.has(row.id) || onConflict === 'replace') written.set(row.id, members);
    taken.add(row.id);
  }
  return { fresh, changed, unchanged };
}

/** Whether a row has values that its document does not contain. */
const hasHidden = ({ input, columns }: Row): boolean =>
  input.passwordHash !== undefined ||
  input.password !== undefined ||
  columns.some(
    (value) => isObject(value as Json) && Object.values(value as JsonObject).some((each) => each !== null),
  );

/** A row that replaces a stored one now. */
function nextVersion(row: Row): Row {
  const updatedAt = new Date().toISOString();
  return { ...row, updatedAt, head: changedHead(row.head, row.updatedAt, updatedAt) };
}
