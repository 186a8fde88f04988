import { actorSetting } from '../auth/principal.js';
import type { Engine } from '../database-url/engine.js';
import type { Db, Run } from '../db/db.js';
import { perRun } from '../db/shared-run.js';
import { gone } from '../errors/record-errors.js';
import { sharing } from '../telemetry/instruments.js';
import { createdAt, nextIdentity } from '../uuid.js';
import { type Change, type Changed, changing } from './changes.js';
import { parameterOf } from './column.js';
import { writeProblem } from './constraint-errors.js';
import { documentHead, toRecord } from './document.js';
import { numberedRecord, numberMembers } from './numbers.js';
import { withPassword } from './password-writes.js';
import type { Reads } from './reads.js';
import { preconditionFailedOn, type StoredRecord } from './record.js';
import { type Removals, removal } from './removals.js';
import type { Resource } from './resource.js';
import type { Statements } from './sql-templates.js';
import type { ValidatedInput } from './validated-input.js';
import { actorArguments, batchWrites, rowsText, type Write } from './write-batching.js';
import { onlyVersion, preconditionArguments, type WritePreconditions } from './write-preconditions.js';

/** Writes to a collection. Without a `run`, concurrent writes may share a statement. */
export interface Writes extends Removals {
  /** Throws 409 for a duplicate, 422 for an unknown reference. */
  create(input: ValidatedInput, run?: Run): Promise<StoredRecord>;
  /** Creates a record with the id that a client has chosen. Undefined: there is one. Throws as create, and 410 for a deleted id. */
  createWithId(id: string, input: ValidatedInput, run?: Run): Promise<StoredRecord | undefined>;
  /** Changes a record. Throws as create, and what `next` throws. */
  change(id: string, change: Change, run?: Run): Promise<Changed>;
  /** Replaces a record in one attempt. Throws as create. */
  replace(id: string, input: ValidatedInput, preconditions: WritePreconditions, run?: Run): Promise<Changed>;
}

/** The next state of a record, and the preconditions for its present one. */
interface Replacement extends Write {
  /** The document up to its version. */
  readonly head: string;
  readonly preconditions: WritePreconditions;
}

export function openWrites(db: Db, resource: Resource, statements: Statements, get: Reads['get']): Writes {
  const columnNames = [...resource.columns.values()].map(({ name }) => name);
  const singles = singleWrites(statements, columnNames, db.engine);
  const share = (operation: string) => sharing(db.metrics, operation, resource.name);
  const insert = batchWrites<Write, StoredRecord>(db, {
    text: statements.of(resource.numbers.length > 0 ? 'create_numbered' : 'create_many'),
    columnNames,
    resultOf: ({ stored }, row) => numberedRecord(resource, stored, row),
    writeSingle: singles.create,
    sharing: share('create'),
  });
  const updateOf = perRun(db.run, (run) =>
    batchWrites<Replacement, Changed>(
      { run, engine: db.engine },
      {
        text: statements.of('replace_many'),
        columnNames,
        resultOf: ({ stored }) => stored,
        writeSingle: singles.replace,
        sharing: share('replace'),
      },
    ),
  );
  /** Writes a record `alone` if it is written with a password, or together with others by `share`, if that is given. */
  const write: WriteRecord = (id, input, run, item, alone, share) => {
    const secured = resource.hasPasswords
      ? withPassword(db, id, input, run, (run) => alone(run, item))
      : undefined;
    return (secured ?? share?.(item) ?? alone(run ?? db.run, item)).catch((error: unknown) => {
      throw writeProblem(error, resource, input.fields) ?? error;
    });
  };
  const replace: Writes['replace'] = (id, input, preconditions, run) => {
    const version = onlyVersion(preconditions);
    const replacement = { ...replacementOf(id, version ?? 0, input), preconditions };
    // With a known version the whole document is known, so that it can be written together with others.
    const shared = version === undefined ? undefined : updateOf(run);
    return write<Replacement, Changed>(id, input, run, replacement, singles.replace, shared);
  };
  return {
    create: (input, run) => {
      const creation = creationOf(resource, input);
      return write(creation.stored.id, input, run, creation, singles.create, run ? undefined : insert);
    },
    createWithId: creationWithId(db, resource, statements, singles, write),
    replace,
    change: changing(get, replace),
    remove: removal(db, resource, statements),
  };
}

