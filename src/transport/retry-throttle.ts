import type { Socket } from 'node:net';

/** Refusals per second that are sent without a delay, and connections per second that are read again. */
const PER_SECOND = 500;
export const TICK_MS = 10;
/** Also after a long tick of the event loop, a throttle tick resumes no more than this many. */
const MAX_PER_TICK = 25;

/**
 * Delays clients that retry at once after a 503. A refusal costs more than half of the cheapest read, so at ten times
 * the capacity refusals alone would occupy the service. A refused connection is therefore read again only in its turn;
 * what the client sent meanwhile waits in the kernel. Clients that respect Retry-After hardly notice. At most `maxPaused`
 * connections are paused, since the disconnect of a paused one goes unnoticed.
 */
export class RetryThrottle {
  readonly #paused = new Set<Socket>();
  readonly #followed = new WeakSet<Socket>();
  readonly #retrying = new Set<Socket>();
  #refused: Socket[] = [];
  #freeRefusals = 0;
  #isTicking = false;
  #tickedAt = 0;

  constructor(readonly maxPaused: number) {}

  /** Records a refusal. If there are too many, the connection is paused. */
  refused(socket: Socket): void {
    if (!this.#isTicking) this.#start();
    if (--this.#freeRefusals >= 0) return;
    // Paused at the end of the tick, since Node resumes reading when a request is over.
    if (this.#refused.push(socket) === 1) setImmediate(() => this.#pauseAll());
  }

  /** Whether a connection was just resumed, so that its request may have waited. */
  isRetry(socket: Socket): boolean {
    return this.#retrying.has(socket);
  }

  #start(): void {
    this.#isTicking = true;
    this.#freeRefusals = (PER_SECOND * TICK_MS) / 1000;
    this.#tickedAt = performance.now();
    setTimeout(() => this.#tick(), TICK_MS);
  }

  #pauseAll(): void {
    for (const socket of this.#refused) this.#pause(socket);
    this.#refused = [];
  }

  #pause(socket: Socket): void {
    if (socket.destroyed || this.#paused.size >= this.maxPaused) return;
    socket.pause();
    this.#paused.add(socket);
    if (this.#followed.has(socket)) return;
    this.#followed.add(socket);
    socket.once('close', () => this.#paused.delete(socket));
  }

  #tick(): void {
    this.#isTicking = this.#paused.size + this.#refused.length > 0;
    if (!this.#isTicking) return;
    const elapsed = performance.now() - this.#tickedAt;
    let resumable = Math.ceil(Math.min((elapsed * PER_SECOND) / 1000, MAX_PER_TICK));
    for (const socket of this.#paused) {
      if (resumable-- === 0) break;
      this.#paused.delete(socket);
      this.#retrying.add(socket);
      socket.resume();
    }
    // What the kernel had received is read before this runs.
    setImmediate(() => this.#retrying.clear());
    this.#start();
  }
}
