import { getHeapStatistics } from 'node:v8';
import { beyond } from '../errors/service-errors.js';
import { ByteBudget } from './byte-budget.js';
import { LONG_TASK_BYTES, nextTurn } from './turn.js';

/** Smaller texts are always admitted; the limit of requests bounds their number. */
const SMALL_BYTES = 4096;
/** How many texts may wait, and for how long. */
const MAX_WAITING = 1024;
const MAX_WAIT_MS = 10_000;
/** Values occupy up to forty times the memory of their JSON, so that this part of the heap is enough for them. */
const HEAP_PART = 128;

/** Max bytes of JSON in memory as values, by the heap limit of this process. */
const maxParsedBytes = (): number => Math.floor(getHeapStatistics().heap_size_limit / HEAP_PART);

interface Waiting {
  readonly bytes: number;
  readonly start: () => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Limits the bytes of JSON that are in memory as values. Further texts wait in the order of their arrival, and each long
 * text is admitted in a tick of its own.
 */
export class ParseLimit {
  readonly #budget = new ByteBudget();
  #scheduled = false;
  readonly #waiting: Waiting[] = [];

  constructor(
    readonly maxBytes = maxParsedBytes(),
    readonly maxWaitMs = MAX_WAIT_MS,
  ) {}

  /** Admits a text, which the caller then has to `leave`. Undefined: admitted at once. Rejects with 503. */
  enter(bytes: number): Promise<void> | undefined {
    if (bytes <= SMALL_BYTES) return undefined;
    if (bytes <= LONG_TASK_BYTES && this.#waiting.length === 0 && this.#fits(bytes)) {
      this.#budget.add(bytes);
      return undefined;
    }
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(beyond('parsing'));
    return new Promise((start, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        this.#schedule();
        reject(beyond('parsing'));
      }, this.maxWaitMs);
      const waiting = { bytes, start, timer };
      this.#waiting.push(waiting);
      this.#schedule();
    });
  }

  /** Releases a text that `enter` admitted. */
  leave(bytes: number): void {
    if (bytes <= SMALL_BYTES) return;
    this.#budget.add(-bytes);
    this.#schedule();
  }

  #schedule(): void {
    const [next] = this.#waiting;
    if (this.#scheduled || !next || !this.#fits(next.bytes)) return;
    this.#scheduled = true;
    void nextTurn().then(() => this.#admit());
  }

  #fits(bytes: number): boolean {
    return this.#budget.fits(bytes, this.maxBytes);
  }

  #admit(): void {
    this.#scheduled = false;
    const [next] = this.#waiting;
    if (!next || !this.#fits(next.bytes)) return;
    this.#waiting.shift();
    clearTimeout(next.timer);
    this.#budget.add(next.bytes);
    next.start();
    this.#schedule();
  }
}
