import type { CredentialWatch } from '../auth/credentials/credential-watch.js';
import type { Resource } from '../collection/resource.js';
import { createBatcher } from '../db/batcher.js';
import type { Db, Run } from '../db/db.js';
import { cursorGone } from '../errors/input-errors.js';
import { sharing } from '../telemetry/instruments.js';
import type { Log } from '../telemetry/log.js';
import type { EventMetrics } from '../telemetry/metrics.js';
import { envelopeOf, type FeedContext, idOf, pathOfRecord } from './cloudevents.js';
import { cursorIn, parsePosition, positionIn, positionText } from './cursor.js';
import type { Event } from './event.js';
import { admitsEvent, type Filter, isCompared } from './event-filter.js';
import { FeedFollower } from './follower.js';
import { type Batch, lastNumber, readEvents, type Span } from './outbox.js';
import { readableEvents } from './readable-events.js';
import { type Admit, admitReaders, type ReaderLimits } from './reader-slots.js';
import { SseHub, type SseSettings } from './sse-hub.js';
import { Tickets } from './tickets.js';

export type FeedSettings = SseSettings &
  ReaderLimits & { readonly publicUrl: string | undefined; readonly publicPrefix: string };

/** Statements for requests in flight: each reads up to two megabytes, so there are few. */
const READS = { max: 1, inFlight: 2, waiting: 2000 };
/** Maximum statements for one request whose filter matches few events. */
const MAX_READS = 10;
/** Events that one statement compares with the conditions of a request. */
const MAX_COMPARED = 1000;

/** The position after which a reader starts. */
export interface Start {
  readonly after: number;
  /** Whether the reader starts at the oldest retained event: events that expire before it reads them are not missed. */
  readonly isOldest: boolean;
}

/** Events as webhooks receive them. */
export interface Deliveries {
  readonly events: readonly {
    readonly id: string;
    readonly type: string;
    readonly recordKey: string;
    /** The envelope. */
    readonly body: string;
  }[];
  readonly until: string;
  readonly more: boolean;
  /** The position up to which events expired before they could be read; undefined: none did. */
  readonly missedUntil: string | undefined;
}

/** The events of the service, for requests and streams. */
export class Feed implements FeedContext {
  readonly source: string;
  readonly prefix: string;
  readonly streams: SseHub;
  /** Admits a reader that follows the events or waits for them. Throws 429 and 503. */
  readonly admit: Admit;
  readonly tickets: Tickets;
  readonly #readSpan: (span: Span) => Promise<Batch>;
  readonly #waiting = new Set<() => void>();