type WriteRecord = <W, T>(
  id: string,
  input: ValidatedInput,
  run: Run | undefined,
  item: W,
  alone: (run: Run, item: W) => Promise<T>,
  share?: (item: W) => Promise<T>,
) => Promise<T>;

/** In a transaction, so that a deleted id is not used again when the deletion is concurrent. */
function creationWithId(
  db: Db,
  resource: Resource,
  statements: Statements,
  singles: ReturnType<typeof singleWrites>,
  write: WriteRecord,
): Writes['createWithId'] {
  return (id, input, run) => {
    const alone = async (run: Run, creation: Write) => {
      const stored = await singles.createWithId(run, creation);
      if (stored && (await run(statements.of('deleted'), [id])).length > 0) throw gone(resource.singular);
      return stored;
    };
    const apart = (creation: Write) => db.transaction((run) => alone(run, creation));
    return write(id, input, run, creationOf(resource, input, id), alone, run ? undefined : apart);
  };
}

/** A new record with an id and a time of its own, or with those that a client has chosen. */
export function creationOf(resource: Resource, input: ValidatedInput, chosen?: string): Write {
  const { fields, columns, caller: actor } = input;
  const { id, ms } = chosen === undefined ? nextIdentity() : { id: chosen, ms: createdAt(chosen) };
  const created = new Date(ms).toISOString();
  const updatedAt = chosen === undefined ? created : changedAt(ms);
  const numbers = resource.numbers.length > 0 ? numberMembers(resource) : undefined;
  const head = documentHead(id, fields, created, updatedAt, numbers);
  return { stored: toRecord(id, head, 1), updatedAt, columns, actor };
}

/** The next version of a record; `head` is its document up to the version. */
export function replacementOf(id: string, version: number, input: ValidatedInput) {
  const { fields, columns, caller: actor } = input;
  const created = createdAt(id);
  const updatedAt = changedAt(created);
  const head = documentHead(id, fields, new Date(created).toISOString(), updatedAt);
  return { stored: toRecord(id, head, version + 1), head, updatedAt, columns, actor };
}

/** The time of a change: never before the record was created, whatever the clocks say. */
const changedAt = (created: number): string => new Date(Math.max(Date.now(), created)).toISOString();

/** The statements that write one record. */
function singleWrites(statements: Statements, columnNames: readonly string[], engine: Engine) {
  const by = actorArguments(engine);
  const { resource } = statements;
  /** Undefined: there is a record with the id. */
  const numbered = async (run: Run, write: Write): Promise<StoredRecord | undefined> => {
    const [row] = await run(statements.of('create_numbered'), [
      rowsText([write], columnNames),
      actorSetting(write.actor),
    ]);
    return row && numberedRecord(resource, write.stored, row);
  };
  const hasNumbers = resource.numbers.length > 0;
  const argumentsOf = ({ stored, updatedAt, columns, actor }: Write) => [
    stored.id,
    updatedAt,
    stored.doc,
    ...columns.map(parameterOf),
    ...by(actor),
  ];
  return {
    create: async (run: Run, write: Write): Promise<StoredRecord> => {
      if (hasNumbers) return (await numbered(run, write))!;
      await run(statements.of('create'), argumentsOf(write));
      return write.stored;
    },
    createWithId: async (run: Run, write: Write): Promise<StoredRecord | undefined> => {
      if (hasNumbers) {
        // A conflict would lose a number: those who create the record wait for each other.
        await run(statements.of('lock_key'), [`${resource.name} ${write.stored.id}`]);
        return numbered(run, write);
      }
      const created = await run(statements.of('create_with_id'), argumentsOf(write));
      return created.length > 0 ? write.stored : undefined;
    },
    replace: async (
      run: Run,
      { stored: { id }, head, updatedAt, columns, preconditions, actor }: Replacement,
    ): Promise<Changed> => {
      const args = [
        id,
        ...preconditionArguments(preconditions),
        updatedAt,
        head,
        ...columns.map(parameterOf),
        ...by(actor),
      ];
      const [row] = await run(statements.of('replace'), args);
      if (!row) return 'absent';
      if (row.before === 0) return 'gone';
      return row.after === null ? preconditionFailedOn(id, row) : toRecord(id, head, row.after as number);
    },
  };
}
