import type postgres from 'postgres';

export type Value = string | number | null;
export type Row = Record<string, string | number | boolean | null>;

const PREPARED = { prepare: true, simple: false } as never;

/** Runs one statement that is seldom repeated. */
export const unprepared = (sql: postgres.Sql, text: string, args: readonly Value[]): Promise<Row[]> =>
  rowsOf(sql.unsafe<Row[]>(text, args as Value[]));

/** Runs one statement; a connection prepares the same text once. */
export const prepared = (sql: postgres.Sql, text: string, args: readonly Value[]): Promise<Row[]> =>
  rowsOf(sql.unsafe<Row[]>(text, args as Value[], PREPARED));

/** Runs one statement as `prepared` does, and passes on each row as soon as it arrives. `onRow` must not throw. */
export const preparedRows =
  (onRow: (row: Row) => void) =>
  async (sql: postgres.Sql, text: string, args: readonly Value[]): Promise<Row[]> => {
    const query = sql.unsafe<Row[]>(text, args as Value[], PREPARED);
    query.forEach(onRow);
    return rowsOf(query);
  };

/** The driver delays a message that is shorter than this until the next tick of the event loop. */
const MIN_BYTES = 1024;

/**
 * Pads a parameter with spaces so that the driver sends its statement at once. The parameter's type must ignore trailing
 * spaces (an array, JSON). A batched statement has already waited for others, and need not wait again. No issue asks for
 * a setting: https://github.com/porsager/postgres/blob/v3.4.9/src/connection.js#L248.
 */
export function padForImmediateWrite(parameter: string): string {
  return parameter.padEnd(MIN_BYTES);
}

const EMPTY: readonly never[] = [];

/** Where a query of the driver holds its parameters, and the function that receives its rows. */
interface QueryInternals {
  args: readonly unknown[];
  parameters: readonly unknown[];
  forEachFn: undefined;
}

/**
 * Resolves to the rows of a query of the driver, and then releases what the query references. The driver assigns
 * functions to each query, which V8 allocates in the old generation: they would retain the query, its parameters and its
 * rows until a major garbage collection. No issue reports it: https://github.com/porsager/postgres/blob/v3.4.9/src/query.js.
 */
const rowsOf = (query: postgres.PendingQuery<Row[]>): Promise<Row[]> =>
  query.then((result) => {
    // After a statement that failed behind its first rows, the driver leaves as many places empty before the rows of the next
    // statement: https://github.com/porsager/postgres/blob/v3.4.9/src/connection.js#L523. No issue reports it.
    const rows = 0 in result ? result.slice() : result.filter(() => true);
    result.length = 0;
    Object.assign(query, { args: EMPTY, parameters: EMPTY, forEachFn: undefined } satisfies QueryInternals);
    return rows;
  });
