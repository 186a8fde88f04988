import type { Db, Run } from './db.js';
import { fill, readStatements } from './statements.js';

const COUNTS = readStatements('row-counts.sql');
/** Records in a block, at the least; the square root of their number when that is more. */
export const BUCKET_ROWS = 512;
/** How long one turn goes on cutting: a cut takes a tenth of a second. What is left is for the next. */
const TURN_MS = 500;

/** Collections that have deltas to add up. */
export async function uncompacted(run: Run): Promise<string[]> {
  return (await run(COUNTS.get('unfolded')!, [])).map(({ collection }) => collection as string);
}

/**
 * Adds a collection's deltas up and cuts blocks that have become too large, in one transaction; gives whether there
 * may be more to cut, as after many millions of records in one statement. Does nothing when another process is at
 * it. `table` is the name of a collection, never a client's text.
 */
export function compact(db: Db, table: string, block = BUCKET_ROWS, turnMs = TURN_MS): Promise<boolean> {
  return db.transaction(async (run) => {
    const since = performance.now();
    await run(COUNTS.get('open')!, [table]);
    if ((await run(COUNTS.get('lock')!, [table])).length === 0) return false;
    await run(COUNTS.get('fold')!, [table, block]);
    const split = fill(COUNTS.get('split')!, { table });
    do {
      if ((await run(split, [table, block])).length === 0) return false;
    } while (performance.now() - since < turnMs);
    return true;
  });
}
