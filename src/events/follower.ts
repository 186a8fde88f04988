import { randomBytes } from 'node:crypto';
import { createBatcher } from '../db/batcher.js';
import type { Db } from '../db/db.js';
import { sharing } from '../telemetry/instruments.js';
import type { Log } from '../telemetry/log.js';
import { CoalescedRuns } from '../work/shared-runs.js';
import { CommitHorizon, type Snapshot } from './commit-horizon.js';
import { type Epoch, readEpochs } from './cursor.js';
import type { Event } from './event.js';
import { readEvents, readSnapshot } from './outbox.js';

/** Receives the events that follow `FeedFollower.position`, in order. */
export interface FeedSubscriber {
  /** One batch; the events come after `position` as it was before. */
  onEvents(events: readonly Event[]): void;
  /** Events expired before they could be delivered. */
  onMissed(): void;
}

const CHANNEL = 'plinth_events';
/** Interval without notifications. It finds changes by other SQL clients, and notifications that were lost. */
const POLL_MS = 1000;
/** Delay after a write. It doubles while events are not final because an earlier transaction still runs. */
const MIN_DELAY_MS = 20;
const MAX_DELAY_MS = 250;
/** Minimum interval between two notifications to other processes. */
const NOTIFY_MS = 50;
const BATCH_EVENTS = 1000;
/** Snapshots are made one after the other, as the horizon requires; callers share one that has not begun. */
const SNAPSHOTS = { max: 1, inFlight: 1, waiting: 1, keyOf: () => '' };

/**
 * The one reader of a process that follows the outbox; without subscribers it only updates the horizon. A process notifies
 * others at most once per 50 ms, outside of its transactions: a NOTIFY in one that writes would serialize all commits.
 */
export class FeedFollower {
  readonly #sender = randomBytes(6).toString('base64url');
  readonly commitHorizon = new CommitHorizon();
  readonly #subscribers = new Set<FeedSubscriber>();
  readonly #watchers = new Set<() => void>();
  readonly #loop = new CoalescedRuns(() => this.#poll());
  readonly #takeSnapshot: (key: 'now') => Promise<Snapshot>;
  #endListening: () => Promise<void> = async () => undefined;
  #epochs: readonly Epoch[] = [];
  #epoch = 0;
  #delivered = 0;
  #delay = MIN_DELAY_MS;
  #timer: NodeJS.Timeout | undefined;
  #due = 0;
  #notifying: NodeJS.Timeout | undefined;
  #isDatabaseAway = false;
  #isClosed = false;

