import type postgres from 'postgres';
import { releaseQuery, rowsOf } from './postgres-patches.js';

export type Value = string | number | null;
export type Row = Record<string, string | number | boolean | null>;

const PREPARED = { prepare: true, simple: false } as never;

/** Runs one statement that is seldom repeated. */
export const unprepared = async (sql: postgres.Sql, text: string, args: readonly Value[]): Promise<Row[]> =>
  rowsOf(await sql.unsafe<Row[]>(text, args as Value[]));

/** Runs one statement; a connection prepares the same text once. */
export function prepared(sql: postgres.Sql, text: string, args: readonly Value[]): Promise<Row[]> {
  const query = sql.unsafe<Row[]>(text, args as Value[], PREPARED);
  return query.then((result) => releaseQuery(query, result));
}

/** Runs one statement with a plan for all arguments on a connection whose statements are planned anew each time. */
export async function plannedOnce(sql: postgres.Sql, text: string, args: readonly Value[]): Promise<Row[]> {
  // All three are sent before any other statement of the connection.
  const [, rows] = await Promise.all([
    prepared(sql, "set plan_cache_mode = 'force_generic_plan'", []),
    prepared(sql, text, args),
    prepared(sql, "set plan_cache_mode = 'force_custom_plan'", []),
  ]);
  return rows;
}
