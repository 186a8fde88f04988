import type { Run } from '../db/db.js';
import { ExitError } from '../exit-error.js';
import type { Position } from './chunks.js';
import { STATEMENTS } from './import-statements.js';

/** How far the import of a collection has got. */
export interface Progress extends Position {
  readonly stored: number;
  readonly refused: number;
  readonly finished: boolean;
}

/**
 * Reads the progress of an import by its key, by collection; without `resume` forgets it. Locks the key for the session.
 * Throws ExitError if another process imports the same.
 */
export async function openProgress(
  run: Run,
  key: string,
  resume: boolean,
): Promise<ReadonlyMap<string, Progress>> {
  const [lock] = await run(STATEMENTS.get('lock_import')!, [key]);
  if (!lock?.locked) throw new ExitError('this file is being imported by another process');
  await run(STATEMENTS.get('forget_old')!, []);
  if (!resume) await run(STATEMENTS.get('restart')!, [key]);
  const rows = await run(STATEMENTS.get('progress')!, [key]);
  return new Map(
    rows.map(({ collection, position, place, stored, refused, finished }) => [
      collection as string,
      {
        position: Number(position),
        place: Number(place),
        stored: Number(stored),
        refused: Number(refused),
        finished: finished === true,
      },
    ]),
  );
}

/** Records progress; in the transaction of the records that it counts. */
export async function recordProgress(
  run: Run,
  key: string,
  collection: string,
  { position, place, stored, refused, finished }: Progress,
): Promise<void> {
  const args = [key, collection, position, place, stored, refused, String(finished)];
  await run(STATEMENTS.get('record_progress')!, args);
}