  private constructor(
    readonly db: Db,
    readonly resources: readonly Resource[],
    readonly follower: FeedFollower,
    log: Log,
    settings: FeedSettings,
    metrics: EventMetrics,
    credentials: CredentialWatch,
  ) {
    this.source = settings.publicUrl ?? '/';
    this.prefix = settings.publicPrefix;
    this.streams = new SseHub(db, follower, log, settings, this, metrics);
    this.admit = admitReaders(settings, metrics.readers, credentials);
    this.tickets = new Tickets(db, credentials);
    this.#readSpan = createBatcher<Span, Batch>(
      { ...READS, sharing: sharing(db.metrics, 'read', 'events') },
      async ([span]) => [await readEvents(db.run, span!)],
    );
  }

  static async open(
    db: Db,
    log: Log,
    resources: readonly Resource[],
    settings: FeedSettings,
    metrics: EventMetrics,
    credentials: CredentialWatch,
  ): Promise<Feed> {
    const follower = await FeedFollower.open(db, log);
    return new Feed(db, resources, follower, log, settings, metrics, credentials);
  }

  /** A cursor before everything that is written from now on. It is in memory, so some earlier events may follow it too. */
  cursor(): string {
    return this.cursorOf(this.follower.horizon());
  }

  /** A cursor before everything that is written after the state of a replica; undefined: the replica is too far behind. */
  cursorAt(replayed: number): string | undefined {
    const position = this.follower.commitHorizon.positionAt(replayed);
    return position === undefined ? undefined : this.cursorOf(position);
  }

  readonly cursorOf = (position: number): string => cursorIn(this.follower.epochs(), position);

  /**
   * The position after which a reader starts: a cursor; undefined: the oldest retained event; `now`: the newest. Throws 400
   * for other texts, and 410 for a cursor whose events have expired, or of another history of the database.
   */
  async start(cursor: string | undefined): Promise<Start> {
    const { follower } = this;
    const { floor } = await follower.look();
    if (cursor === undefined) return { after: floor, isOldest: true };
    if (cursor === 'now') return { after: follower.horizon(), isOldest: false };
    const after = positionIn(follower.epochs(), cursor);
    const isBeyond = async (position: number) =>
      position > follower.horizon() && position > (await lastNumber(this.db.run));
    if (after === undefined || after < floor || (await isBeyond(after)))
      throw cursorGone(this.cursorOf(floor));
    return { after, isOldest: false };
  }

  /** The position of a cursor, also of one whose events have expired. Throws 400, and 410 for another history of the database. */
  async positionOf(cursor: string): Promise<number> {
    const { floor } = await this.follower.look();
    const position = positionIn(this.follower.epochs(), cursor);
    if (position === undefined) throw cursorGone(this.cursorOf(floor));
    return position;
  }

  /** Up to `limit` final events that match a filter. Throws 410 if events have expired that the reader has not seen. */
  async read({ after, isOldest }: Start, filter: Filter, limit: number): Promise<Batch> {
    let from = after;
    for (let reads = 1; ; reads++) {
      const horizon = this.follower.horizon();
      const span = { after: from, horizon, limit: isCompared(filter) ? MAX_COMPARED : limit, filter };
      const all = await this.#readSpan(span);
      if (from < all.floor && !isOldest) throw cursorGone(this.cursorOf(all.floor));
      const batch = isCompared(filter)
        ? upTo(limit, all, await readableEvents(this.db, filter, all.events))
        : all;
      const isEnd = batch.until >= this.follower.horizon();
      if (batch.events.length > 0 || isEnd || reads === MAX_READS) return batch;
      from = batch.until;
    }
  }

  /** Resolves when there may be events after a position, after `ms`, or when `disconnected` aborts. */
  news(after: number, filter: Filter, ms: number, disconnected: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        unsubscribe();
        disconnected.removeEventListener('abort', done);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      const unsubscribe = this.follower.subscribe({
        onEvents: (events) => {
          if (events.some((event) => event.seq > after && admitsEvent(filter, event))) done();
        },
        onMissed: done,
      });
      disconnected.addEventListener('abort', done);
      this.#waiting.add(done);
      // Events before the subscription are there already.
      if (this.follower.horizon() > after || disconnected.aborted || this.streams.isClosed) done();
    });
  }

  /** Up to `limit` final events after a position, as `end` writes it, in the form of deliveries; null: from the first one on. */
  async deliveries(run: Run, after: string | null, limit: number): Promise<Deliveries> {
    const from = after === null ? 0 : parsePosition(after);
    const horizon = this.follower.horizon();
    const { events, until, floor } = await readEvents(run, { after: from, horizon, limit });
    return {
      events: events.map((event) => ({
        id: idOf(event),
        type: event.type,
        recordKey: this.prefix + pathOfRecord(event),
        body: envelopeOf(event, this),
      })),
      until: positionText(Math.max(until, floor)),
      more: events.length > 0 && until < horizon,
      missedUntil: after !== null && from < floor ? positionText(floor) : undefined,
    };
  }

  /** The position of the last final event. */
  end(): string {
    return positionText(this.follower.horizon());
  }

  async close(): Promise<void> {
    this.streams.close();
    for (const done of this.#waiting) done();
    await this.follower.close();
  }
}

/** A batch with some of its events, of which there are more than the limit, or all. */
function upTo(limit: number, { until, floor }: Batch, events: readonly Event[]): Batch {
  if (events.length <= limit) return { events, until, floor };
  return { events: events.slice(0, limit), until: events[limit - 1]!.seq, floor };
}
