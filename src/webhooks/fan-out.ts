import type { Db, Run } from '../db/db.js';
import { readStatements } from '../db/statements.js';
import { insertDeliveries, type Told } from './delivery-store.js';
import { isWanted } from './webhook-input.js';

/** What is next in the feed. */
export interface FeedBatch {
  readonly events: readonly Told[];
  /** The place to read on from, also past what there is nothing left of. */
  readonly until: string | null;
  readonly more: boolean;
}

/** The feed as webhooks read it. */
export interface Source {
  /**
   * In the transaction of `run`: what comes after a place (null: the oldest that is kept), in the feed's order, up to
   * `limit`, and whether there is more. None but those that nothing older can come before any more.
   */
  read(run: Run, after: string | null, limit: number): Promise<FeedBatch>;
  /** Brings `end` up to what is in the database now. Throws when that is away. */
  look(): Promise<unknown>;
  /** The place after everything that can be read now; places sort as text. */
  end(): string;
  /** Calls `onNews` when there is more to read; gives the function that ends it. */
  watch(onNews: () => void): () => void;
}

/** How a turn ended. */
export interface FanOutResult {
  readonly more: boolean;
  /** Whether there are webhooks that want events. */
  readonly wanted: boolean;
}

const SQL = readStatements('webhooks.sql');
/** Events of one transaction. */
const MAX = 500;

/**
 * Makes deliveries of what is new in the feed, and moves the place in it in the same transaction: each event becomes
 * one delivery of each webhook that wants it, whatever process dies. One process does it at a time; another that
 * comes meanwhile does nothing. While there are no webhooks the place moves on by itself, so that a new one is told
 * of what happens from then on.
 */
export async function fanOut(db: Db, source: Source): Promise<FanOutResult> {
  // Before the webhooks are looked at: what is written after one was made comes after this.
  const end = source.end();
  return await db.transaction(async (run) => {
    const [cursor] = await run(SQL.get('lock_cursor')!, []);
    if (!cursor) return { more: false, wanted: true };
    const place = cursor.position as string | null;
    const webhooks = (await run(SQL.get('lock_enabled')!, [])).map(({ id, types }) => ({
      id: String(id),
      types: JSON.parse(String(types)) as string[],
    }));
    if (webhooks.length === 0) {
      if (place === null || end > place) await run(SQL.get('move_cursor')!, [end]);
      return { more: false, wanted: false };
    }
    const { events, until, more } = await source.read(run, place, MAX);
    const tellings = events.flatMap(({ type }, event) =>
      webhooks.filter(({ types }) => isWanted(types, type)).map(({ id }) => ({ webhook: id, event })),
    );
    if (tellings.length > 0) await insertDeliveries(run, events, tellings);
    if (until !== place) await run(SQL.get('move_cursor')!, [until]);
    return { more, wanted: true };
  });
}
