import { statements } from '../../db/statements.js';

/** The statements of the feature. */
export const REPLICAS_SQL = statements('features/replicas/replicas.sql', ['replayed', 'written']);
