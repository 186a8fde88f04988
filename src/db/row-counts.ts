import { ROW_COUNTS_SQL, splitSql } from './core-statements.js';
import type { Db, Run } from './db.js';
import { qualified } from './object-names.js';
import { fill } from './statements.js';

/** Minimum records in a bucket; the square root of the collection's size if that is more. */
export const BUCKET_ROWS = 512;
/** How long one run splits buckets: a split takes a tenth of a second. The next run continues. */
const RUN_MS = 500;

/** Collections with deltas to compact. */
export async function uncompacted(run: Run): Promise<string[]> {
  return (await run(ROW_COUNTS_SQL.uncompacted, [])).map(({ collection }) => collection as string);
}

/**
 * Adds the deltas of a collection to its buckets and splits those that have become too large, in one transaction. Returns
 * whether there may be more to split, as after a statement with millions of records. Does nothing while another process
 * does. `schema` has the table of the collection, whose name is never text of a client.
 */
export function compact(
  db: Db,
  schema: string,
  collection: string,
  bucketRows = BUCKET_ROWS,
  runMs = RUN_MS,
): Promise<boolean> {
  return db.transaction(async (run) => {
    const since = performance.now();
    await run(ROW_COUNTS_SQL.open, [collection]);
    const [locked] = await run(ROW_COUNTS_SQL.lock, [collection, schema]);
    if (!locked?.table) return false;
    await run(ROW_COUNTS_SQL.compact, [collection, bucketRows]);
    const split = fill(splitSql(db.engine), { table: qualified(schema, String(locked.table)) });
    do {
      if ((await run(split, [collection, bucketRows])).length === 0) return false;
    } while (performance.now() - since < runMs);
    return true;
  });
}
