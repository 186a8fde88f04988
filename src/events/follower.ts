import { randomBytes } from 'node:crypto';
import { createBatcher } from '../db/batcher.js';
import type { Db } from '../db/db.js';
import type { Log } from '../telemetry/log.js';
import { sharing } from '../telemetry/metrics.js';
import { createHorizon, type Snapshot } from './commit-horizon.js';
import type { Event } from './event.js';
import { readEvents, sightOf } from './outbox.js';

/** Where the feed stands, for this process. */
export interface FeedFollower {
  /** Events up to here are final: none will come between them any more. */
  horizon(): number;
  /** Events up to here have been told to all who follow. */
  position(): number;
  /** Looks at the database now. Throws when it is away. */
  look(): Promise<Snapshot>;
  /** To be called when this process has written: its followers, and other processes, are told soon. */
  wrote(): void;
  /** Tells of each batch of events that follows `position`, in order; gives the function that ends it. */
  follow(follower: FeedSubscriber): () => void;
  /** Calls `onNews` when the horizon has moved; gives the function that ends it. */
  watch(onNews: () => void): () => void;
  close(): Promise<void>;
}

export interface FeedSubscriber {
  /** One batch; `events` come after `position` as it was before. */
  onEvents(events: readonly Event[]): void;
  /** Events have been pruned before they could be told. */
  onMissed(): void;
}

const CHANNEL = 'plinth_events';
/** How often it looks when nothing is heard: changes by others' SQL, and messages that were lost. */
const POLL_MS = 1000;
/** Between two looks for what was written, and while something before it still runs, twice as long each time. */
const SOON_MS = 20;
const MAX_SOON_MS = 250;
/** Between two messages to other processes. */
const TELL_MS = 50;
/** Events in one batch. */
const BATCH = 1000;
/** One look after the other, as the horizon wants them; who asks for one that has not begun shares it. */
const LOOKS = { max: 1, inFlight: 1, waiting: 1, keyOf: () => '' };

/**
 * The one reader of a process that keeps up with the outbox, for all its followers. It is woken by this process's own
 * writes, and by a message of the others', which each sends at most every 50 ms and outside of its writes: a notify
 * in a writing transaction would have all commits take turns. While nobody follows it only keeps up the horizon.
 */
export async function openFeedFollower(db: Db, log: Log): Promise<FeedFollower> {
  const me = randomBytes(6).toString('base64url');
  const horizon = createHorizon();
  const followers = new Set<FeedSubscriber>();
  const watchers = new Set<() => void>();
  let position = 0;
  let delay = SOON_MS;
  let timer: NodeJS.Timeout | undefined;
  let due = 0;
  let busy = false;
  let again = false;
  let away = false;
  let closed = false;
  let telling: NodeJS.Timeout | undefined;

  /** Whether anybody waits for events. */
  const isHeard = (): boolean => followers.size + watchers.size > 0;

  const look = createBatcher<'now', Snapshot>(
    { ...LOOKS, sharing: sharing(db.metrics, 'look', 'events') },
    async () => {
      const sight = await sightOf(db.run);
      horizon.look(sight);
      if (followers.size === 0) position = horizon.at();
      return [sight];
    },
  );

  async function deliver(): Promise<void> {
    while (position < horizon.at() && followers.size > 0) {
      const { events, until, floor } = await readEvents(db.run, {
        after: position,
        horizon: horizon.at(),
        limit: BATCH,
      });
      const missed = position < floor;
      position = Math.max(position, until, floor);
      for (const follower of [...followers]) {
        if (missed) follower.onMissed();
        else follower.onEvents(events);
      }
    }
  }

  async function turn(): Promise<void> {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      do {
        again = false;
        const before = horizon.at();
        await look('now');
        if (horizon.at() > before) {
          delay = SOON_MS;
          for (const onNews of watchers) onNews();
        }
        await deliver();
      } while (again);
      if (away) log.warn('events are read again');
      away = false;
    } catch (err) {
      if (!away && !closed) log.warn({ err }, 'events wait for the database');
      away = true;
    } finally {
      busy = false;
      const behind = horizon.isBehind() && isHeard() && !away;
      schedule(behind ? delay : POLL_MS);
      delay = behind ? Math.min(delay * 2, MAX_SOON_MS) : SOON_MS;
    }
  }

  /** The next turn takes place in so many milliseconds, or sooner. */
  function schedule(ms: number): void {
    const at = performance.now() + ms;
    if (closed || (timer && due <= at)) return;
    clearTimeout(timer);
    due = at;
    timer = setTimeout(() => {
      timer = undefined;
      void turn();
    }, ms).unref();
  }

  const wake = (): void => {
    if (isHeard()) schedule(SOON_MS);
  };

  function tell(): void {
    telling ??= setTimeout(() => {
      telling = undefined;
      // A message that is lost is made up for by the others' next look.
      db.run('select pg_notify($1, $2)', [CHANNEL, me]).catch((err) => log.debug({ err }, 'not told'));
    }, TELL_MS).unref();
  }

  const endListening = db.listen(CHANNEL, {
    onMessage: (sender) => sender !== me && wake(),
    onOpen: wake,
    onLost: (err) => log.debug({ err }, 'events of other processes are polled for'),
  });
  await look('now');
  schedule(POLL_MS);

  return {
    horizon: horizon.at,
    position: () => position,
    look: () => look('now'),
    wrote: () => {
      wake();
      tell();
    },
    follow: (follower) => {
      followers.add(follower);
      schedule(0);
      return () => followers.delete(follower);
    },
    watch: (onNews) => {
      watchers.add(onNews);
      schedule(0);
      return () => watchers.delete(onNews);
    },
    close: async () => {
      closed = true;
      clearTimeout(timer);
      clearTimeout(telling);
      await endListening();
    },
  };
}
