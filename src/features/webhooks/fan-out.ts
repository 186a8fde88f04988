import type { Db } from '../../db/db.js';
import type { Feed } from '../../feature.js';
import type { Log } from '../../telemetry/log.js';
import { insertDeliveries, WEBHOOKS_SQL } from './delivery-store.js';

/** The feed, as webhooks read it. */
export type Source = Pick<Feed, 'deliveries' | 'end'> & {
  readonly follower: Pick<Feed['follower'], 'look' | 'watch'>;
};

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
 * events. Events that expired before they could be read are logged.
 */
export async function fanOut(db: Db, log: Log, source: Source): Promise<FanOutResult> {
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
    const { events, until, more, missedUntil } = await source.deliveries(run, position, MAX_EVENTS);
    if (missedUntil !== undefined)
      log.warn(
        { after: position, floor: missedUntil },
        'webhooks missed events that expired before they could be read',
      );
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
