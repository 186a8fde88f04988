import type postgres from 'postgres';
import { type Connection, connectionError } from './connection.js';
import {
  checkRegularly,
  Dialler,
  limitsOf,
  type PoolOptions,
  Silence,
  stoppedError,
  timedOutError,
} from './stall-detection.js';

/** Connections lent to one at a time. */
export interface ExclusivePool {
  /**
   * Waits for a free connection and lends it to `work`. Rejects when the wait takes too long, and when the connection
   * is lost or `work` has run out of time: then the server rolls back what was not committed.
   */
  lend<T>(work: (lease: Lease) => Promise<T>): Promise<T>;
  end(): Promise<void>;
}

/** What the time limit is about: all that is done with the connection, or each silence of the server. */
export type Limit = 'whole' | 'silence';

export interface Lease {
  /** The server's process. */
  readonly pid: string;
  readonly lost: boolean;
  /** The connection; throws when it is lost. */
  use(): postgres.Sql;
  /** Whether it is the server that has to say something, and not we who have to take it. */
  isWaiting: () => boolean;
}

interface Place {
  readonly since: number;
  readonly take: () => void;
  readonly reject: (error: unknown) => void;
}

const END_MS = 2000;

/** Opens a pool; its connections are opened when needed. At most `size` are lent, and as many that are stalled. */
export function openExclusivePool(options: PoolOptions, limit: Limit): ExclusivePool {
  return new LentPool(options, limit);
}

class OneLoan implements Lease {
  readonly silence: Silence;
  /** Rejects when the connection is lost. */
  readonly broken: Promise<never>;
  break: (why: unknown) => void = () => undefined;
  /** Whether it takes one of the places. */
  counts = true;
  isWaiting = () => true;

  constructor(
    readonly connection: Connection,
    readonly since: number,
  ) {
    this.silence = new Silence(connection, performance.now());
    this.broken = new Promise((_, reject) => {
      this.break = reject;
    });
    this.broken.catch(() => undefined);
  }

  get pid(): string {
    return this.connection.pid;
  }

  get lost(): boolean {
    return this.connection.lost !== undefined;
  }

  use(): postgres.Sql {
    if (this.connection.lost) throw this.connection.lost;
    return this.connection.sql;
  }
}

class LentPool implements ExclusivePool {
  readonly #limits;
  readonly #dialler;
  readonly #watch;
  readonly #waiting = new Set<Place>();
  readonly #out = new Set<OneLoan>();
  #idle: Silence[] = [];
  #taken = 0;
  #ended = false;

  constructor(
    readonly options: PoolOptions,
    readonly limit: Limit,
  ) {
    this.#limits = limitsOf(options);
    this.#dialler = new Dialler(options, (lost) => this.#drop(lost));
    this.#watch = checkRegularly(this.#limits.tickMs, (now) => this.#look(now));
  }

  async lend<T>(work: (lease: Lease) => Promise<T>): Promise<T> {
    const since = performance.now();
    if (this.#ended) throw stoppedError();
    if (this.#taken < this.options.size) this.#taken++;
    else await this.#place(since);
    let lease: OneLoan | undefined;
    try {
      lease = new OneLoan(await this.#connection(since), since);
      this.#out.add(lease);
      this.#watch();
      return await Promise.race([work(lease), lease.broken]);
    } finally {
      this.#giveBack(lease);
    }
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#dialler.stop();
    for (const { reject } of this.#waiting) reject(stoppedError());
    this.#waiting.clear();
    await Promise.all(this.#idle.map(({ connection }) => connection.end()));
    const end = performance.now() + END_MS;
    while (this.#out.size > 0 && performance.now() < end) await new Promise((turn) => setTimeout(turn, 10));
    for (const { connection } of this.#out) connection.destroy(stoppedError());
  }

  #place(since: number): Promise<void> {
    this.#watch();
    return new Promise((take, reject) => this.#waiting.add({ since, take, reject }));
  }

  async #connection(since: number): Promise<Connection> {
    const idle = this.#idle.pop();
    if (idle) return idle.connection;
    const now = performance.now();
    const refusal = this.#dialler.refusal(now);
    if (refusal) throw refusal;
    const connection = await this.#dialler.dial(Math.max(1, this.options.timeoutMs - (now - since)));
    if (connection.lost) throw connection.lost;
    return connection;
  }

  #giveBack(lease: OneLoan | undefined): void {
    if (lease) {
      this.#out.delete(lease);
      const { connection } = lease;
      if (this.#ended) void connection.end();
      else if (!connection.lost) this.#idle.push(new Silence(connection, performance.now()));
    }
    if (lease?.counts !== false) this.#passOn();
  }

  /** A place that is free goes to who waited longest. */
  #passOn(): void {
    const [next] = this.#waiting;
    if (!next) this.#taken--;
    else {
      this.#waiting.delete(next);
      next.take();
    }
  }

  #drop(lost: Connection): void {
    this.#idle = this.#idle.filter(({ connection }) => connection !== lost);
    for (const lease of this.#out) if (lease.connection === lost) lease.break(lost.lost);
  }

  #look(now: number): boolean {
    const { lateMs } = this.#limits;
    for (const lease of this.#out) {
      if (!lease.isWaiting() || lease.connection.paused) lease.silence.begin(now);
      const silentFor = lease.silence.lasts(now);
      if ((this.limit === 'whole' ? now - lease.since : silentFor) > lateMs)
        lease.connection.destroy(timedOutError());
      else if (lease.counts && silentFor > this.#limits.stallMs) this.#setAside(lease, now);
    }
    for (const place of this.#waiting) {
      if (now - place.since <= lateMs) break;
      this.#waiting.delete(place);
      place.reject(connectionError('QUEUE_TIMEOUT', 'no connection to the database was free in time'));
    }
    return this.#out.size > 0 || this.#waiting.size > 0;
  }

  /** A connection that may be dead keeps nobody waiting; nor do those that have been silent for as long. */
  #setAside(lease: OneLoan, now: number): void {
    if (this.#out.size >= 2 * this.options.size) return;
    lease.counts = false;
    for (const { connection } of this.#idle.filter((idle) => idle.lasts(now) > this.#limits.stallMs))
      connection.destroy();
    this.#passOn();
  }
}
