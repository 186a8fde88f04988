import type { CredentialWatch } from '../auth/credentials/credential-watch.js';
import type { Resource } from '../collection/resource.js';
import { createBatcher } from '../db/batcher.js';
import type { Db } from '../db/db.js';
import { cursorGone } from '../errors.js';
import type { EventMetrics } from '../telemetry/event-metrics.js';
import type { Log } from '../telemetry/log.js';
import { sharing } from '../telemetry/metrics.js';
import { cursorOf } from './cursor.js';
import { admits, type Filter } from './filter.js';
import { type FeedFollower, openFeedFollower } from './follower.js';
import { type Batch, lastNumber, readEvents, type Span } from './outbox.js';
import { openStreams, type StreamSettings, type Streams } from './sse-hub.js';
import { type Admit, admitReaders, type ReaderLimits } from './stream-limits.js';

/** The events of the service, as they are read. */
export interface Feed {
  readonly resources: readonly Resource[];
  readonly source: string;
  readonly streams: Streams;
  /** A place among those who follow the events or wait for them. Throws 429 and 503. */
  readonly admit: Admit;
  readonly follower: FeedFollower;
  /** The cursor that everything written from now on comes after, in memory; some of what comes after it may be older. */
  cursor(): string;
  /**
   * The place where a reader starts: after `after`, undefined: after what is no longer kept, `now`: after what there
   * is. Throws the 410 of a place before what is kept, or of another database.
   */
  start(after: number | 'now' | undefined): Promise<number>;
  /** What a filter lets through, as far as it is final: up to `limit` events. Throws 410. */
  read(after: number, filter: Filter, limit: number): Promise<Batch>;
  /** Resolves when there may be something after a place, when the time is over, or when the reader has left. */
  news(after: number, filter: Filter, ms: number, left: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Reads for requests, each of up to two megabytes: a few at a time, so that what they hold is bounded. */
const READS = { max: 1, inFlight: 2, waiting: 2000 };
/** Statements of one request, when what it asks for is rare. */
const MAX_READS = 10;

export async function openFeed(
  db: Db,
  log: Log,
  resources: readonly Resource[],
  settings: Omit<StreamSettings, 'source'> & ReaderLimits & { readonly publicUrl: string | undefined },
  metrics: EventMetrics,
  credentials: CredentialWatch,
): Promise<Feed> {
  const follower = await openFeedFollower(db, log);
  const source = settings.publicUrl ?? '/';
  const streams = openStreams(db.run, follower, log, { ...settings, source }, metrics);
  const enders = new Set<() => void>();

  const readSpan = createBatcher<Span, Batch>(
    { ...READS, sharing: sharing(db.metrics, 'read', 'events') },
    async ([span]) => [await readEvents(db.run, span!)],
  );

  async function read(after: number, filter: Filter, limit: number): Promise<Batch> {
    let from = after;
    for (let reads = 1; ; reads++) {
      const batch = await readSpan({ after: from, horizon: follower.horizon(), limit, filter });
      if (from < batch.floor) throw cursorGone(cursorOf(batch.floor));
      if (batch.events.length > 0 || batch.until >= follower.horizon() || reads === MAX_READS) return batch;
      from = batch.until;
    }
  }

  return {
    resources,
    source,
    streams,
    admit: admitReaders(settings, metrics.readers, credentials),
    follower,
    cursor: () => cursorOf(follower.horizon()),
    start: async (after) => {
      const { floor } = await follower.look();
      if (after === undefined) return floor;
      if (after === 'now') return follower.horizon();
      const lost = after < floor || (after > follower.horizon() && after > (await lastNumber(db.run)));
      if (lost) throw cursorGone(cursorOf(floor));
      return after;
    },
    read,
    news: (after, filter, ms, left) =>
      new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          unfollow();
          left.removeEventListener('abort', done);
          enders.delete(done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        const unfollow = follower.follow({
          onEvents: (events) => events.some((event) => event.seq > after && admits(filter, event)) && done(),
          onMissed: done,
        });
        left.addEventListener('abort', done);
        enders.add(done);
        // What came before it followed is there already.
        if (follower.horizon() > after || left.aborted || streams.isClosed()) done();
      }),
    close: async () => {
      streams.close();
      for (const end of enders) end();
      await follower.close();
    },
  };
}
