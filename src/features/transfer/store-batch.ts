import { assignmentSql, type ColumnValue } from '../../collection/column.js';
import { writeProblem } from '../../collection/constraint-errors.js';
import { storedPassword } from '../../collection/password-writes.js';
import { givenRowsSql, type Resource } from '../../collection/resource.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import { isDataError, problemOf } from '../../db/database-errors.js';
import { inTransaction } from '../../db/session.js';
import { arrayLiteral, fill } from '../../db/statements.js';
import { isObject, type Json, type JsonObject } from '../../json.js';
import { maxConcurrentHashes } from '../../passwords/password-queue.js';
import { requireReferences, requireUnique } from './check-references.js';
import { type OnConflict, settleConflicts } from './id-conflicts.js';
import { numberRows } from './import-numbers.js';
import type { ImportErrors, Refuse, Row } from './import-row.js';
import { IMPORT_SQL, type RecordStatement, recordStatement } from './import-statements.js';

/** Where a batch is stored, and how. */
export interface BatchTarget {
  readonly connection: BulkConnection;
  readonly resource: Resource;
  readonly onConflict: OnConflict;
  /** Whether the batch is a part of a transaction that is open. */
  readonly isPart: boolean;
  readonly tombstones: boolean;
}

/** The records of a batch: those that are new or replace the one with their id, and those whose id a stored one has, which stays. */
type BatchOutcome = Readonly<Record<'stored' | 'unchanged', readonly Row[]>>;

/**
 * Writes the rows of a batch in one transaction, together with what `finish` does in it. A row that violates a constraint
 * is refused, and the others are written.
 */
export async function storeBatch(
  target: BatchTarget,
  rows: readonly Row[],
  refusals: ImportErrors,
  finish: (outcome: BatchOutcome) => Promise<void>,
): Promise<void> {
  const { connection, resource, onConflict, isPart, tombstones } = target;
  const { run, execute } = connection;
  // Before the transaction: a hash takes long.
  const hashes = await hashPasswords(rows, refusals.add);
  const store = async () => {
    const isValid = ({ place }: Row) => !refusals.has(place);
    const hashed = rows.filter(isValid);
    const settled = await settleConflicts(connection, resource, hashed, onConflict, refusals.add);
    const written = [...settled.fresh, ...settled.changed];
    await requireUnique(run, written, resource, refusals.add);
    await requireReferences(connection, written.filter(isValid), resource, refusals.add);
    const copied = await writeRows(target, settled.fresh.filter(isValid), refusals, copyRows);
    const replaced = await writeRows(target, settled.changed.filter(isValid), refusals, replaceRows);
    const stored = [...copied, ...replaced];
    const ids = new Set(stored.map(({ id }) => id));
    const passwords = [...hashes].filter(([id]) => ids.has(id));
    if (passwords.length > 0) await run(IMPORT_SQL.set_passwords, [JSON.stringify(passwords)]);
    // A record that comes back is not a deleted one.
    const returned = copied.filter(({ isRetained }) => isRetained).map(({ id }) => id);
    if (tombstones && returned.length > 0)
      await run(IMPORT_SQL.forget_tombstones, [JSON.stringify(returned)]);
    await finish({ stored, unchanged: settled.unchanged });
  };
  await (isPart ? store() : inTransaction(execute, store));
}

/** The hashes of the passwords of rows by the ids of these. Refuses rows with passwords that are not permitted. */
async function hashPasswords(rows: readonly Row[], refuse: Refuse): Promise<ReadonlyMap<string, string>> {
  const hashes = new Map<string, string>();
  const pending = rows.filter(({ input }) => input.password !== undefined || input.passwordHash).values();
  const worker = async (): Promise<void> => {
    for (const row of pending)
      try {
        const hash = await storedPassword(row.input);
        if (hash !== undefined) hashes.set(row.id, hash);
      } catch (error) {
        refuse(row, error);
      }
  };
  await Promise.all(Array.from({ length: maxConcurrentHashes() }, worker));
  return hashes;
}

type WriteRows = (target: BatchTarget, rows: readonly Row[]) => Promise<void>;

/** Writes rows. If PostgreSQL refuses them, writes each half by itself, down to the row that is refused. */
async function writeRows(
  target: BatchTarget,
  rows: readonly Row[],
  refusals: ImportErrors,
  write: WriteRows,
): Promise<readonly Row[]> {
  if (rows.length === 0) return [];
  const { execute } = target.connection;
  await execute('savepoint batch');
  try {
    await write(target, await numberRows(target.connection, target.resource, rows));
    await execute('release savepoint batch');
    return rows;
  } catch (error) {
    if (!isDataError(error)) throw error;
    await execute('rollback to savepoint batch');
    if (rows.length === 1) {
      refusals.add(rows[0]!, writeProblem(error, target.resource) ?? problemOf(error) ?? error);
      return [];
    }
    const middle = rows.length >> 1;
    const first = await writeRows(target, rows.slice(0, middle), refusals, write);
    return [...first, ...(await writeRows(target, rows.slice(middle), refusals, write))];
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

async function copyRows(target: BatchTarget, rows: readonly Row[]): Promise<void> {
  const { execute, copyIn, engine } = target.connection;
  if (!engine.copiesRecords) await execute(statementOf(target, 'prepare_copy'));
  await copyIn(statementOf(target, 'copy_records'), Buffer.from(rows.map(lineOf).join('')));
  if (!engine.copiesRecords) await execute(statementOf(target, 'store_copied'));
}

/** The line of COPY. */
function lineOf({ id, version, updatedAt, head, columns }: Row): string {
  let text = `${id}\t${version}\t${updatedAt}\t${escapeText(`${head}${version}}`)}`;
  for (const value of columns) text += `\t${copyText(value)}`;
  return `${text}\n`;
}

/** A value without hidden fields that the file does not have: of a replaced record they stay. */
function withoutNull(value: ColumnValue): ColumnValue {
  if (!isObject(value as Json)) return value;
  return Object.fromEntries(Object.entries(value as JsonObject).filter(([, each]) => each !== null));
}

async function replaceRows(target: BatchTarget, rows: readonly Row[]): Promise<void> {
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
  return escapeText(Array.isArray(value) ? arrayLiteral(value) : JSON.stringify(withoutNull(value)));
}

const NEEDS_ESCAPE = /[\\\t\n\r]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Text, which may also be JSON, in the text format of COPY. */
function escapeText(text: string): string {
  return NEEDS_ESCAPE.test(text) ? text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character]!) : text;
}
