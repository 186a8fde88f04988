import { statements, statementsOn } from '../../db/statements.js';

/** The statements of imports and exports. */
// biome-ignore format: one name a line says no more
export const IMPORT_SQL = statements('features/transfer/import.sql', [
  'lock_import', 'forget_old', 'progress', 'restart', 'record_progress', 'record_ids', 'forget_ids',
  'begun_before', 'draw_numbers', 'find_ids', 'existing',
  'find_by_values', 'copy_records', 'taken', 'equal_records', 'replace_records', 'forget_tombstones', 'set_passwords',
  'is_empty', 'begin_export', 'copy_documents', 'field_names',
]);

/** The statements that read or write records of collections. Citus has two more. */
export type RecordStatement = keyof typeof IMPORT_SQL | 'prepare_copy' | 'store_copied';

/** A statement on records, which differs by engine. */
export const recordStatement = (engine: Parameters<typeof statementsOn>[0], name: RecordStatement): string =>
  statementsOn(engine, 'features/transfer/import.sql').get(name)!;
