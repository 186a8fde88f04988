import type { Db } from '../db/db.js';
import type { WorkSlots } from '../work/shared-runs.js';
import type { FeedContext } from './cloudevents.js';
import type { Event } from './event.js';
import type { FeedFollower } from './follower.js';
import { readEvents } from './outbox.js';
import { readableEvents } from './readable-events.js';
import type { SseConnection } from './sse-connection.js';

/** Events per read of the outbox. */
const PAGE_EVENTS = 500;

/** The events that the follower delivered last: all after one position and up to another. */
export interface Delivery {
  readonly after: number;
  readonly until: number;
  readonly events: readonly Event[];
}

/** The services that all lanes share. */
export interface LaneServices {
  readonly db: Db;
  readonly follower: FeedFollower;
  readonly context: FeedContext;
  /** Lanes that compare events at once, each with a page of them in memory. */
  readonly slots: WorkSlots;
  /** Undefined until the follower has delivered twice. */
  readonly latest: () => Delivery | undefined;
  readonly onError: (error: unknown) => void;
}

/**
 * Streams with equal conditions. Those at one position share each read and each evaluation of the conditions. A lane works on
 * its own, one step after the other: it holds no events, and delays no stream of another lane.
 */
export class SseLane {
  readonly #connections = new Set<SseConnection>();
  /** Connections whose clients read too slowly to get more now. */
  readonly #full = new WeakSet<SseConnection>();
  #isRunning = false;

  constructor(readonly services: LaneServices) {}

  get isEmpty(): boolean {
    return this.#connections.size === 0;
  }

  add(connection: SseConnection): void {
    this.#connections.add(connection);
    this.wake();
  }

  remove(connection: SseConnection): void {
    this.#connections.delete(connection);
  }

  /** To be called when there may be events that the lane's connections do not have. */
  wake(): void {
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let group = this.#next(); group.length > 0; group = this.#next())
      try {
        const advance = this.services.slots.run(() => this.#advance(group));
        if (!advance) throw new Error('more lanes than may wait');
        await advance;
      } catch (error) {
        this.services.onError(error);
        for (const connection of group) connection.end('fault');
      }
    this.#isRunning = false;
  }

  /** The connections to advance: those at the position of the one that waits longest. */
  #next(): SseConnection[] {
    const delivered = this.services.follower.delivered();
    const behind = [...this.#connections].filter(
      (each) => !each.isClosed && each.position < delivered && !this.#full.has(each),
    );
    return behind.filter(({ position }) => position === behind[0]!.position);
  }

  async #advance(group: readonly SseConnection[]): Promise<void> {
    const { db, follower, context, latest } = this.services;
    const { position: after, filter } = group[0]!;
    const delivery = latest();
    const { events, until, floor } =
      delivery && after >= delivery.after
        ? { ...delivery, floor: 0 }
        : await readEvents(db.run, { after, horizon: follower.delivered(), limit: PAGE_EVENTS, filter });
    const matching = await readableEvents(
      db,
      filter,
      events.filter(({ seq }) => seq > after),
    );
    const bytes = Buffer.from(group[0]!.textOf(matching, context));
    for (const connection of group) {
      if (after < floor && !connection.mayExpire) {
        connection.end('gone');
        continue;
      }
      connection.position = until;
      if (bytes.length === 0) continue;
      connection.mayExpire = false;
      connection.write(bytes);
      if (connection.out.writableNeedDrain) this.#wait(connection);
    }
  }

  #wait(connection: SseConnection): void {
    this.#full.add(connection);
    connection.out.once('drain', () => {
      this.#full.delete(connection);
      this.wake();
    });
  }
}
