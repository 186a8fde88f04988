import { getHeapStatistics } from 'node:v8';
import { unavailable } from './errors.js';
import { longTaskTurn } from './long-task.js';

/** Bytes of JSON that need no permission: what may be in flight of them at once is bounded by the number of requests. */
const SMALL_BYTES = 4096;
/** Texts that may wait, and for how long. */
const MAX_WAITING = 256;
const MAX_WAIT_MS = 10_000;
/** Values take up to forty times the memory of their JSON, so so much of the heap is set aside for them. */
const HEAP_PART = 128;

/** So many bytes of JSON may be held as values at once, as the heap of this process allows. */
export const maxParsedBytes = (): number => Math.floor(getHeapStatistics().heap_size_limit / HEAP_PART);

interface Waiting {
  readonly bytes: number;
  readonly start: () => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Limits how many bytes of JSON are held as values at once. Texts wait in the order of their arrival, and each
 * is admitted as a long task.
 */
export class ParseLimit {
  #bytes = 0;
  #admitted = 0;
  #scheduled = false;
  readonly #waiting: Waiting[] = [];

  constructor(readonly maxBytes = maxParsedBytes()) {}

  /** Admits a text of so many bytes, for which `leave` is then due; undefined: at once. Rejects with 503. */
  enter(bytes: number): Promise<void> | undefined {
    if (bytes <= SMALL_BYTES) return undefined;
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(tooMany());
    return new Promise((resolve, reject) => {
      const waiting = { bytes, start: resolve, timer: setTimeout(giveUp, MAX_WAIT_MS, this.#waiting) };
      this.#waiting.push(waiting);
      this.#schedule();

      function giveUp(queue: Waiting[]): void {
        queue.splice(queue.indexOf(waiting), 1);
        reject(tooMany());
      }
    });
  }

  /** Ends what `enter` admitted. */
  leave(bytes: number): void {
    if (bytes <= SMALL_BYTES) return;
    this.#bytes -= bytes;
    this.#admitted--;
    this.#schedule();
  }

  #schedule(): void {
    const [next] = this.#waiting;
    if (this.#scheduled || !next || !this.#fits(next)) return;
    this.#scheduled = true;
    void longTaskTurn().then(() => this.#admit());
  }

  /** A text that is alone always fits. */
  #fits({ bytes }: Waiting): boolean {
    return this.#admitted === 0 || this.#bytes + bytes <= this.maxBytes;
  }

  #admit(): void {
    this.#scheduled = false;
    const [next] = this.#waiting;
    if (!next || !this.#fits(next)) return;
    this.#waiting.shift();
    clearTimeout(next.timer);
    this.#bytes += next.bytes;
    this.#admitted++;
    next.start();
    this.#schedule();
  }
}

const tooMany = () => unavailable('Too many large bodies wait to be processed.');
