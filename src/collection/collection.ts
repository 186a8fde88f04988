import type { Db, Run, Value } from '../db/db.js';
import { readStatements } from '../db/statements.js';
import type { Json } from '../json.js';
import { sharing } from '../telemetry/metrics.js';
import { createdAt, nextIdentity } from '../uuid.js';
import { type Amendment, openAmend } from './amend.js';
import { constraintProblem } from './constraint-errors.js';
import { openReads, type Reads } from './read-batching.js';
import {
  documentHead,
  isStored,
  type NotFoundReason,
  type PreconditionFailed,
  preconditionFailedOn,
  type StoredRecord,
  toRecord,
} from './record.js';
import type { Resource } from './resource.js';
import { compileStatements } from './sql-templates.js';
import { storedPassword } from './stored-password.js';
import { compileInput, type Origin, type ValidatedInput } from './validated-input.js';
import { batchWrites, type Write } from './write-batching.js';
import { guardArguments, NO_GUARD, onlyVersion, type WriteGuard } from './write-guard.js';

/**
 * A collection that is open: its check is compiled and its statements fit the schema. Where a `run` is given,
 * the statements run in its transaction.
 */
export interface Collection extends Reads {
  readonly resource: Resource;
  /** Throws the 400 with every failure, or the 422 of a reference that names no record. */
  check(input: Json | undefined, origin?: Origin): ValidatedInput;
  /**
   * Locks records for the transaction of `run`, in the order of their ids; with `parent` only those below it. Others
   * are neither locked nor waited for.
   */
  lock(ids: readonly string[], parent: string | undefined, run: Run): Promise<void>;
  /** Whether a record is below this parent; in a transaction it is locked if it is, and only then. */
  belongs(id: string, parent: string, run?: Run): Promise<boolean>;
  /** Throws the 409 of a duplicate, the 422 of an unknown reference. */
  create(draft: ValidatedInput, run?: Run): Promise<StoredRecord>;
  /** Throws as create. */
  replace(
    id: string,
    draft: ValidatedInput,
    guard: WriteGuard,
    run?: Run,
  ): Promise<StoredRecord | PreconditionFailed | NotFoundReason>;
  /** Changes fields without a look at the whole record; undefined when that cannot be done. Throws as create. */
  amend(amendment: Omit<Amendment, 'updatedAt'>, run?: Run): Promise<StoredRecord | undefined>;
  /** Undefined when it is done. */
  remove(id: string, guard: WriteGuard, run?: Run): Promise<PreconditionFailed | 'absent' | undefined>;
}

/** Opens a declared collection. Throws when a statement does not fit the schema. */
export async function openCollection(db: Db, resource: Resource, tombstones: boolean): Promise<Collection> {
  const statements = compileStatements(resource, tombstones);
  const described = [...statements.values()].filter((text) => !text.startsWith('copy'));
  const fits = Promise.all(described.map((text) => db.describe(text)));
  fits.catch(() => undefined); // told below
  // Compiled while the server describes: a tenth of the start.
  const opened = collection(db, resource, (name) => statements.get(name)!);
  await fits;
  return opened;
}

/** A record's next state, and what its present one must be. */
interface Replacement {
  readonly id: string;
  /** The document up to its version. */
  readonly head: string;
  readonly updatedAt: string;
  readonly columns: readonly Value[];
  readonly guard: WriteGuard;
}

