import { assignmentSql, type ColumnValue } from '../../collection/column.js';
import { writeProblem } from '../../collection/constraint-errors.js';
import { storedPassword } from '../../collection/password-writes.js';
import type { Resource } from '../../collection/resource.js';
import { givenRowsSql } from '../../collection/sql-templates.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import { isDataError, problemOf } from '../../db/database-errors.js';
import { inTransaction } from '../../db/session.js';
import { arrayLiteral, fill } from '../../db/statements.js';
import { isObject, type Json, type JsonObject } from '../../json.js';
import { maxConcurrentHashes } from '../../passwords/password-queue.js';
import { requireReferences, requireUnique } from './check-references.js';
import { type OnConflict, settleConflicts } from './id-conflicts.js';
import type { ImportErrors } from './import-errors.js';
import { numberRows } from './import-numbers.js';
import type { ImportRow, Row } from './import-row.js';
import { IMPORT_SQL, type RecordStatement, recordStatement } from './import-statements.js';

/** Hashes the passwords of a batch, before its transaction begins. */
export async function hashPasswords(
  drafts: readonly ImportRow[],
  { add, strict }: ImportErrors,
): Promise<void> {
  const pending = drafts.filter(({ row }) => row?.input.password !== undefined || row?.input.passwordHash);
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < pending.length) {
      const draft = pending[next++]!;
      try {
        draft.row!.passwordHash = await storedPassword(draft.row!.input);
      } catch (error) {
        draft.row = undefined;
        add(draft, error);
      }
    }
  };
  await Promise.all(Array.from({ length: strict ? 1 : maxConcurrentHashes() }, worker));
}

/** Where a batch is stored, and how. */
export interface BatchTarget {
  readonly connection: BulkConnection;
  readonly resource: Resource;
  readonly onConflict: OnConflict;
  /** Whether the batch is a part of a transaction that is open. */
  readonly isPart: boolean;
  readonly tombstones: boolean;
}

/** The results of a batch for its records. */
export interface BatchOutcome {
  /** Records that are new, or replace the one with their id. */
  readonly stored: readonly ImportRow[];
  /** Records whose id is that of a stored one, which stays as it is. */
  readonly unchanged: number;
}

/**
 * Writes the rows of a batch in one transaction, together with what `finish` does in it. A row that violates a constraint
 * is refused, and the others are written.
 */
export async function storeBatch(
  target: BatchTarget,
  drafts: readonly ImportRow[],
  refusals: ImportErrors,
  finish: (outcome: BatchOutcome) => Promise<void>,
): Promise<void> {
  const { connection, resource, onConflict, isPart } = target;
  await inTransaction(connection.execute, isPart, async () => {
    const { fresh, changed, unchanged } = await settleConflicts(
      connection,
      resource,
      drafts,
      onConflict,
      refusals,
    );
    const written = [...fresh, ...changed];
    await requireReferences(connection, written, resource, refusals.add);
    await requireUnique(connection.run, written, resource, refusals.add);
    const { end } = refusals;
    const isValid = ({ row, place }: ImportRow) => row && !refusals.has(place) && place < end;
    const copied = await writeRows(target, fresh.filter(isValid), refusals, copyRows);
    const replaced = await writeRows(target, changed.filter(isValid), refusals, replaceRows);
    const stored = [...copied, ...replaced];
    await recordPasswords(connection, stored);
    await forgetTombstones(target, copied);
    await finish({ stored, unchanged: unchanged.filter(({ place }) => place < end).length });
  });
}

async function recordPasswords({ run }: BulkConnection, stored: readonly ImportRow[]): Promise<void> {
  const hashes = stored.flatMap(({ row }) =>
    row!.passwordHash === undefined ? [] : [[row!.id, row!.passwordHash]],
  );
  if (hashes.length > 0) await run(IMPORT_SQL.set_passwords, [JSON.stringify(hashes)]);
}

/** A record that comes back is not a deleted one. */
async function forgetTombstones(
  { connection, tombstones }: BatchTarget,
  copied: readonly ImportRow[],
): Promise<void> {
  const ids = copied.filter(({ identity }) => identity.isRetained).map(({ row }) => row!.id);
  if (tombstones && ids.length > 0) await connection.run(IMPORT_SQL.forget_tombstones, [JSON.stringify(ids)]);
}

