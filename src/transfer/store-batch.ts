import { constraintProblem } from '../collection/constraint-errors.js';
import type { Resource } from '../collection/resource.js';
import { storedPassword } from '../collection/stored-password.js';
import type { BulkConnection } from '../db/bulk-connection.js';
import { isDataError, problemOf } from '../db/database-errors.js';
import { fill } from '../db/statements.js';
import type { Draft, Row } from './batch.js';
import { type Refuse, requireReferences, requireUnique } from './check-references.js';
import { recordStatements, STATEMENTS } from './import-statements.js';

/** The records of a chunk that were refused. */
export class Refusals {
  readonly list: { readonly place: number; readonly error: unknown }[] = [];
  readonly add: Refuse = (place, error) => void this.list.push({ place, error });

  /** `strict`: the first refusal ends the import. */
  constructor(readonly strict: boolean) {}

  /** The place from which on nothing is stored. */
  get end(): number {
    return this.strict ? Math.min(...this.list.map(({ place }) => place)) : Number.POSITIVE_INFINITY;
  }
}

/** Passwords that are hashed at once: the queue of hashes refuses more. */
const MAX_HASHES = 16;

/** Hashes the passwords of a batch, before its transaction begins. */
export async function hashPasswords(drafts: readonly Draft[], { add, strict }: Refusals): Promise<void> {
  const pending = drafts.filter(({ row }) => row?.input.password !== undefined || row?.input.passwordHash);
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < pending.length) {
      const draft = pending[next++]!;
      try {
        draft.row!.passwordHash = await storedPassword(draft.row!.input);
      } catch (error) {
        draft.row = undefined;
        add(draft.place, error);
      }
    }
  };
  await Promise.all(Array.from({ length: strict ? 1 : MAX_HASHES }, worker));
}

/**
 * Writes the rows of a batch in one transaction, together with what `finish` does in it. A row that violates a constraint
 * is refused, and the others are written.
 */
export async function storeBatch(
  connection: BulkConnection,
  resource: Resource,
  drafts: readonly Draft[],
  refusals: Refusals,
  finish: (stored: readonly Draft[]) => Promise<void>,
): Promise<void> {
  const { run, execute } = connection;
  await execute('begin');
  try {
    await requireReferences(connection, drafts, resource, refusals.add);
    await requireUnique(run, drafts, resource, refusals.add);
    const { end } = refusals;
    const valid = drafts.filter(({ row, place }) => row && place < end);
    const stored = valid.length === 0 ? [] : await copyRows(connection, resource, valid, refusals);
    const hashes = stored.flatMap(({ row }) =>
      row!.passwordHash === undefined ? [] : [[row!.id, row!.passwordHash]],
    );
    if (hashes.length > 0) await run(STATEMENTS.get('set_passwords')!, [JSON.stringify(hashes)]);
    await finish(stored);
    await execute('commit');
  } catch (error) {
    // After the loss of the connection the server has rolled back; the first error is the relevant one.
    await execute('rollback').catch(() => undefined);
    throw error;
  }
}

/** Copies rows. If PostgreSQL refuses them, copies each half by itself, down to the row that is refused. */
async function copyRows(
  connection: BulkConnection,
  resource: Resource,
  drafts: readonly Draft[],
  refusals: Refusals,
): Promise<readonly Draft[]> {
  const { execute, copyIn, engine } = connection;
  const columns = [...resource.columns.values()].map(({ name }) => `, ${name}`).join('');
  const statements = recordStatements(engine);
  const statement = (name: string) => fill(statements.get(name) ?? '', { table: resource.name, columns });
  await execute('savepoint batch');
  try {
    if (engine === 'citus') await execute(statement('prepare_copy'));
    await copyIn(statement('copy_records'), Buffer.from(drafts.map(({ row }) => (row as Row).text).join('')));
    if (engine === 'citus') await execute(statement('store_copied'));
    await execute('release savepoint batch');
    return drafts;
  } catch (error) {
    if (!isDataError(error)) throw error;
    await execute('rollback to savepoint batch');
    if (drafts.length === 1) {
      refusals.add(drafts[0]!.place, constraintProblem(error, resource) ?? problemOf(error) ?? error);
      return [];
    }
    const middle = drafts.length >> 1;
    const first = await copyRows(connection, resource, drafts.slice(0, middle), refusals);
    if (refusals.end < drafts[middle]!.place) return first;
    return [...first, ...(await copyRows(connection, resource, drafts.slice(middle), refusals))];
  }
}
