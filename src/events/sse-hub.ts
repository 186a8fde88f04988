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
import type { ReaderSlot } from './reader-slots.js';
import { type EndReason, SseConnection, type StreamLimits, type Subscription } from './sse-connection.js';
import { type Delivery, SseLane } from './sse-lane.js';

export interface SseSettings extends StreamLimits {
  readonly eventsStreamMs: number;
  readonly eventsHeartbeatMs: number;
}

/** Tells clients to reconnect after this many milliseconds. */
const RETRY = 'retry: 2000\n\n';
/** Streams that read at once what they have missed, and events per read. */
const MAX_CATCHING_UP = 4;
const PAGE_EVENTS = 500;
/** Different conditions that streams of a process may have, and how many of them compare events at once. */
const MAX_LANES = 256;
/** Readers of collections with access rules, whose streams are compared for each of them. */
const MAX_WITH_RULES = 2048;
const MAX_COMPARING = 16;

/** The event streams of a process (Server-Sent Events; HTML, section 9.2). */
export class SseHub {
  readonly #connections = new Set<SseConnection>();
  /** Connections that wait to read what they have missed. */
  readonly #behind: SseConnection[] = [];
  readonly #heartbeat: NodeJS.Timeout;
  /** Streams with conditions, by the keys of their filters. */
  readonly #lanes = new Map<string, SseLane>();
  readonly #laneSlots = new WorkSlots(MAX_COMPARING, MAX_WITH_RULES);
  #catchingUp = 0;
  #latest: Delivery | undefined;
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

  /** Streams in use, including requests that wait for events. */
  get size(): number {
    return this.metrics.readers.value;
  }

  /** Throws 503 if there are too many different conditions for another stream. */
  requireLane(filter: Filter): void {
    const max = filter.policies.size > 0 ? MAX_WITH_RULES : MAX_LANES;
    if (isCompared(filter) && this.#lanes.size >= max && !this.#lanes.has(filter.key))
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
        this.#latest = undefined;
        this.#endAll('missed');
      },
    });
    out.write(RETRY);
    slot.invalid.addEventListener('abort', revoke);
    if (slot.invalid.aborted) return revoke();
    if (isCompared(subscription.filter)) this.#laneOf(subscription.filter).add(connection);
    else this.#queue(connection);
  }

  #laneOf({ key }: Filter): SseLane {
    const { db, follower, context } = this;
    const lane =
      this.#lanes.get(key) ??
      new SseLane({
        db,
        follower,
        context,
        slots: this.#laneSlots,
        latest: () => this.#latest,
        onError: (err) => this.#logFault(err),
      });
    this.#lanes.set(key, lane);
    return lane;
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
    this.#latest = undefined;
  }

  #endAll(reason: EndReason): void {
    for (const connection of this.#connections) connection.end(reason);
  }

  /** Writes new events. Connections at the same position with the same filter share the bytes. */
  #publish(events: readonly Event[]): void {
    const until = this.follower.delivered();
    this.#latest = { after: this.#latest?.until ?? until, until, events };
    for (const lane of this.#lanes.values()) lane.wake();
    const last = events.at(-1)?.seq ?? 0;
    const shared = new Map<string, Buffer>();
    for (const connection of this.#connections) {
      const { position, filter } = connection;
      if (isCompared(filter) || !connection.isLive || position >= last) continue;
      const key = `${position < events[0]!.seq ? 0 : position}${filter.key}`;
      const bytes = shared.get(key) ?? Buffer.from(connection.textOf(events, this.context));
      shared.set(key, bytes);
      connection.position = last;
      if (bytes.length > 0) connection.write(bytes);
    }
  }

  #queue(connection: SseConnection): void {
    this.#behind.push(connection);
    if (this.#catchingUp < MAX_CATCHING_UP) void this.#catchUp();
  }

  /** Reads for connections that are behind, the one that waits longest first, until each is at the follower's position. */
  async #catchUp(): Promise<void> {
    this.#catchingUp++;
    for (let next = this.#behind.shift(); next; next = this.#behind.shift()) {
      try {
        await this.#advance(next);
      } catch (err) {
        this.#logFault(err);
        next.end('fault');
      }
    }
    this.#catchingUp--;
  }

  /** The follower logs that the database is away; anything else is an internal error. The client reconnects. */
  #logFault(err: unknown): void {
    if (!(err instanceof Problem || problemOf(err)))
      this.log.error({ err }, 'an event stream could not be read on');
  }

  async #advance(connection: SseConnection): Promise<void> {
    if (connection.isClosed) return;
    const delivered = this.follower.delivered();
    if (connection.position >= delivered) {
      connection.isLive = true;
      return;
    }
    const { position: after, filter, out } = connection;
    const { events, until, floor } = await readEvents(this.db.run, {
      after,
      horizon: delivered,
      limit: PAGE_EVENTS,
      filter,
    });
    if (after < floor && !connection.mayExpire) return connection.end('gone');
    const text = connection.textOf(events, this.context);
    connection.position = until;
    if (text !== '') {
      connection.mayExpire = false;
      connection.write(text);
    }
    if (out.writableNeedDrain) out.once('drain', () => this.#queue(connection));
    else this.#queue(connection);
  }

  /** Sends each client its position, and disconnects those that read nothing since the last heartbeat. */
  #beat(): void {
    for (const connection of this.#connections) {
      if (connection.hasStalled()) connection.end('slow');
      const { position, filter, isLive } = connection;
      const cursor = this.context.cursorOf(
        isCompared(filter) ? position : Math.max(position, this.follower.delivered()),
      );
      connection.write(isLive || isCompared(filter) ? `:\nid: ${cursor}\n\n` : ':\n\n');
    }
  }
}
