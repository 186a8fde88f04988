import { lockVerifiedPassword } from '../auth/verified-password.js';
import { PASSWORDS_SQL } from '../db/core-statements.js';
import type { Db, Run } from '../db/db.js';
import { perRun } from '../db/shared-run.js';
import { currentPasswordWrong } from '../errors/caller-errors.js';
import { gone } from '../errors/record-errors.js';
import { requireUncommonPassword } from '../passwords/common-password.js';
import { hashPassword } from '../passwords/password.js';
import { sharing } from '../telemetry/metrics.js';
import { createdAt, nextIdentity } from '../uuid.js';
import { writeProblem } from './constraint-errors.js';
import { documentHead, toRecord } from './document.js';
import { numberedRecord, numberMembers } from './numbers.js';
import { isStored, type StoredRecord } from './record.js';
import { type Removals, removal } from './removals.js';
import type { Resource } from './resource.js';
import { type Replaced, type Replacement, singleWrites } from './single-writes.js';
import type { Statements } from './sql-templates.js';
import type { ValidatedInput } from './validated-input.js';
import { batchWrites, type Write } from './write-batching.js';
import { onlyVersion, type WritePreconditions } from './write-preconditions.js';

/** Writes to a collection. Without a `run`, concurrent writes may share a statement. */
export interface Writes extends Removals {
  /** Throws 409 for a duplicate, 422 for an unknown reference. */
  create(input: ValidatedInput, run?: Run): Promise<StoredRecord>;
  /** Creates a record with the id that a client has chosen. Undefined: there is one. Throws as create, and 410 for a deleted id. */
  createWithId(id: string, input: ValidatedInput, run?: Run): Promise<StoredRecord | undefined>;
  /** Throws as create. */
  replace(id: string, input: ValidatedInput, preconditions: WritePreconditions, run?: Run): Promise<Replaced>;
}

export function openWrites(db: Db, resource: Resource, statements: Statements): Writes {
  const columnNames = [...resource.columns.values()].map(({ name }) => name);
  const singles = singleWrites(statements, columnNames, db.engine);
  const share = (operation: string) => sharing(db.metrics, operation, resource.name);
  const create = batchWrites<Write, StoredRecord>(db, {
    text: statements.of(resource.numbers.length > 0 ? 'create_numbered' : 'create_many'),
    columnNames,
    resultOf: ({ stored }, row) => numberedRecord(resource, stored, row),
    writeSingle: (write) => singles.create(db.run, write),
    sharing: share('create'),
  });
  const replacingOf = perRun(db.run, (run) =>
    batchWrites<Write & Replacement, Replaced>(
      { run, engine: db.engine },
      {
        text: statements.of('replace_many'),
        columnNames,
        resultOf: ({ stored }) => stored,
        writeSingle: (replacement) => singles.replace(run, replacement),
        sharing: share('replace'),
      },
    ),
  );
  const createWithId = creationWithId(db, statements, singles);
  const explain =
    ({ fields }: ValidatedInput) =>
    (error: unknown): never => {
      throw writeProblem(error, resource, fields) ?? error;
    };
  return {
    create: (input, run) => {
      const creation = creationOf(resource, input);
      const inTransaction = (run: Run) => singles.create(run, creation);
      const alone = () => (run ? inTransaction(run) : create(creation));
      return (withPassword(db, creation.stored.id, input, run, inTransaction) ?? alone()).catch(
        explain(input),
      );
    },

    createWithId: (id, input, run) => createWithId(id, input, run).catch(explain(input)),
    replace: (id, input, preconditions, run) => {
      const updatedAt = updatedNow(id);
      const head = documentHead(id, input.fields, new Date(createdAt(id)).toISOString(), updatedAt);
      const { columns, caller: actor } = input;
      const replacement = { id, head, updatedAt, columns, preconditions, actor };
      const inTransaction = (run: Run) => singles.replace(run, replacement);
      // With a known version the whole document is known, so that it can be written together with others.
      const version = onlyVersion(preconditions);
      const shared = version === undefined ? undefined : replacingOf(run);
      const written =
        withPassword(db, id, input, run, inTransaction) ??
        shared?.({ ...replacement, stored: toRecord(id, head, version! + 1) }) ??
        inTransaction(run ?? db.run);
      return written.catch(explain(input));
    },

    remove: removal(db, resource, statements),
  };
}

/** A new record with an id and a time of its own. */
export function creationOf(resource: Resource, { fields, columns, caller }: ValidatedInput): Write {
  const { id, ms } = nextIdentity();
  const now = new Date(ms).toISOString();
  const stored = toRecord(id, documentHead(id, fields, now, now, numberMembers(resource)), 1);
  return { stored, updatedAt: now, columns, actor: caller };
}

/** In a transaction, so that a deleted id is not used again when the deletion is concurrent. */
function creationWithId(
  db: Db,
  statements: Statements,
  singles: ReturnType<typeof singleWrites>,
): Writes['createWithId'] {
  return (id, input, run) => {
    const updatedAt = updatedNow(id);
    const created = new Date(createdAt(id)).toISOString();
    const head = documentHead(id, input.fields, created, updatedAt, numberMembers(statements.resource));
    const creation = {
      stored: toRecord(id, head, 1),
      updatedAt,
      columns: input.columns,
      actor: input.caller,
    };
    const inTransaction = async (run: Run) => {
      const stored = await singles.createWithId(run, creation);
      if (stored && (await run(statements.of('deleted'), [id])).length > 0)
        throw gone(statements.resource.singular);
      return stored;
    };
    return (
      withPassword(db, id, input, run, inTransaction) ??
      (run ? inTransaction(run) : db.transaction(inTransaction))
    );
  };
}

/**
 * Writes a record together with its password, and while the password that has confirmed the write is current, in one
 * transaction. Undefined: the input has neither. Rejects with 403.
 */
function withPassword<T>(
  db: Db,
  id: string,
  input: ValidatedInput,
  run: Run | undefined,
  write: (run: Run) => Promise<T>,
): Promise<T> | undefined {
  const hash = storedPassword(input);
  const { confirmedBy } = input;
  if (!hash && !confirmedBy) return undefined;
  const all = async (run: Run, hashed: string | undefined): Promise<T> => {
    const written = await write(run);
    if (!isStored(written)) return written;
    // After the write, so that all lock the user before the password.
    if (confirmedBy && !(await lockVerifiedPassword(run, confirmedBy))) throw currentPasswordWrong();
    if (hashed !== undefined) await run(SET_PASSWORD, [id, hashed]);
    return written;
  };
  if (!hash) return run ? all(run, undefined) : db.transaction((run) => all(run, undefined));
  return hash.then((hashed) => {
    if (!run) return db.transaction((run) => all(run, hashed));
    // A hash takes long, and the transaction holds locks.
    if (input.passwordHash === undefined) throw new Error('a password in a transaction has no hash yet');
    return all(run, hashed);
  });
}

/** Never before the record was created, whatever the clocks say. */
function updatedNow(id: string): string {
  return new Date(Math.max(Date.now(), createdAt(id))).toISOString();
}

const SET_PASSWORD = PASSWORDS_SQL.set_password;

/**
 * The hash that a draft's password is stored as; undefined when the draft has none. Rejects with the 400 of a common
 * password, 503 when too many passwords wait to be hashed.
 */
export function storedPassword(draft: ValidatedInput): Promise<string> | undefined {
  const { password, passwordHash, fields } = draft;
  if (password === undefined) return passwordHash === undefined ? undefined : Promise.resolve(passwordHash);
  return requireUncommonPassword(password, fields).then(() => passwordHash ?? hashPassword(password));
}
