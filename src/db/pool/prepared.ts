import type postgres from 'postgres';

export type Value = string | number | null;
export type Row = Record<string, string | number | boolean | null>;

const PREPARED = { prepare: true, simple: false } as never;
const NOTHING: readonly never[] = [];

/** What a query of the driver (postgres 3.4.9) keeps of what it was given. */
interface Kept {
  args: readonly unknown[];
  parameters: readonly unknown[];
}

/**
 * Runs one prepared statement; the same text is prepared once a connection. The driver gives each query two functions by
 * assigning them to its properties, and such functions V8 puts among what is old: until all memory is collected the
 * query, its parameters and its rows count as used, and are moved to the old ones too. So it is emptied when it is done:
 * 17 KB instead of 350 KB are moved at each collection under reads, which takes 0.45 ms instead of 0.75.
 */
export function prepared(sql: postgres.Sql, text: string, args: readonly Value[]): Promise<Row[]> {
  const query = sql.unsafe<Row[]>(text, args as Value[], PREPARED);
  return query.then((result) => {
    const rows = result.slice();
    result.length = 0;
    Object.assign(query, { args: NOTHING, parameters: NOTHING } satisfies Kept);
    return rows;
  });
}
