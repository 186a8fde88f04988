import type { Db, Run, Value } from '../db/db.js';
import { readStatements } from '../db/statements.js';
import type { Json } from '../json.js';
import { sharing } from '../telemetry/metrics.js';
import { createdAt, nextIdentity } from '../uuid.js';
import { constraintProblem } from './constraint-errors.js';
import { documentHead, toRecord } from './document.js';
import { openReads, type Reads } from './read-batching.js';
import {
  isStored,
  type NotFoundReason,
  type PreconditionFailed,
  preconditionFailedOn,
  type StoredRecord,
} from './record.js';
import type { Resource } from './resource.js';
import { Statements } from './sql-templates.js';
import { storedPassword } from './stored-password.js';
import { compileInput, type Origin, type ValidatedInput } from './validated-input.js';
import { batchWrites, type Write } from './write-batching.js';
import { guardArguments, NO_GUARD, onlyVersion, type WriteGuard } from './write-guard.js';

/**
 * An open collection: its validation is compiled, and its statements fit the database's schema. With a `run`, statements
 * run in its transaction.
 */
export interface Collection extends Reads, Writes {
  readonly resource: Resource;
  /** Throws 400 with every failure, or 422 for a reference to a missing record. */
  check(input: Json | undefined, origin?: Origin): ValidatedInput;
  /**
   * Locks records for the transaction of `run`, in the order of their ids; with `parent` only those of this parent.
   * Others are neither locked nor waited for.
   */
  lock(ids: readonly string[], parent: string | undefined, run: Run): Promise<void>;
  /** Whether a record belongs to this parent. In a transaction, it is locked if it does. */
  belongs(id: string, parent: string, run?: Run): Promise<boolean>;
}

interface Writes {
  /** Throws 409 for a duplicate, 422 for an unknown reference. */
  create(input: ValidatedInput, run?: Run): Promise<StoredRecord>;
  /** Throws as create. */
  replace(id: string, input: ValidatedInput, guard: WriteGuard, run?: Run): Promise<Replaced>;
  /** Resolves to undefined if the record was deleted, or did not exist and there is no guard. */
  remove(id: string, guard: WriteGuard, run?: Run): Promise<PreconditionFailed | 'absent' | undefined>;
}

/** The result of replacing a record. */
export type Replaced = StoredRecord | PreconditionFailed | NotFoundReason;

/** Opens a declared collection. Throws if a statement does not fit the schema. */
export async function openCollection(db: Db, resource: Resource, tombstones: boolean): Promise<Collection> {
  const statements = new Statements(resource, tombstones);
  const described = Promise.all(statements.describable().map((text) => db.describe(text)));
  described.catch(() => undefined); // thrown by the await below
  // Validation is compiled while PostgreSQL describes the statements.
  const check = compileInput(resource);
  await described;
  return {
    resource,
    check,
    ...openReads(db, resource.name, statements),
    ...openLocks(db, statements),
    ...openWrites(db, resource, statements),
  };
}

function openLocks(db: Db, statements: Statements): Pick<Collection, 'lock' | 'belongs'> {
  return {
    lock: async (ids, parent, run) => {
      const list = `{${ids.join(',')}}`;
      if (parent === undefined) await run(statements.of('lock'), [list]);
      else await run(statements.of('lock_owned'), [list, parent]);
    },
    belongs: async (id, parent, run) => {
      const found = run
        ? await run(statements.of('lock_owned'), [`{${id}}`, parent])
        : await db.run(statements.of('owned'), [id, parent]);
      return found.length > 0;
    },
  };
}

/** The next state of a record, and the guard for its present one. */
interface Replacement {
  readonly id: string;
  /** The document up to its version. */
  readonly head: string;
  readonly updatedAt: string;
  readonly columns: readonly Value[];
  readonly guard: WriteGuard;
}