function collection(db: Db, resource: Resource, text: (name: string) => string): Collection {
  const check = compileInput(resource);
  const ownColumns = Object.values(resource.columns);

  const shared = (operation: string) => sharing(db.metrics, operation, resource.name);

  async function createAlone(run: Run, { stored, updatedAt, columns }: Write): Promise<StoredRecord> {
    await run(text('create'), [stored.id, updatedAt, stored.doc, ...columns]);
    return stored;
  }

  const createGrouped = batchWrites<Write, StoredRecord>(
    db.run,
    text('create_many'),
    ownColumns,
    (write) => createAlone(db.run, write),
    shared('create'),
  );

  async function replaceAlone(
    run: Run,
    { id, head, updatedAt, columns, guard }: Replacement,
  ): Promise<StoredRecord | PreconditionFailed | NotFoundReason> {
    const [row] = await run(text('replace'), [id, ...guardArguments(guard), updatedAt, head, ...columns]);
    if (!row) return 'absent';
    if (row.before === 0) return 'gone';
    return row.after === null ? preconditionFailedOn(id, row) : toRecord(id, head, row.after as number);
  }

  const replaceGrouped = batchWrites<Write & Replacement, StoredRecord | PreconditionFailed | NotFoundReason>(
    db.run,
    text('replace_many'),
    ownColumns,
    (replacement) => replaceAlone(db.run, replacement),
    shared('replace'),
  );

  const amendAlone = openAmend(resource, text('amend'));
  const reads = openReads(db, resource.name, text);

  /**
   * In a transaction of its own when a password goes with the record, in the given one, or else as `apart` has it. The
   * password of a write in a given transaction must be hashed already: a hash there would hold its locks.
   */
  function write<T>(
    id: string,
    draft: ValidatedInput,
    within: Run | undefined,
    apart: () => Promise<T>,
    record: (run: Run) => Promise<T>,
  ): Promise<T> {
    const withPassword = async (hashed: Promise<string>): Promise<T> => {
      if (within && draft.passwordHash === undefined)
        throw new Error('a password in a transaction has no hash yet');
      const hash = await hashed;
      const both = async (run: Run): Promise<T> => {
        const written = await record(run);
        if (isStored(written)) await run(SET_PASSWORD, [id, hash]);
        return written;
      };
      return within ? both(within) : db.transaction(both);
    };
    const hashed = storedPassword(draft);
    const written = hashed ? withPassword(hashed) : within ? record(within) : apart();
    return written.catch(refuse);
  }

  function refuse(error: unknown): never {
    throw constraintProblem(error, resource) ?? error;
  }

  return {
    resource,

    check,

    ...reads,

    lock: async (ids, parent, run) => {
      const list = `{${ids.join(',')}}`;
      await (parent === undefined ? run(text('lock'), [list]) : run(text('lock_owned'), [list, parent]));
    },

    belongs: async (id, parent, run) => {
      const found = await (run
        ? run(text('lock_owned'), [`{${id}}`, parent])
        : db.run(text('owned'), [id, parent]));
      return found.length > 0;
    },

    create: (draft, within) => {
      const { id, ms } = nextIdentity();
      const now = new Date(ms).toISOString();
      const stored = toRecord(id, documentHead(id, draft.fields, now, now), 1);
      const creation = { stored, updatedAt: now, columns: draft.columns };
      const apart = () => createGrouped(creation);
      return write(id, draft, within, apart, (run) => createAlone(run, creation));
    },

    replace: (id, draft, guard, within) => {
      reads.moves(id);
      const updatedAt = updatedNow(id);
      const head = documentHead(id, draft.fields, new Date(createdAt(id)).toISOString(), updatedAt);
      const replacement = { id, head, updatedAt, columns: draft.columns, guard };
      const version = onlyVersion(guard);
      // Who knows the version knows the whole document, and can be written together with others.
      const apart = () =>
        version === undefined
          ? replaceAlone(db.run, replacement)
          : replaceGrouped({ ...replacement, stored: toRecord(id, head, version + 1) });
      return write(id, draft, within, apart, (run) => replaceAlone(run, replacement));
    },

    amend: (amendment, run = db.run) => {
      reads.moves(amendment.id);
      return amendAlone(run, { ...amendment, updatedAt: updatedNow(amendment.id) }).catch(refuse);
    },

    remove: async (id, guard, run = db.run) => {
      reads.moves(id);
      if (guard === NO_GUARD) {
        await run(text('remove'), [id]);
        return undefined;
      }
      const [row] = await run(text('remove_if'), [id, ...guardArguments(guard)]);
      if (!row) return 'absent';
      return row.after === null ? preconditionFailedOn(id, row) : undefined;
    },
  };
}

/** Never before it was created, whatever the clocks say. */
function updatedNow(id: string): string {
  return new Date(Math.max(Date.now(), createdAt(id))).toISOString();
}

const SET_PASSWORD = readStatements('users.sql').get('set_password')!;
