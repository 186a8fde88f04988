import { actorSetting } from '../auth/principal.js';
import { createBatcher } from '../db/batcher.js';
import { isDataError } from '../db/database-errors.js';
import type { Db, Run } from '../db/db.js';
import { perRun } from '../db/shared-run.js';
import { sharing } from '../telemetry/instruments.js';
import { inAttempts } from './attempts.js';
import { admitsRecord } from './changes.js';
import { removalProblem } from './constraint-errors.js';
import { type PreconditionFailed, preconditionFailedOn } from './record.js';
import type { Resource } from './resource.js';
import type { Statements } from './sql-templates.js';
import { actorArguments } from './write-batching.js';
import {
  NO_PRECONDITIONS,
  onlyVersion,
  preconditionArguments,
  type WritePreconditions,
} from './write-preconditions.js';

/** The result of a deletion. Without preconditions, a record that did not exist counts as removed. */
export type Removed = 'removed' | 'absent' | PreconditionFailed;

/** Deletions of records. */
export interface Removals {
  remove(id: string, preconditions?: WritePreconditions, run?: Run, actor?: string): Promise<Removed>;
}

/** A deletion that shares a statement with others of its transaction, which are of one caller. */
interface Removal {
  readonly id: string;
  /** Undefined: whichever it has. */
  readonly version: number | undefined;
  readonly actor: string | undefined;
}

const REMOVALS = { max: 256, inFlight: 1, waiting: 20_000 };

/** Whether each record was deleted. If one cannot be, none is. */
async function removeMany(run: Run, text: string, removals: readonly Removal[]): Promise<boolean[]> {
  const ids = `{${removals.map(({ id }) => id).join(',')}}`;
  const versions = `{${removals.map(({ version }) => version ?? 'null').join(',')}}`;
  try {
    const rows = await run(text, [ids, versions, actorSetting(removals[0]!.actor)]);
    const removed = new Set(rows.map(({ id }) => id));
    return removals.map(({ id }) => removed.has(id));
  } catch (error) {
    if (isDataError(error)) return removals.map(() => false);
    throw error;
  }
}

/** Deletes the records of a collection. */
export function removal(db: Db, resource: Resource, statements: Statements): Removals['remove'] {
  const by = actorArguments(db.engine);
  const explain = (error: unknown): never => {
    throw removalProblem(error, resource) ?? error;
  };
  const removingOf = perRun(undefined, (run) =>
    createBatcher<Removal, boolean>(
      { ...REMOVALS, sharing: sharing(db.metrics, 'remove', resource.name) },
      (all) => removeMany(run, statements.of('remove_many'), all),
    ),
  );
  return async (id, preconditions = NO_PRECONDITIONS, run = db.run, actor) => {
    const version = onlyVersion(preconditions);
    if (db.engine.writesMany && (preconditions === NO_PRECONDITIONS || version !== undefined)) {
      // The transaction has locked the record. Without it, the statement that follows finds out why it was not deleted.
      if (await removingOf(run)?.({ id, version, actor }).catch(explain)) return 'removed';
    }
    if (preconditions === NO_PRECONDITIONS) {
      await run(statements.of('remove'), [id, ...by(actor)]).catch(explain);
      return 'removed';
    }
    return inAttempts(async () => {
      const args = [id, ...preconditionArguments(preconditions), ...by(actor)];
      const [row] = await run(statements.of('remove_if'), args).catch(explain);
      if (!row) return 'absent';
      if (row.after !== null) return 'removed';
      const failed = preconditionFailedOn(id, row);
      return admitsRecord(preconditions, failed.current) ? undefined : failed;
    });
  };
}
