import type { PruneTask } from '../../db/maintenance.js';
import { statements } from '../../db/statements.js';

/** The statements of the feature. */
export const VERSION_CALLS_SQL = statements('features/version-calls/version-calls.sql', [
  'add',
  'list',
  'prune',
]);

/** Days for which calls of versions are retained. */
const CALL_DAYS = 30;

export const VERSION_CALL_PRUNES: readonly PruneTask[] = [
  { text: VERSION_CALLS_SQL.prune, args: [CALL_DAYS] },
];
