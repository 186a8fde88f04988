import type { Run } from '../../db/db.js';
import { ExitError } from '../../errors/exit-error.js';
import type { Position } from './chunks.js';
import { IMPORT_SQL } from './import-statements.js';

/** How far the import of a collection has got. It goes on at the record whose place it has. */
export interface Progress extends Position {
  readonly stored: number;
  readonly refused: number;
  /** Records whose id was in use, and that were left out. */
  readonly unchanged: number;
  /** Whether the records keep their ids. */
  readonly retainsIds: boolean;
  readonly finished: boolean;
}

/** No record has been imported. */
export const beginning = ({ from }: { readonly from: Position }, retainsIds: boolean): Progress => ({
  ...from,
  stored: 0,
  refused: 0,
  unchanged: 0,
  retainsIds,
  finished: false,
});

/** Locks an import for the session. Throws ExitError if another process imports the same. */
export async function lockImport(run: Run, key: string): Promise<void> {
  const [lock] = await run(IMPORT_SQL.lock_import, [key]);
  if (!lock?.locked) throw new ExitError('this file is being imported by another process');
  await run(IMPORT_SQL.forget_old, []);
}

export async function forgetProgress(run: Run, key: string): Promise<void> {
  await run(IMPORT_SQL.restart, [key]);
}

/** The progress of an import by collection. */
export async function readProgress(run: Run, key: string): Promise<ReadonlyMap<string, Progress>> {
  const rows = await run(IMPORT_SQL.progress, [key]);
  return new Map(rows.map(({ collection, progress }) => [String(collection), JSON.parse(String(progress))]));
}

/** Records progress; in the transaction of the records that it counts. */
export async function recordProgress(
  run: Run,
  key: string,
  collection: string,
  { position, place, stored, refused, unchanged, retainsIds, finished }: Progress,
): Promise<void> {
  const counts = [position, place, stored, refused, unchanged];
  await run(IMPORT_SQL.record_progress, [key, collection, ...counts, String(retainsIds), String(finished)]);
}
