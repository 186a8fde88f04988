import type { ServerResponse } from 'node:http';
import { problemOf } from '../db/database-errors.js';
import type { Db } from '../db/db.js';
import { Problem } from '../errors/problem.js';
import { beyond } from '../errors/service-errors.js';
import type { Log } from '../telemetry/log.js';
import type { EventMetrics } from '../telemetry/metrics.js';
import { WorkSlots } from '../work/shared-runs.js';
import type { FeedContext } from './cloudevents.js';
import type { Event } from './event.js';
import { type Filter, isCompared } from './event-filter.js';
import type { FeedFollower } from './follower.js';
import { readEvents } from './outbox.js';
import { readableEvents } from './readable-events.js';
import type { ReaderSlot } from './reader-slots.js';
import { type EndReason, SseConnection, type StreamLimits, type Subscription } from './sse-connection.js';

export interface SseSettings extends StreamLimits {
  readonly eventsStreamMs: number;
  readonly eventsHeartbeatMs: number;
}

/** Tells clients to reconnect after this many milliseconds. */
const RETRY = 'retry: 2000\n\n';
/** Events per read of the outbox. */
const PAGE_EVENTS = 500;
/** Lanes that read at once what their streams have missed. */
const MAX_CATCHING_UP = 4;
/** Different conditions that streams of a process may have, and how many of them compare events at once. */
const MAX_LANES = 256;
/** Readers of collections with access rules, whose streams are compared for each of them. */
const MAX_WITH_RULES = 2048;
const MAX_COMPARING = 16;

/** The events that the follower delivered last: all after one position and up to another. */
interface Delivery {
  readonly after: number;
  readonly until: number;
  readonly events: readonly Event[];
}

/** The event streams of a process (Server-Sent Events; HTML, section 9.2). */
export class SseHub {
  readonly #connections = new Set<SseConnection>();
  readonly #heartbeat: NodeJS.Timeout;
  /** Streams by the keys of their filters. */
  readonly #lanes = new Map<string, SseLane>();
  readonly #comparing = new WorkSlots(MAX_COMPARING, Number.POSITIVE_INFINITY);
  readonly #catchingUp = new WorkSlots(MAX_CATCHING_UP, Number.POSITIVE_INFINITY);
  /** The events that the follower delivered last; undefined until it has delivered twice. */
  latest: Delivery | undefined;
  #unsubscribe: (() => void) | undefined;
  isClosed = false;

  constructor(
    readonly db: Db,
    readonly follower: FeedFollower,
    readonly log: Log,
    readonly settings: SseSettings,
    readonly context: FeedContext,
    readonly metrics: EventMetrics,
  ) {
    this.#heartbeat = setInterval(() => this.#beat(), settings.eventsHeartbeatMs).unref();
  }

  /** Throws 503 if there are too many different conditions for another stream. */
  requireLane(filter: Filter): void {
    if (!isCompared(filter) || this.#lanes.has(filter.key)) return;
    const max = filter.policies.size > 0 ? MAX_WITH_RULES : MAX_LANES;
    if ([...this.#lanes.values()].filter((lane) => isCompared(lane.filter)).length >= max)
      throw beyond('conditions');
  }

  /**
   * Writes events to a response until the client leaves or is too slow, its credential is no longer valid, or its time is
   * over. Then it releases the slot.
   */
  open(out: ServerResponse, subscription: Subscription, slot: ReaderSlot): void {
    if (out.destroyed) return slot.leave();
    // Spread over a tenth of the time, since the clients reconnect at once.
    const over = Date.now() + this.settings.eventsStreamMs * (0.9 + Math.random() / 10);
    const expiresAt = Math.min(subscription.expiresAt, over);
    const connection = new SseConnection(out, { ...subscription, expiresAt }, this.settings);
    const { socket } = out.req;
    // A client that closes its sending half has most likely left.
    const left = () => connection.end('left');
    const revoke = () => connection.end('revoked');
    out.once('close', () => {
      socket.off('end', left);
      slot.invalid.removeEventListener('abort', revoke);
      this.#remove(connection);
      slot.leave();
    });
    socket.once('end', left);
    out.on('error', () => out.destroy());
    if (this.isClosed || socket.readableEnded) {
      if (this.isClosed) connection.endReason = 'stopped';
      return void out.end(RETRY);
    }
    this.#connections.add(connection);
    this.#unsubscribe ??= this.follower.subscribe({
      onEvents: (events) => this.#publish(events),
      onMissed: () => {
        this.latest = undefined;
        this.#endAll('missed');
      },
    });
    out.write(RETRY);
    slot.invalid.addEventListener('abort', revoke);
    if (slot.invalid.aborted) return revoke();
    this.#laneOf(subscription.filter).add(connection);
  }

  #laneOf(filter: Filter): SseLane {
    const lane = this.#lanes.get(filter.key) ?? new SseLane(filter, this);
    this.#lanes.set(filter.key, lane);
    return lane;
  }

