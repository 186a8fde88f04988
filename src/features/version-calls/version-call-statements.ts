import { statements } from '../../db/statements.js';

/** The statements of the feature. */
export const VERSION_CALLS_SQL = statements('features/version-calls/version-calls.sql', [
  'add',
  'list',
  'prune',
]);