type WriteRows = (target: BatchTarget, rows: readonly Row[]) => Promise<void>;

/** Writes rows. If PostgreSQL refuses them, writes each half by itself, down to the row that is refused. */
async function writeRows(
  target: BatchTarget,
  drafts: readonly ImportRow[],
  refusals: ImportErrors,
  write: WriteRows,
): Promise<readonly ImportRow[]> {
  if (drafts.length === 0) return [];
  const { execute } = target.connection;
  await execute('savepoint batch');
  try {
    await write(
      target,
      drafts.map(({ row }) => row!),
    );
    await execute('release savepoint batch');
    return drafts;
  } catch (error) {
    if (!isDataError(error)) throw error;
    await execute('rollback to savepoint batch');
    if (drafts.length === 1) {
      refusals.add(drafts[0]!, writeProblem(error, target.resource) ?? problemOf(error) ?? error);
      return [];
    }
    const middle = drafts.length >> 1;
    const first = await writeRows(target, drafts.slice(0, middle), refusals, write);
    if (refusals.end < drafts[middle]!.place) return first;
    return [...first, ...(await writeRows(target, drafts.slice(middle), refusals, write))];
  }
}

/** A statement on the records of a collection. */
function statementOf({ connection, resource }: BatchTarget, name: RecordStatement): string {
  const own = [...resource.columns.values()];
  return fill(recordStatement(connection.engine, name), {
    table: resource.table,
    name: resource.name,
    given_rows: givenRowsSql(resource),
    columns: own.map((column) => `, ${column.name}`).join(''),
    assigned: own.map((column) => `, ${assignmentSql(column, `record.${column.name}`)}`).join(''),
  });
}

async function copyRows(target: BatchTarget, unnumbered: readonly Row[]): Promise<void> {
  const rows = await numberRows(target.connection, target.resource, unnumbered);
  const { execute, copyIn, engine } = target.connection;
  if (engine === 'citus') await execute(statementOf(target, 'prepare_copy'));
  await copyIn(statementOf(target, 'copy_records'), Buffer.from(rows.map(lineOf).join('')));
  if (engine === 'citus') await execute(statementOf(target, 'store_copied'));
}

/** The line of COPY. */
function lineOf({ id, version, updatedAt, head, columns }: Row): string {
  let text = `${id}\t${version}\t${updatedAt}\t${escapeText(`${head}${version}}`)}`;
  for (const value of columns) text += `\t${copyText(value)}`;
  return `${text}\n`;
}

/** Hidden fields that the file does not have stay. */
function withoutNull(value: ColumnValue): ColumnValue {
  if (!isObject(value as Json)) return value;
  return Object.fromEntries(Object.entries(value as JsonObject).filter(([, each]) => each !== null));
}

async function replaceRows(target: BatchTarget, unnumbered: readonly Row[]): Promise<void> {
  const rows = await numberRows(target.connection, target.resource, unnumbered);
  const names = [...target.resource.columns.values()].map(({ name }) => name);
  const values = rows.map(
    ({ id, updatedAt, head, columns }): Record<string, ColumnValue> => ({
      id,
      updated_at: updatedAt,
      doc: head,
      ...Object.fromEntries(names.map((name, at) => [name, withoutNull(columns[at]!)])),
    }),
  );
  await target.connection.run(statementOf(target, 'replace_records'), [JSON.stringify(values)]);
}

/** A column's value in the text format of COPY. */
function copyText(value: ColumnValue): string {
  if (value === null) return '\\N';
  if (typeof value === 'string') return escapeText(value);
  if (typeof value !== 'object') return String(value);
  return escapeText(Array.isArray(value) ? arrayLiteral(value) : JSON.stringify(value, unlessNull));
}

const NEEDS_ESCAPE = /[\\\t\n\r]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Text, which may also be JSON, in the text format of COPY. */
function escapeText(text: string): string {
  return NEEDS_ESCAPE.test(text) ? text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character]!) : text;
}

/** Members that are null are not stored. */
const unlessNull = (_: string, value: unknown) => (value === null ? undefined : value);
