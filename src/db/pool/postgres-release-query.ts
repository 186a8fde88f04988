import type postgres from 'postgres';

const EMPTY: readonly never[] = [];

/** Where a query of the driver (postgres 3.4.9) holds its parameters. */
interface QueryInternals {
  args: readonly unknown[];
  parameters: readonly unknown[];
}

/**
 * Returns the rows of a finished query of the driver, and releases what the query references. The driver assigns
 * functions to each query, which V8 allocates in the old generation: they would retain the query, its parameters and its
 * rows until a major garbage collection.
 */
export function releaseQuery<T extends postgres.MaybeRow>(
  query: postgres.PendingQuery<T[]>,
  result: postgres.RowList<T[]>,
): T[] {
  const rows = result.slice() as T[];
  result.length = 0;
  Object.assign(query, { args: EMPTY, parameters: EMPTY } satisfies QueryInternals);
  return rows;
}
