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
import type { ReaderSlot } from './reader-slots.js';
import { type EndReason, SseConnection, type StreamLimits, type Subscription } from './sse-connection.js';
import { type Delivery, SseLane } from './sse-lane.js';

export interface SseSettings extends StreamLimits {
  readonly eventsStreamMs: number;
  readonly eventsHeartbeatMs: number;
}

/** Tells clients to reconnect after this many milliseconds. */
const RETRY = 'retry: 2000\n\n';
/** Lanes that read at once what their streams have missed. */
const MAX_CATCHING_UP = 4;
/** Different conditions that streams of a process may have, and how many of them compare events at once. */
const MAX_LANES = 256;
/** Readers of collections with access rules, whose streams are compared for each of them. */
const MAX_WITH_RULES = 2048;
const MAX_COMPARING = 16;

/** The event streams of a process (Server-Sent Events; HTML, section 9.2). */
export class SseHub {
  readonly #connections = new Set<SseConnection>();
  readonly #heartbeat: NodeJS.Timeout;
  /** Streams by the keys of their filters. */
  readonly #lanes = new Map<string, SseLane>();
  readonly #comparing = new WorkSlots(MAX_COMPARING, Number.POSITIVE_INFINITY);
  readonly #catchingUp = new WorkSlots(MAX_CATCHING_UP, Number.POSITIVE_INFINITY);
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
        this.#latest = undefined;
        this.#endAll('missed');
      },
    });
    out.write(RETRY);
    slot.invalid.addEventListener('abort', revoke);
    if (slot.invalid.aborted) return revoke();
    this.#laneOf(subscription.filter).add(connection);
  }

  #laneOf(filter: Filter): SseLane {
    const { db, follower, context } = this;
    const lane =
      this.#lanes.get(filter.key) ??
      new SseLane(filter, {
        db,
        follower,
        context,
        slots: isCompared(filter) ? this.#comparing : this.#catchingUp,
        latest: () => this.#latest,
        onError: (err) => this.#logFault(err),
      });
    this.#lanes.set(filter.key, lane);
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

  #publish(events: readonly Event[]): void {
    const until = this.follower.delivered();
    this.#latest = { after: this.#latest?.until ?? until, until, events };
    for (const lane of this.#lanes.values()) lane.wake();
  }

  /** The follower logs that the database is away; anything else is an internal error. The client reconnects. */
  #logFault(err: unknown): void {
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
