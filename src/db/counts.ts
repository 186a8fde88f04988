import type { Log } from '../log.js';
import type { Db } from './connect.js';
import { readStatements } from './queries.js';

const INTERVAL_MS = 2000;

/** Adds up the deltas of the totals now and then; gives the function that ends it. */
export function foldCounts(db: Db, log: Log): () => void {
  const statements = readStatements('counts.sql');
  let busy = false;
  const timer = setInterval(async () => {
    if (busy) return;
    busy = true;
    try {
      for (const { collection } of await db.run(statements.get('unfolded')!, [])) {
        await db.run(statements.get('fold')!, [collection!]);
      }
    } catch (error) {
      // Totals stay exact without it, only slower; the next turn tries again.
      log.warn({ err: error }, 'the totals could not be folded');
    } finally {
      busy = false;
    }
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
