import type { BulkConnection } from '../../db/bulk-connection.js';

/** Runs work in a transaction; in a dry run in a part of the one that will be rolled back. */
export async function inTransaction(
  { execute }: Pick<BulkConnection, 'execute'>,
  isDryRun: boolean,
  work: () => Promise<void>,
): Promise<void> {
  await execute(isDryRun ? 'savepoint work' : 'begin');
  try {
    await work();
    await execute(isDryRun ? 'release savepoint work' : 'commit');
  } catch (error) {
    // After the loss of the connection the server has rolled back; the first error is the relevant one.
    await execute(isDryRun ? 'rollback to savepoint work' : 'rollback').catch(() => undefined);
    throw error;
  }
}
