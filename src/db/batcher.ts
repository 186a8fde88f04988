import { beyond } from '../errors/service-errors.js';
import type { Sharing } from '../telemetry/instruments.js';
import { detached, trackWait } from '../telemetry/wait-tracking.js';

export interface BatcherOptions<T> {
  /** Maximum weight of a batch; an item that weighs more goes alone. */
  readonly max: number;
  /** Maximum number of statements in flight. */
  readonly inFlight: number;
  /**
   * While a statement has been in flight for less than `ms`, the next one waits for as many items as the last one had,
   * at most `max`: fewer and larger statements. While none is, `max` items go before the end of the tick, and half of
   * them as soon as the last statement ends, so that the database works during the rest of the tick. Without this
   * option all items wait for the end of the tick, and none for further items. With `isAlone`, no statement is sent while
   * another is recent: the process then prepares the next one while the database works, and neither waits for the other.
   */
  readonly gather?: { readonly max: number; readonly ms: number; readonly isAlone?: boolean };
  /** After this time a statement is no longer limited by `inFlight`: it may never end. Milliseconds, 1000 by default. */
  readonly patienceMs?: number;
  /** Maximum weight of the waiting items; one more is refused with 503. */
  readonly waiting: number;
  /** An item's weight; 1 by default. */
  readonly weigh?: (item: T) => number;
  /** Items that wait under the same key are one item, whose outcome goes to all callers. */
  readonly keyOf?: (item: T) => string;
  /** The metrics; a request waits under their name. */
  readonly sharing: Sharing;
}

interface Entry<T, R> {
  readonly item: T;
  readonly weight: number;
  readonly callers: Caller<R>[];
}

interface Caller<R> {
  readonly resolve: (outcome: R | Promise<R>) => void;
  readonly reject: (error: unknown) => void;
}

/** Gives the item at a place its outcome before those of the others. */
export type Settle<R> = (place: number, outcome: R) => void;

/** Returns an outcome for each item that it has not settled, in order; a promise for one that takes longer. */
export type RunBatch<T, R> = (items: readonly T[], settle: Settle<R>) => Promise<readonly (R | Promise<R>)[]>;

/**
 * Returns a function that passes the items of one tick of the event loop, or of two where that pays, to `run` together:
 * a statement costs more than a row. An item joins only a statement that has not been sent, so it sees everything
 * committed before. An error of `run` rejects the items of its batch only.
 */
export function createBatcher<T, R>(
  options: BatcherOptions<T>,
  run: RunBatch<T, R>,
): (item: T) => Promise<R> {
  const batcher = new Batcher(options, run);
  return (item) => trackWait(options.sharing.name, batcher.submit, item);
}

class Batcher<T, R> {
  #queue: Entry<T, R>[] = [];
  #byKey = new Map<string, Entry<T, R>>();
  #weight = 0;
  #scheduled: NodeJS.Immediate | undefined;
  #inFlight = 0;
  /** Statements in flight that the next batch waits for. */
  #recent = 0;
  #lastSize = 0;

  constructor(
    readonly options: BatcherOptions<T>,
    readonly run: RunBatch<T, R>,
  ) {}

  readonly submit = (item: T): Promise<R> =>
    new Promise((resolve, reject) => {
      const { keyOf, weigh, waiting, sharing, gather } = this.options;
      const key = keyOf?.(item);
      const same = key === undefined ? undefined : this.#byKey.get(key);
      if (same) return void same.callers.push({ resolve, reject });
      const weight = weigh?.(item) ?? 1;
      if (this.#weight + weight > waiting) throw beyond('batches');
      const entry = { item, weight, callers: [{ resolve, reject }] };
      this.#queue.push(entry);
      sharing.queued.value++;
      this.#weight += weight;
      if (key !== undefined) this.#byKey.set(key, entry);
      this.#schedule(gather?.max);
    });

  /** Sends the queue as soon as it may be sent; at once if it has `enough` items and no statement is recent. */
  #schedule(enough = Number.POSITIVE_INFINITY): void {
    const { inFlight, gather } = this.options;
    if (this.#inFlight >= inFlight || this.#queue.length === 0) return;
    const isDue =
      this.#recent === 0 ||
      !gather ||
      (!gather.isAlone && this.#queue.length >= Math.min(this.#lastSize, gather.max));
    if (!isDue) return;
    if (this.#recent === 0 && this.#queue.length >= enough) return void this.#flush();
    // The end of the tick: a microtask would split what one read of many sockets brings. If the last batch had several
    // items, the end of the next tick, which brings more.
    const waitsLonger = this.#lastSize > 1 && this.#weight < this.options.max;
    this.#scheduled ??= setImmediate(waitsLonger ? this.#inNextTick : this.#flush);
  }

  readonly #inNextTick = (): void => {
    this.#scheduled = setImmediate(this.#flush);
  };

  readonly #flush = async (): Promise<void> => {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    const batch = this.#take();
    this.#lastSize = batch.length;
    const end = this.#begin();
    try {
      const items: T[] = [];
      for (const { item } of batch) items.push(item);
      const settle: Settle<R> = (place, outcome) => {
        for (const { resolve } of batch[place]!.callers) resolve(outcome);
      };
      const outcomes = await detached((all) => this.run(all, settle), items);
      let at = 0;
      for (const { callers } of batch) {
        const outcome = outcomes[at++] as R;
        for (const { resolve } of callers) resolve(outcome);
      }
    } catch (error) {
      for (const { callers } of batch) for (const { reject } of callers) reject(error);
    } finally {
      end();
    }
  };

  /** Counts a statement as in flight, until the returned function is called or its time is over. */
  #begin(): () => void {
    const { gather, patienceMs = 1000 } = this.options;
    const recentMs = gather?.ms ?? patienceMs;
    let state: 'recent' | 'slow' | 'ended' = 'recent';
    const enter = (next: 'slow' | 'ended'): void => {
      if (state === 'recent') this.#recent--;
      if (next === 'ended' && state !== 'ended') this.#inFlight--;
      state = next;
      this.#schedule(gather && gather.max / 2);
    };
    this.#inFlight++;
    this.#recent++;
    this.#schedule();
    let timer = setTimeout(() => {
      enter('slow');
      timer = setTimeout(enter, patienceMs - recentMs, 'ended');
    }, recentMs);
    return () => {
      clearTimeout(timer);
      enter('ended');
    };
  }

  /** Removes the oldest items, up to the maximum weight. */
  #take(): Entry<T, R>[] {
    const { max, sharing, keyOf } = this.options;
    const queue = this.#queue;
    let count = 0;
    let sum = 0;
    while (count < queue.length && (count === 0 || sum + queue[count]!.weight <= max))
      sum += queue[count++]!.weight;
    const batch = count === queue.length ? queue : queue.slice(0, count);
    this.#queue = count === queue.length ? [] : queue.slice(count);
    this.#weight -= sum;
    sharing.queued.value -= count;
    sharing.size.observe(count);
    // A new Map when possible: one that is filled and emptied repeatedly retains its old tables, and what was in them,
    // until a major garbage collection.
    if (this.#queue.length === 0) this.#byKey = new Map();
    else if (keyOf) for (const { item } of batch) this.#byKey.delete(keyOf(item));
    return batch;
  }
}
