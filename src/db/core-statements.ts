import type { Engine } from '../database-url/engine.js';
import { fill, statements, statementsOn } from './statements.js';

/* The statements of the core: one object for each file of sql/, with the names that the file has. */

// biome-ignore format: one name a line says no more
export const AUTH_SQL = statements('auth.sql', [
  'take', 'prune_taken', 'prune_limits', 'passwords_of', 'password_of', 'rehash', 'find_credentials',
  'current_credentials', 'current_callers', 'user_of_email', 'set_user_scopes', 'scopes_of_user',
]);
// biome-ignore format: one name a line says no more
export const COLLECTIONS_SQL = statements('collections.sql', [
  'catalog', 'foreign_keys', 'triggers', 'apply', 'settle', 'offer', 'documents',
]);
// biome-ignore format: one name a line says no more
export const EVENTS_SQL = statements('events.sql', [
  'snapshot', 'epochs', 'last_number', 'read', 'measure', 'byte_floor', 'forget_measured', 'fanned_out', 'expire',
  'drop', 'change_segment', 'truncate_expired', 'create_ticket', 'find_ticket', 'use_ticket', 'prune_tickets', 'prune_history',
  'history_page',
]);
// biome-ignore format: one name a line says no more
export const IDEMPOTENCY_SQL = statements('idempotency.sql', [
  'lock', 'find', 'keep', 'forget_bodies', 'prune_keys', 'prune_key_bytes', 'prune_tombstones',
]);
export const LIMITS_SQL = statements('limits.sql', ['count', 'set_count']);
export const PASSWORDS_SQL = statements('passwords.sql', ['set_password', 'lock_version']);
// biome-ignore format: one name a line says no more
export const ROW_COUNTS_SQL = statements('row-counts.sql', [
  'uncompacted', 'open', 'lock', 'compact', 'split', 'bucket',
]);

/** The statements of which parts differ by engine. */
export const catalogSql = (engine: Engine): string =>
  fill(fill(COLLECTIONS_SQL.catalog, partsOn(engine, 'collections.sql')), { class: 'class' });
export const splitSql = (engine: Engine): string =>
  fill(ROW_COUNTS_SQL.split, partsOn(engine, 'row-counts.sql'));

const partsOn = (engine: Engine, file: string) => Object.fromEntries(statementsOn(engine, file));
