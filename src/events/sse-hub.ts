import type { ServerResponse } from 'node:http';
import { problemOf } from '../db/database-errors.js';
import type { Run } from '../db/db.js';
import type { Log } from '../telemetry/log.js';
import type { EventMetrics } from '../telemetry/metrics.js';
import type { FeedContext } from './cloudevents.js';
import type { Event } from './event.js';
import type { FeedFollower } from './follower.js';
import { readEvents } from './outbox.js';
import type { ReaderSlot } from './reader-slots.js';
import { type EndReason, SseConnection, type StreamLimits, type Subscription } from './sse-connection.js';

export interface SseSettings extends StreamLimits {
  readonly eventsStreamMs: number;
  readonly eventsHeartbeatMs: number;
}

/** Tells clients to reconnect after this many milliseconds. */
const RETRY = 'retry: 2000\n\n';
/** Streams that read at once what they have missed, and events per read. */
const MAX_CATCHING_UP = 4;
const PAGE_EVENTS = 500;

/** The event streams of a process (Server-Sent Events; HTML, section 9.2). */
export class SseHub {
  readonly #connections = new Set<SseConnection>();
  /** Connections that wait to read what they have missed. */
  readonly #behind: SseConnection[] = [];
  readonly #heartbeat: NodeJS.Timeout;
  #catchingUp = 0;
  #unsubscribe: (() => void) | undefined;
  isClosed = false;

  constructor(
    readonly run: Run,
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
      onMissed: () => this.#endAll('missed'),
    });
    out.write(RETRY);
    slot.invalid.addEventListener('abort', revoke);
    if (slot.invalid.aborted) return revoke();
    this.#queue(connection);
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
    this.metrics.ended.of(connection.endReason).value++;
    if (this.#connections.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  #endAll(reason: EndReason): void {
    for (const connection of this.#connections) connection.end(reason);
  }

  /** Writes new events. Connections at the same position with the same filter share the bytes. */
  #publish(events: readonly Event[]): void {
    const last = events.at(-1)?.seq ?? 0;
    const shared = new Map<string, Buffer>();
    for (const connection of this.#connections) {
      const { position, filter } = connection;
      if (!connection.isLive || position >= last) continue;
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
        // The follower logs that the database is away; anything else is an internal error. The client reconnects.
        if (!problemOf(err)) this.log.error({ err }, 'an event stream could not be read on');
        next.end('fault');
      }
    }
    this.#catchingUp--;
  }

  async #advance(connection: SseConnection): Promise<void> {
    if (connection.isClosed) return;
    const delivered = this.follower.delivered();
    if (connection.position >= delivered) {
      connection.isLive = true;
      return;
    }
    const { position: after, filter, out } = connection;
    const { events, until, floor } = await readEvents(this.run, {
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
      const cursor = this.context.cursorOf(Math.max(connection.position, this.follower.delivered()));
      connection.write(connection.isLive ? `:\nid: ${cursor}\n\n` : ':\n\n');
    }
  }
}
