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
