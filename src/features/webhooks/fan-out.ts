import type { Db, Run } from '../../db/db.js';
import { insertDeliveries, type WebhookEvent } from './delivery-store.js';
import { WEBHOOKS_SQL } from './webhook-statements.js';

/** The next events of the feed. */
export interface FeedBatch {
  readonly events: readonly WebhookEvent[];
  /** The position after which to continue; it also passes events that have expired. */
  readonly until: string | null;
  readonly more: boolean;
}

/** The feed, as webhooks read it. */
export interface Source {
  /**
   * Reads up to `limit` final events after a position (null: from the oldest retained), in the transaction of `run`, and
   * whether there are more.
   */
  read(run: Run, after: string | null, limit: number): Promise<FeedBatch>;
  /** Updates `end` to the present state of the database. Throws if the database is not available. */
  look(): Promise<unknown>;
  /** The position after all final events. Positions sort as text. */
  end(): string;
  /** Calls `onNews` whenever there is more to read, until the returned function is called. */
  watch(onNews: () => void): () => void;
}

/** The result of creating deliveries once. */
export interface FanOutResult {
  readonly more: boolean;
  /** Whether there are enabled webhooks. */
  readonly wanted: boolean;
}

const MAX_EVENTS = 500;

/**
 * Creates deliveries for new events, and moves the position in the feed in the same transaction: each event becomes
 * exactly one delivery of each webhook that wants it, even if a process is killed. One process does this at a time;
 * others do nothing meanwhile. Without webhooks the position moves to the end, so that a new webhook receives only later
 * events.
 */
export async function fanOut(db: Db, source: Source): Promise<FanOutResult> {
  // Read before the webhooks: what is written after a webhook was created comes after this position.
  const end = source.end();
  return await db.transaction(async (run) => {
    const [cursor] = await run(WEBHOOKS_SQL.lock_cursor, []);
    if (!cursor) return { more: false, wanted: true };
    const position = cursor.position as string | null;
    const webhooks = (await run(WEBHOOKS_SQL.lock_enabled, [])).map(({ id, types }) => ({
      id: String(id),
      types: JSON.parse(String(types)) as string[],
    }));
    if (webhooks.length === 0) {
      if (position === null || end > position) await run(WEBHOOKS_SQL.move_cursor, [end]);
      return { more: false, wanted: false };
    }
    const { events, until, more } = await source.read(run, position, MAX_EVENTS);
    const deliveries = events.flatMap(({ type }, event) =>
      webhooks.filter(({ types }) => isWanted(types, type)).map(({ id }) => ({ webhook: id, event })),
    );
    if (deliveries.length > 0) await insertDeliveries(run, events, deliveries);
    if (until !== position) await run(WEBHOOKS_SQL.move_cursor, [until]);
    return { more, wanted: true };
  });
}

/** Whether a webhook with these types receives events of this type. */
function isWanted(types: readonly string[], type: string): boolean {
  const family = `${type.slice(0, type.lastIndexOf('.'))}.*`;
  return types.some((each) => each === '*' || each === type || each === family);
}
