import { type Bound, beyond } from '../errors/service-errors.js';
import type { Sharing } from '../telemetry/instruments.js';
import { detached, trackWait } from '../telemetry/wait-tracking.js';
import { CallerShares } from './caller-shares.js';

export interface SearchQueueOptions {
  /** Searches that run at once. */
  readonly concurrency: number;
  /** The longest time for which a search waits, and may be expected to wait. Milliseconds. */
  readonly deadlineMs: number;
  /** The bound that a refusal names; `searches` by default. */
  readonly bound?: Bound;
  /** Callers that may wait, which bounds the memory for them. */
  readonly maxCallers: number;
  /**
   * After this time another search may run beside this one: its connection may be dead, and the pool opens another. Twice
   * `concurrency` run at most. Milliseconds, 1000 by default.
   */
  readonly patienceMs?: number;
  /** Milliseconds. */
  readonly now?: () => number;
}

/** The work of a search. `release` ends the count of a caller's work that goes on after the search. */
type Work<T> = (release: () => void) => Promise<T>;

interface Waiting<T> {
  readonly run: Work<T>;
  /** Undefined: the work counts against no caller. */
  readonly caller: string | undefined;
  readonly sharing: Sharing | undefined;
  readonly since: number;
  readonly callers: { resolve(outcome: T): void; reject(error: unknown): void }[];
}

/** The number of last searches whose median is the expected cost of one: a single slow one says little of the next. */
const COSTS = 9;

/** Up to this expected cost, equal searches run beside each other: sharing alone would leave processors idle. */
const CHEAP_MS = 250;

let waitingCallers = 0;

/** Callers, in this process, that wait for their search to begin. */
export const waitingSearches = (): number => waitingCallers;

/**
 * Runs a few searches at once, the others in the order of their calls. Of equal expensive ones one runs at a time, and the others
 * share the next one: an expensive search that many request leaves connections for others. One search may cost a thousand times as much as
 * another, so the queue has no fixed length: a call is refused with 503 if the searches ahead of it, at the median cost
 * of the last ones, take longer than the deadline. Without progress, the time since the last one began counts as the cost.
 */
export class SearchQueue<T> {
  #waiting = new Map<string, Waiting<T>>();
  #callers = 0;
  #running = 0;
  /** The keys of running searches that began less than half the deadline ago. */
  readonly #keys = new Set<string>();
  /** Running searches that began less than `patienceMs` ago. */
  #recent = 0;
  /** Of the last searches, in milliseconds; the latest last. */
  #costs: number[] = [];
  #startedAt = 0;
  /** One place is left to other callers. */
  readonly #shares: CallerShares;
  #isScheduled = false;
  #isTimed = false;
  readonly #now: () => number;

  constructor(readonly options: SearchQueueOptions) {
    this.#now = options.now ?? (() => performance.now());
    this.#shares = new CallerShares(Math.max(1, options.concurrency - 1), () => this.#startWaiting());
  }

