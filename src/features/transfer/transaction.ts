import type { BulkConnection } from '../../db/bulk-connection.js';

/** Runs work in a transaction, or in a part of the one that is open. */
export async function inTransaction(
  { execute }: Pick<BulkConnection, 'execute'>,
  isPart: boolean,
  work: () => Promise<void>,
): Promise<void> {
  await execute(isPart ? 'savepoint work' : 'begin');
  try {
    await work();
    await execute(isPart ? 'release savepoint work' : 'commit');
  } catch (error) {
    // After the loss of the connection the server has rolled back; the first error is the relevant one.
    await execute(isPart ? 'rollback to savepoint work' : 'rollback').catch(() => undefined);
    throw error;
  }
}
