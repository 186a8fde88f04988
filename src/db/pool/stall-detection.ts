import { type Connection, type ConnectionOptions, connectionError } from './connection.js';
import { dial } from './dial.js';

export interface PoolOptions extends ConnectionOptions {
  readonly size: number;
  /** How long a statement may take in all, a connection attempt, and a wait for either; milliseconds. */
  readonly timeoutMs: number;
}

/**
 * A connection with work in flight that has said nothing for so long may be dead, and new work goes to others; in
 * milliseconds. The work that it has goes on: it may just be slow.
 */
const STALL_MS = 1000;

/** For so long after a refusal the database is not asked again for a connection, in milliseconds. */
const PAUSE_MS = 50;

/** When things are too late, from a pool's options. A server that works has the first word: it ends a statement in time. */
export function limitsOf({ timeoutMs }: PoolOptions) {
  const tickMs = Math.max(5, Math.min(100, timeoutMs / 20));
  return {
    tickMs,
    lateMs: timeoutMs + Math.max(50, 2 * tickMs),
    stallMs: Math.min(STALL_MS, timeoutMs / 2),
  };
}

export const timedOutError = () => connectionError('ETIMEDOUT', 'the database did not answer in time');
export const stoppedError = () => connectionError('CONNECTION_ENDED', 'the service is stopping');

/** Since when a connection has said nothing. */
export class Silence {
  #received: number;
  #since: number;

  constructor(
    readonly connection: Connection,
    now: number,
  ) {
    this.#received = connection.received;
    this.#since = now;
  }

  /** It has nothing to say. */
  begin(now: number): void {
    this.#since = now;
  }

  /** Milliseconds, as precise as it is asked often. */
  lasts(now: number): number {
    const { received } = this.connection;
    if (received !== this.#received) this.#since = now;
    this.#received = received;
    return now - this.#since;
  }
}

/** Gives a function that sees to it that `look` is called every `ms` until it says that there is nothing to see. */
export function checkRegularly(ms: number, look: (now: number) => boolean): () => void {
  let watching = false;
  const turn = (): void => {
    watching = look(performance.now());
    if (watching) setTimeout(turn, ms).unref();
  };
  return () => {
    if (watching) return;
    watching = true;
    setTimeout(turn, ms).unref();
  };
}

/** Opens the connections of one pool, and keeps a moment's distance from a server that refuses them. */
export class Dialler {
  readonly #stop = new AbortController();
  #refusal: Error | undefined;
  #refusedAt = 0;

  constructor(
    readonly options: PoolOptions,
    readonly onLost: (lost: Connection) => void,
  ) {}

  /** Why there is no connection to be had at this moment. */
  refusal(now: number): Error | undefined {
    return this.#refusal && now - this.#refusedAt < PAUSE_MS ? this.#refusal : undefined;
  }

  async dial(connectMs = this.options.timeoutMs): Promise<Connection> {
    try {
      const connection = await dial({ ...this.options, connectMs }, this.#stop.signal, this.onLost);
      this.#refusal = undefined;
      return connection;
    } catch (error) {
      this.#refusal = error as Error;
      this.#refusedAt = performance.now();
      throw error;
    }
  }

  stop(): void {
    this.#stop.abort();
  }
}