  private constructor(
    readonly db: Db,
    readonly log: Log,
  ) {
    this.#takeSnapshot = createBatcher<'now', Snapshot>(
      { ...SNAPSHOTS, sharing: sharing(db.metrics, 'look', 'events') },
      async () => {
        const snapshot = await readSnapshot(db.run);
        if (snapshot.epoch !== this.#epoch) await this.#beginEpoch(snapshot.epoch);
        this.commitHorizon.update(snapshot);
        if (this.#subscribers.size === 0) this.#delivered = this.commitHorizon.position;
        return [snapshot];
      },
    );
  }

  /** Starts to follow the outbox. Throws if the database is not available. */
  static async open(db: Db, log: Log): Promise<FeedFollower> {
    const follower = new FeedFollower(db, log);
    follower.#endListening = db.listen(CHANNEL, {
      onMessage: (sender) => sender !== follower.#sender && follower.#wake(),
      onOpen: () => follower.#wake(),
      onLost: (err) => log.debug({ err }, 'notifications are lost: events of other processes are polled'),
    });
    await follower.look();
    follower.#schedule(POLL_MS);
    return follower;
  }

  /** Events up to here are final: no others will appear between them. */
  readonly horizon = (): number => this.commitHorizon.position;

  /** Events up to here have been delivered. */
  readonly delivered = (): number => this.#delivered;

  /** The epochs of the feed, the oldest first, as of the last snapshot. */
  readonly epochs = (): readonly Epoch[] => this.#epochs;

  /** Takes a snapshot now. Throws if the database is not available. */
  readonly look = (): Promise<Snapshot> => this.#takeSnapshot('now');

  /** To be called after this process has written. Wakes this follower soon, and those of other processes. */
  wrote(): void {
    this.#wake();
    this.#notifying ??= setTimeout(() => {
      this.#notifying = undefined;
      // Other processes poll, so a lost notification delays events but does not lose them.
      this.db
        .run('select pg_notify($1, $2)', [CHANNEL, this.#sender])
        .catch((err) => this.log.debug({ err }, 'other processes were not notified of events'));
    }, NOTIFY_MS).unref();
  }

  /** Delivers events to a subscriber until the returned function is called. */
  subscribe(subscriber: FeedSubscriber): () => void {
    this.#subscribers.add(subscriber);
    this.#schedule(0);
    return () => this.#subscribers.delete(subscriber);
  }

  /** Calls `onNews` whenever the horizon has moved, until the returned function is called. */
  readonly watch = (onNews: () => void): (() => void) => {
    this.#watchers.add(onNews);
    this.#schedule(0);
    return () => this.#watchers.delete(onNews);
  };

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#notifying);
    await this.#endListening();
  }

  get #isFollowed(): boolean {
    return this.#subscribers.size + this.#watchers.size > 0;
  }

  #wake(): void {
    if (this.#isFollowed) this.#schedule(MIN_DELAY_MS);
  }

  /** Requests a poll after this time, or sooner if one is due sooner. */
  #schedule(ms: number): void {
    const due = performance.now() + ms;
    if (this.#isClosed || (this.#timer && this.#due <= due)) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#loop.request();
    }, ms).unref();
  }

  async #poll(): Promise<void> {
    try {
      const before = this.commitHorizon.position;
      await this.look();
      if (this.commitHorizon.position > before) {
        this.#delay = MIN_DELAY_MS;
        for (const onNews of this.#watchers) onNews();
      }
      await this.#deliver();
      if (this.#isDatabaseAway) this.log.warn('events are read again');
      this.#isDatabaseAway = false;
    } catch (err) {
      if (!this.#isDatabaseAway && !this.#isClosed) this.log.warn({ err }, 'events wait for the database');
      this.#isDatabaseAway = true;
    }
    const isBehind = this.commitHorizon.isBehind && this.#isFollowed && !this.#isDatabaseAway;
    this.#schedule(isBehind ? this.#delay : POLL_MS);
    this.#delay = isBehind ? Math.min(this.#delay * 2, MAX_DELAY_MS) : MIN_DELAY_MS;
  }

  /** Reads the epochs. Subscribers whose events are not part of the new one are notified. */
  async #beginEpoch(number: number): Promise<void> {
    this.#epochs = await readEpochs(this.db.run);
    const before = this.#epoch;
    this.#epoch = number;
    if (before === 0) return;
    const { startsAfter } = this.#epochs.at(-1)!;
    const hasLost = this.commitHorizon.position > startsAfter;
    this.log.warn(
      { lost: hasLost },
      'the database is another one than before: after a failover or a restore',
    );
    this.commitHorizon.restart(startsAfter);
    this.#delivered = Math.min(this.#delivered, startsAfter);
    if (hasLost) for (const subscriber of [...this.#subscribers]) subscriber.onMissed();
  }

  async #deliver(): Promise<void> {
    while (this.#delivered < this.commitHorizon.position && this.#subscribers.size > 0) {
      const { events, until, floor } = await readEvents(this.db.run, {
        after: this.#delivered,
        horizon: this.commitHorizon.position,
        limit: BATCH_EVENTS,
      });
      const isMissed = this.#delivered < floor;
      this.#delivered = Math.max(this.#delivered, until, floor);
      for (const subscriber of [...this.#subscribers]) {
        if (isMissed) subscriber.onMissed();
        else subscriber.onEvents(events);
      }
    }
  }
}
