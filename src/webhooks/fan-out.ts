import type { Db, Run } from '../db/connect.js';
import { readStatements } from '../db/queries.js';
import { insertDeliveries, type Told } from './delivery.js';
import { isWanted } from './fields.js';

/** An event of the feed. */
export interface FeedEvent extends Told {
  /** Its place in the feed, to read on from. */
  readonly position: string;
}

/**
 * Reads the feed in the transaction of `run`: what comes after a position (null: the oldest that is kept), in the
 * feed's order, up to `limit`. None but those that nothing older can come before any more.
 */
export type ReadEvents = (run: Run, after: string | null, limit: number) => Promise<readonly FeedEvent[]>;

const SQL = readStatements('webhooks.sql');
/** Events of one transaction. */
const MOST = 500;

/**
 * Makes deliveries of what is new in the feed, and moves the place in it in the same transaction: each event becomes
 * one delivery of each webhook that wants it, whatever process dies. One process does it at a time; another that
 * comes meanwhile does nothing. Gives whether there may be more.
 */
export async function fanOut(db: Db, readEvents: ReadEvents): Promise<boolean> {
  return await db.transaction(async (run) => {
    const [cursor] = await run(SQL.get('lock_cursor')!, []);
    if (!cursor) return false;
    const events = await readEvents(run, cursor.position as string | null, MOST);
    if (events.length === 0) return false;
    const webhooks = (await run(SQL.get('lock_enabled')!, [])).map(({ id, types }) => ({
      id: String(id),
      types: JSON.parse(String(types)) as string[],
    }));
    const tellings = events.flatMap(({ type }, event) =>
      webhooks.filter(({ types }) => isWanted(types, type)).map(({ id }) => ({ webhook: id, event })),
    );
    if (tellings.length > 0) await insertDeliveries(run, events, tellings);
    await run(SQL.get('move_cursor')!, [events.at(-1)!.position]);
    return events.length === MOST;
  });
}
