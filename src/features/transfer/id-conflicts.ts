import { createHash } from 'node:crypto';
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

/** The rows of a batch by what is done with them. */
interface Settled {
  readonly fresh: Row[];
  readonly changed: Row[];
  readonly unchanged: Row[];
}

/** Finds rows whose retained ids are in use. Those that equal the stored records are unchanged. */
export async function settleConflicts(
  connection: BulkConnection,
  resource: Resource,
  rows: readonly Row[],
  onConflict: OnConflict,
  refuse: Refuse,
): Promise<Settled> {
  const retained = rows.filter(({ isRetained }) => isRetained);
  if (retained.length === 0) return { fresh: [...rows], changed: [], unchanged: [] };
  const digests = await digestsOf(connection, resource, retained);
  const settled: Settled = { fresh: [], changed: [], unchanged: [] };
  for (const row of rows) {
    const [stored, own] = [digests.get(row.id), row.isRetained ? digestOf(row) : ''];
    if (stored === undefined) settled.fresh.push(row);
    else if (onConflict === 'skip' || (stored === own && !(onConflict === 'replace' && hasHidden(row))))
      settled.unchanged.push(row);
    else if (onConflict === 'fail') refuse(row, duplicate(['id'], 'ID_TAKEN'));
    else settled.changed.push(nextVersion(row));
    if (stored === undefined || onConflict === 'replace') digests.set(row.id, own);
  }
  return settled;
}

/** The digests of the stored records that have the ids of rows: those of the rows themselves where the values are equal. */
async function digestsOf(
  { run }: BulkConnection,
  { table }: Resource,
  rows: readonly Row[],
): Promise<Map<string, string>> {
  const names = { table, unchanged: DOCUMENT_SQL.unchanged };
  const stored = await run(fill(IMPORT_SQL.digests, names), [JSON.stringify(rows.map(({ id }) => id))]);
  const digests = new Map(stored.map(({ id, digest }) => [id as string, digest as string]));
  // A file has the members of a record in an order of its own: CSV in that of its columns.
  const differing = rows.filter((row) => digests.has(row.id) && digests.get(row.id) !== digestOf(row));
  if (differing.length === 0) return digests;
  const given = differing.map((row, place) => ({
    place,
    id: row.id,
    members: unchangedPart(row.head, row.updatedAt),
  }));
  const equal = await run(fill(IMPORT_SQL.equal_records, names), [JSON.stringify(given)]);
  for (const { place } of equal) {
    const row = differing[place as number]!;
    digests.set(row.id, digestOf(row));
  }
  return digests;
}

/** Whether a row has values that its document does not contain. */
const hasHidden = ({ input, columns }: Row): boolean =>
  input.passwordHash !== undefined ||
  input.password !== undefined ||
  columns.some(
    (value) => isObject(value as Json) && Object.values(value as JsonObject).some((each) => each !== null),
  );

/** The digest of a document without what a write changes in any case. */
const digestOf = ({ head, updatedAt }: Row): string =>
  createHash('sha256').update(unchangedPart(head, updatedAt)).digest('hex');

/** A row that replaces a stored one now. */
function nextVersion(row: Row): Row {
  const updatedAt = new Date().toISOString();
  return { ...row, updatedAt, head: changedHead(row.head, row.updatedAt, updatedAt) };
}
