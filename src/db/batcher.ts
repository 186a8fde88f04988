import { unavailable } from '../errors.js';
import type { Sharing } from '../telemetry/metrics.js';
import { detached, trackWait } from '../telemetry/wait-tracking.js';

export interface BatcherOptions<T> {
  /** What a statement takes at most, by weight; an item that weighs more goes alone. */
  readonly max: number;
  /** Statements under way at once. */
  readonly inFlight: number;
  /**
   * While a statement is under way that has not taken `ms`, the next one waits for as many items as the last one had,
   * `most` of them at most: fewer and larger statements. While none is, so many go before the turn ends, and half of them
   * as soon as the last one is answered: the database works while what else there is in the turn is done. When not given
   * nothing waits for more, and all wait for the end of the turn.
   */
  readonly gather?: { readonly max: number; readonly ms: number };
  /** A statement that takes longer no longer counts as under way: it may never end; in milliseconds, 1000 when not given. */
  readonly patienceMs?: number;
  /** What may wait for a statement, by weight; an item more is a 503. */
  readonly waiting: number;
  /** An item's weight; 1 when not given. */
  readonly weigh?: (item: T) => number;
  /** Items that wait under one key are one item, and its outcome goes to all who asked. */
  readonly keyOf?: (item: T) => string;
  /** Where it is counted; a request waits under its name. */
  readonly sharing: Sharing;
}

interface Entry<T, R> {
  readonly item: T;
  readonly weight: number;
  readonly settle: Settle<R>[];
}

interface Settle<R> {
  readonly resolve: (outcome: R | Promise<R>) => void;
  readonly reject: (error: unknown) => void;
}

function settleAll<T, R>({ settle }: Entry<T, R>, outcome: R | Promise<R>): void {
  for (let at = 0; at < settle.length; at++) settle[at]!.resolve(outcome);
}

/**
 * Gathers what is asked for in one turn of the event loop, or in two where it pays, and hands it to `run` together: a
 * statement costs more than a row. `run` gives an outcome for each item, in order; a promise for one that needs
 * longer. An item joins only a statement that has not been sent yet, so it sees everything committed before it was
 * asked for. An error of `run` reaches the items it was given, and no others.
 */
export function createBatcher<T, R>(
  options: BatcherOptions<T>,
  run: (items: readonly T[]) => Promise<readonly (R | Promise<R>)[]>,
): (item: T) => Promise<R> {
  const { max, inFlight, patienceMs = 1000, gather, waiting, weigh = () => 1, keyOf, sharing } = options;
  const quickMs = gather?.ms ?? patienceMs;
  let byKey = new Map<string, Entry<T, R>>();
  let queue: Entry<T, R>[] = [];
  let weight = 0;
  let scheduled: NodeJS.Immediate | undefined;
  let running = 0;
  /** Those of them that others wait for. */
  let quick = 0;
  let last = 0;

  const isDue = () =>
    queue.length > 0 && (quick === 0 || !gather || queue.length >= Math.min(last, gather.max));

  /** Sends what waits as soon as it may be sent; `enough` items, while the database does nothing, go at once. */
  function schedule(enough = Number.POSITIVE_INFINITY): void {
    if (running >= inFlight || !isDue()) return;
    if (quick === 0 && queue.length >= enough) return void flush();
    // The end of the turn; a microtask or nextTick would part what comes in one read of many sockets. Where several came
    // last time, that of the next: 1.3 x the rate of creates at 8 connections, 1.06 x that of reads.
    scheduled ??= setImmediate(last > 1 && weight < max ? nextTurn : flush);
  }

  function nextTurn(): void {
    scheduled = setImmediate(flush);
  }

  async function flush(): Promise<void> {
    clearImmediate(scheduled);
    scheduled = undefined;
    const batch = take();
    last = batch.length;
    const done = begin();
    try {
      const items = batch.map(({ item }) => item);
      const outcomes = await detached(() => run(items));
      for (let at = 0; at < batch.length; at++) settleAll(batch[at]!, outcomes[at] as R);
    } catch (error) {
      for (const { settle } of batch) for (const { reject } of settle) reject(error);
    } finally {
      done();
    }
  }

  /** Counts a statement, until what it gives back is called, or for as long as it may take. */
  function begin(): () => void {
    running++;
    quick++;
    schedule();
    let [isQuick, counts] = [true, true];
    const slow = (): void => {
      if (isQuick) quick--;
      isQuick = false;
      schedule(gather && gather.max / 2);
    };
    const over = (): void => {
      if (counts) running--;
      counts = false;
      slow();
    };
    let timer = setTimeout(() => {
      slow();
      timer = setTimeout(over, patienceMs - quickMs);
    }, quickMs);
    return () => {
      clearTimeout(timer);
      over();
    };
  }

  /** The oldest items, up to the bound; the others wait for the next statement. */
  function take(): Entry<T, R>[] {
    let count = 0;
    let sum = 0;
    while (count < queue.length && (count === 0 || sum + queue[count]!.weight <= max))
      sum += queue[count++]!.weight;
    const batch = count === queue.length ? queue : queue.slice(0, count);
    queue = count === queue.length ? [] : queue.slice(count);
    weight -= sum;
    sharing.queued.value -= count;
    sharing.size.observe(count);
    if (keyOf) forget(batch, keyOf);
    return batch;
  }

  function forget(batch: readonly Entry<T, R>[], keyOf: (item: T) => string): void {
    // A Map that is emptied and filled again and again hangs on to its tables of before until all memory is collected, and
    // each to what was in it: twice the time of the young generation's collector.
    if (queue.length === 0) byKey = new Map();
    else for (const { item } of batch) byKey.delete(keyOf(item));
  }

  const ask = (item: T): Promise<R> =>
    new Promise((resolve, reject) => {
      const key = keyOf?.(item);
      const same = key === undefined ? undefined : byKey.get(key);
      if (same) return void same.settle.push({ resolve, reject });
      const entry = { item, weight: weigh(item), settle: [{ resolve, reject }] };
      if (weight + entry.weight > waiting) throw unavailable('Too much is waiting for the database.');
      queue.push(entry);
      sharing.queued.value++;
      weight += entry.weight;
      if (key !== undefined) byKey.set(key, entry);
      schedule(gather?.max);
    });

  return (item) => trackWait(sharing.name, ask, item);
}
