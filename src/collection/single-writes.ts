import { actorSetting } from '../auth/principal.js';
import type { Engine } from '../database-url/engine.js';
import type { Run } from '../db/db.js';
import type { Changed } from './changes.js';
import { type ColumnValue, parameterOf } from './column.js';
import { toRecord } from './document.js';
import { numberedRecord } from './numbers.js';
import { preconditionFailedOn, type StoredRecord } from './record.js';
import type { Statements } from './sql-templates.js';
import { rowsText, type Write } from './write-batching.js';
import { preconditionArguments, type WritePreconditions } from './write-preconditions.js';

/** The next state of a record, and the preconditions for its present one. */
export interface Replacement {
  readonly id: string;
  /** The document up to its version. */
  readonly head: string;
  readonly updatedAt: string;
  readonly columns: readonly ColumnValue[];
  readonly preconditions: WritePreconditions;
  readonly actor: string | undefined;
}

/** The last argument of a statement that writes, if events have an actor. */
export const actorArguments =
  (engine: Engine) =>
  (actor: string | undefined): (string | null)[] =>
    engine.hasActors ? [actorSetting(actor)] : [];

/** The statements that write one record. */
export function singleWrites(statements: Statements, columnNames: readonly string[], engine: Engine) {
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
      { id, head, updatedAt, columns, preconditions, actor }: Replacement,
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