  /** The lanes that read or compare events at once, each with a page of them in memory. */
  slotsOf(filter: Filter): WorkSlots {
    return isCompared(filter) ? this.#comparing : this.#catchingUp;
  }

  /** Ends all streams; the clients reconnect to another process. */
  close(): void {
    this.isClosed = true;
    clearInterval(this.#heartbeat);
    this.#endAll('stopped');
  }

  #remove(connection: SseConnection): void {
    this.#connections.delete(connection);
    connection.release();
    const { key } = connection.filter;
    const lane = this.#lanes.get(key);
    lane?.remove(connection);
    if (lane?.isEmpty) this.#lanes.delete(key);
    this.metrics.ended.of(connection.endReason).value++;
    if (this.#connections.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.latest = undefined;
  }

  #endAll(reason: EndReason): void {
    for (const connection of this.#connections) connection.end(reason);
  }

  #publish(events: readonly Event[]): void {
    const until = this.follower.delivered();
    this.latest = { after: this.latest?.until ?? until, until, events };
    for (const lane of this.#lanes.values()) lane.wake();
  }

  /** The follower logs that the database is away; anything else is an internal error. The client reconnects. */
  logFault(err: unknown): void {
    if (!(err instanceof Problem || problemOf(err)))
      this.log.error({ err }, 'an event stream could not be read on');
  }

  /** Sends each client its position, and disconnects those that read nothing since the last heartbeat. */
  #beat(): void {
    for (const connection of this.#connections) {
      if (connection.hasStalled()) connection.end('slow');
      connection.write(`:\nid: ${this.context.cursorOf(connection.position)}\n\n`);
    }
  }
}

/**
 * Streams with equal filters. Those at one position share each read, each evaluation of the conditions, and the bytes. A lane works on
 * its own, one step after the other: it holds no events, and delays no stream of another lane.
 */
class SseLane {
  readonly #connections = new Set<SseConnection>();
  /** Connections whose clients read too slowly to get more now. */
  readonly #full = new WeakSet<SseConnection>();
  #isRunning = false;

  constructor(
    readonly filter: Filter,
    readonly hub: SseHub,
  ) {}

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
        const { position } = group[0]!;
        const { latest } = this.hub;
        const atHand = latest && position >= latest.after ? latest : undefined;
        if (atHand && !isCompared(this.filter)) this.#write(group, atHand.events, atHand.until);
        else await this.hub.slotsOf(this.filter).run(() => this.#advance(group, atHand));
      } catch (error) {
        this.hub.logFault(error);
        for (const connection of group) connection.end('fault');
      }
    this.#isRunning = false;
  }

  /** The connections to advance: those at the position of the one that waits longest. */
  #next(): SseConnection[] {
    const delivered = this.hub.follower.delivered();
    const behind = [...this.#connections].filter(
      (each) => !each.isClosed && each.position < delivered && !this.#full.has(each),
    );
    return behind.filter(({ position }) => position === behind[0]!.position);
  }

  async #advance(group: readonly SseConnection[], atHand: Delivery | undefined): Promise<void> {
    const { db, follower } = this.hub;
    const { filter } = this;
    const { position: after } = group[0]!;
    const { events, until, floor } = atHand
      ? { ...atHand, floor: 0 }
      : await readEvents(db.run, { after, horizon: follower.delivered(), limit: PAGE_EVENTS, filter });
    const shown = await readableEvents(
      db,
      filter,
      events.filter(({ seq }) => seq > after),
    );
    for (const connection of group) if (after < floor && !connection.mayExpire) connection.end('gone');
    this.#write(group, shown, until);
  }

  #write(group: readonly SseConnection[], events: readonly Event[], until: number): void {
    const bytes = Buffer.from(group[0]!.textOf(events, this.hub.context));
    for (const connection of group) {
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