  /**
   * Runs a search in its turn. Calls with the same key share it while it waits. The caller waits under the name of the
   * metrics, or under a name alone. A caller with a name has at most all places but one, and half of those that wait.
   */
  submit(key: string, sharing: Sharing | string, run: Work<T>, caller?: string): Promise<T> {
    const [name, metrics] = typeof sharing === 'string' ? [sharing] : [sharing.name, sharing];
    return trackWait(name, () => this.#enqueue(key, metrics, run, caller), undefined);
  }

  #enqueue(key: string, sharing: Sharing | undefined, run: Work<T>, caller: string | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const { maxCallers, deadlineMs } = this.options;
      const same = this.#waiting.get(key);
      const isFull = this.#callers >= maxCallers || (!same && this.#expectedWaitMs(caller) > deadlineMs);
      if (isFull) return reject(beyond(this.options.bound ?? 'searches'));
      this.#callers++;
      waitingCallers++;
      if (same) return void same.callers.push({ resolve, reject });
      const since = this.#now();
      this.#waiting.set(key, { run, caller, sharing, since, callers: [{ resolve, reject }] });
      if (sharing) sharing.queued.value++;
      this.#schedule();
      this.#watchDeadline();
    });
  }

  /** The time until one more search of a caller would begin. */
  #expectedWaitMs(caller: string | undefined): number {
    const free = this.#shares.isUsed(caller) ? 0 : this.#free();
    const surplus = this.#ahead(caller) + 1 - free;
    if (surplus <= 0 || surplus === Number.POSITIVE_INFINITY) return Math.max(surplus, 0);
    const standstillMs = free > 0 ? 0 : this.#now() - this.#startedAt;
    return (surplus * Math.max(this.#medianMs(), standstillMs)) / this.options.concurrency;
  }

  /** How many searches begin before one more of a caller. Infinite, if half of those that may wait are its own. */
  #ahead(caller: string | undefined): number {
    if (caller === undefined) return this.#waiting.size;
    const waiting = [...this.#waiting.values()];
    const own = waiting.filter((each) => each.caller === caller).length;
    if (own * 2 >= this.options.maxCallers) return Number.POSITIVE_INFINITY;
    return waiting.filter((each) => each.caller === caller || !this.#shares.isUsed(each.caller)).length;
  }

  #medianMs(): number {
    const costs = this.#costs.toSorted((a, b) => a - b);
    return costs[Math.floor(costs.length / 2)] ?? 0;
  }

  /** How many searches may begin now. */
  #free(): number {
    const { concurrency } = this.options;
    return Math.min(concurrency - this.#recent, 2 * concurrency - this.#running);
  }

  /** At the end of the tick, so that equal calls of one tick share a search. */
  #schedule(): void {
    if (this.#isScheduled || this.#free() <= 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#startWaiting();
    });
  }

  #startWaiting(): void {
    for (const [key, search] of this.#waiting) {
      if (this.#free() <= 0) return;
      if (this.#shares.isUsed(search.caller)) continue;
      if (this.#keys.has(key) && this.#medianMs() > CHEAP_MS) continue;
      this.#remove(key, search);
      search.sharing?.size.observe(1);
      void this.#start(key, search);
    }
  }

  async #start(key: string, { run, caller, callers }: Waiting<T>): Promise<void> {
    const since = this.#now();
    this.#startedAt = since;
    const end = this.#begin(key);
    const release = this.#shares.hold(caller);
    try {
      const outcome = await detached(() => run(release));
      for (const { resolve } of callers) resolve(outcome);
    } catch (error) {
      release();
      for (const { reject } of callers) reject(error);
    } finally {
      this.#costs.push(this.#now() - since);
      if (this.#costs.length > COSTS) this.#costs.shift();
      end();
      this.#startWaiting();
    }
  }

  /** Counts a search as running until the returned function is called. */
  #begin(key: string): () => void {
    const { patienceMs = 1000, deadlineMs } = this.options;
    this.#running++;
    this.#recent++;
    this.#keys.add(key);
    const endRecent = this.#onceAfter(patienceMs, () => this.#recent--);
    const endKey = this.#onceAfter(deadlineMs / 2, () => this.#keys.delete(key));
    return () => {
      endRecent();
      endKey();
      this.#running--;
    };
  }

  /** Has `work` run once: after this time, when more searches may begin, or when the returned function is called. */
  #onceAfter(ms: number, work: () => void): () => void {
    let isDone = false;
    const end = (): void => {
      clearTimeout(timer);
      if (!isDone) work();
      isDone = true;
    };
    const timer = setTimeout(() => {
      end();
      this.#startWaiting();
    }, ms);
    return end;
  }

  #remove(key: string, { callers, sharing }: Waiting<T>): void {
    this.#waiting.delete(key);
    this.#callers -= callers.length;
    waitingCallers -= callers.length;
    if (sharing) sharing.queued.value--;
  }

  /** Refuses what has waited until the deadline. */
  #watchDeadline(): void {
    const [first] = this.#waiting.values();
    if (this.#isTimed || !first) return;
    this.#isTimed = true;
    setTimeout(
      () => {
        this.#isTimed = false;
        this.#refuseLate();
        this.#watchDeadline();
      },
      Math.max(1, first.since + this.options.deadlineMs - this.#now()),
    ).unref();
  }

  #refuseLate(): void {
    const latest = this.#now() - this.options.deadlineMs;
    for (const [key, search] of this.#waiting) {
      if (search.since > latest) return;
      this.#remove(key, search);
      for (const { reject } of search.callers) reject(beyond(this.options.bound ?? 'searches'));
    }
  }
}
