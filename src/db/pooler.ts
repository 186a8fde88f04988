import type { Run } from './db.js';
import { DatabaseUnavailableError } from './migrate.js';

/** A feature that a pooler prevents, and the remedy. */
export const POOLER = {
  problem:
    'DATABASE_URL leads to a pooler that does not pass on the settings of a session (time limits, events, tombstones); in transaction mode, prepared statements and LISTEN fail, too',
  advice: 'connect to PostgreSQL itself. Each process has few connections (DB_CONNECTIONS)',
};

/** The server has no prepared statement of this name: it was prepared in another session. */
const NO_SUCH_STATEMENT = '26000';

/** Whether an error is a pooler's. */
export function isPoolerError(error: unknown): boolean {
  const { code, message = '' } = error as { code?: unknown; message?: string };
  return code === NO_SUCH_STATEMENT || message.includes('unsupported startup parameter');
}

/**
 * Checks that the settings of a session reach PostgreSQL. A pooler such as PgBouncer refuses or ignores them; then time
 * limits and events would be missing, and in its transaction mode prepared statements and notifications as well. Throws
 * DatabaseUnavailableError. Other errors are left to the migration, which explains them.
 */
export async function requireSession(run: Run): Promise<void> {
  let isSet: boolean;
  try {
    const [row] = await run(`select current_setting('plinth.events', true) as events`, []);
    isSet = typeof row!.events === 'string';
  } catch (error) {
    isSet = !isPoolerError(error);
  }
  if (!isSet) throw new DatabaseUnavailableError(`${POOLER.problem}: ${POOLER.advice}`);
}