function openWrites(db: Db, resource: Resource, statements: Statements): Writes {
  const columnNames = Object.values(resource.columns);
  const share = (operation: string) => sharing(db.metrics, operation, resource.name);

  async function createSingle(run: Run, { stored, updatedAt, columns }: Write): Promise<StoredRecord> {
    await run(statements.of('create'), [stored.id, updatedAt, stored.doc, ...columns]);
    return stored;
  }

  const createBatched = batchWrites<Write, StoredRecord>(
    db.run,
    statements.of('create_many'),
    columnNames,
    (write) => createSingle(db.run, write),
    share('create'),
  );

  async function replaceSingle(
    run: Run,
    { id, head, updatedAt, columns, guard }: Replacement,
  ): Promise<Replaced> {
    const args = [id, ...guardArguments(guard), updatedAt, head, ...columns];
    const [row] = await run(statements.of('replace'), args);
    if (!row) return 'absent';
    if (row.before === 0) return 'gone';
    return row.after === null ? preconditionFailedOn(id, row) : toRecord(id, head, row.after as number);
  }

  const replaceBatched = batchWrites<Write & Replacement, Replaced>(
    db.run,
    statements.of('replace_many'),
    columnNames,
    (replacement) => replaceSingle(db.run, replacement),
    share('replace'),
  );

  /** Runs `inTransaction` together with the password of the input, or else `batched` if there is no transaction yet. */
  function write<T>(
    id: string,
    input: ValidatedInput,
    run: Run | undefined,
    batched: () => Promise<T>,
    inTransaction: (run: Run) => Promise<T>,
  ): Promise<T> {
    const hash = storedPassword(input);
    const written = hash
      ? withPassword(id, input, hash, run, inTransaction)
      : run
        ? inTransaction(run)
        : batched();
    return written.catch((error: unknown) => {
      throw constraintProblem(error, resource) ?? error;
    });
  }

  /** A password within a given transaction must be hashed before, since a hash is slow and the transaction holds locks. */
  async function withPassword<T>(
    id: string,
    input: ValidatedInput,
    hash: Promise<string>,
    run: Run | undefined,
    inTransaction: (run: Run) => Promise<T>,
  ): Promise<T> {
    if (run && input.passwordHash === undefined)
      throw new Error('a password in a transaction has no hash yet');
    const hashed = await hash;
    const both = async (run: Run): Promise<T> => {
      const written = await inTransaction(run);
      if (isStored(written)) await run(SET_PASSWORD, [id, hashed]);
      return written;
    };
    return run ? both(run) : db.transaction(both);
  }

  return {
    create: (input, run) => {
      const { id, ms } = nextIdentity();
      const now = new Date(ms).toISOString();
      const stored = toRecord(id, documentHead(id, input.fields, now, now), 1);
      const creation = { stored, updatedAt: now, columns: input.columns };
      return write(
        id,
        input,
        run,
        () => createBatched(creation),
        (run) => createSingle(run, creation),
      );
    },

    replace: (id, input, guard, run) => {
      const updatedAt = updatedNow(id);
      const head = documentHead(id, input.fields, new Date(createdAt(id)).toISOString(), updatedAt);
      const replacement = { id, head, updatedAt, columns: input.columns, guard };
      const version = onlyVersion(guard);
      // With a known version the whole document is known, so that it can be written together with others.
      const batched = () =>
        version === undefined
          ? replaceSingle(db.run, replacement)
          : replaceBatched({ ...replacement, stored: toRecord(id, head, version + 1) });
      return write(id, input, run, batched, (run) => replaceSingle(run, replacement));
    },

    remove: async (id, guard, run = db.run) => {
      if (guard === NO_GUARD) {
        await run(statements.of('remove'), [id]);
        return undefined;
      }
      const [row] = await run(statements.of('remove_if'), [id, ...guardArguments(guard)]);
      if (!row) return 'absent';
      return row.after === null ? preconditionFailedOn(id, row) : undefined;
    },
  };
}

/** Never before the record was created, whatever the clocks say. */
function updatedNow(id: string): string {
  return new Date(Math.max(Date.now(), createdAt(id))).toISOString();
}

const SET_PASSWORD = readStatements('passwords.sql').get('set_password')!;
