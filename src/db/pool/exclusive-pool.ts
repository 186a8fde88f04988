import { setTimeout as sleep } from 'node:timers/promises';
import type postgres from 'postgres';
import type { DbMetrics, PoolName } from '../../telemetry/metrics.js';
import { trackWait } from '../../telemetry/wait-tracking.js';
import { type Connection, connectionError } from './connection.js';
import { Dialler, stoppedError } from './host-dialler.js';
import {
  checkRegularly,
  limitsOf,
  type PoolOptions,
  rejectOlder,
  Silence,
  timedOutError,
} from './stall-detection.js';

/** The scope of the time limit: the whole lease, or each silence of the server. */
export type TimeLimit = 'whole' | 'silence';

const END_MS = 2000;

/** A connection that one caller uses alone. */
export class Lease {
  readonly silence: Silence;
  /** Rejects when the connection is lost. */
  readonly broken: Promise<never>;
  break: (reason: unknown) => void = () => undefined;
  /** Whether it occupies one of the pool's slots; not while it is stalled. */
  hasSlot = true;
  /** Whether its connection is closed after it. */
  isRetired = false;
  /** Whether the server is to send something, rather than the caller to consume it. */
  isWaiting = () => true;

  constructor(
    readonly connection: Connection,
    readonly since: number,
  ) {
    this.silence = new Silence(connection);
    this.broken = new Promise((_, reject) => {
      this.break = reject;
    });
    this.broken.catch(() => undefined);
  }

  /** The connection; throws when it is lost. */
  use(): postgres.Sql {
    if (this.connection.lost) throw this.connection.lost;
    return this.connection.sql;
  }
}

interface Waiting {
  readonly since: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Connections for one caller at a time, opened when needed: at most `size`, and as many again that are stalled. */
export class ExclusivePool {
  readonly #limits;
  readonly #dialler;
  readonly #startChecks;
  readonly #waiting = new Set<Waiting>();
  readonly #leases = new Set<Lease>();
  #idle: Silence[] = [];
  #slotsInUse = 0;
  #ended = false;

  constructor(
    readonly options: PoolOptions,
    readonly timeLimit: TimeLimit,
  ) {
    this.#limits = limitsOf(options);
    this.#dialler = new Dialler(options, (lost) => this.#drop(lost));
    this.#startChecks = checkRegularly(this.#limits.checkMs, (now) => this.#check(now));
    options.hosts.onReadOnly(() => this.#renew());
  }

  /**
   * Runs `work` with a lease, once a connection is free. Rejects when the wait times out, and when the connection is lost
   * or the lease times out: then the server rolls back what was not committed.
   */
  async withLease<T>(work: (lease: Lease) => Promise<T>): Promise<T> {
    const since = performance.now();
    if (this.#ended) throw stoppedError();
    await this.#occupySlot(since);
    let lease: Lease | undefined;
    try {
      lease = new Lease(await this.#connect(since), since);
      this.#leases.add(lease);
      this.#startChecks();
      return await Promise.race([work(lease), lease.broken]);
    } catch (error) {
      this.#dialler.noteError(error);
      throw error;
    } finally {
      if (lease) this.#giveBack(lease);
      if (lease?.hasSlot !== false) this.#releaseSlot();
    }
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#dialler.stop();
    for (const { reject } of this.#waiting) reject(stoppedError());
    this.#waiting.clear();
    await Promise.all(this.#idle.map(({ connection }) => connection.end()));
    const end = performance.now() + END_MS;
    while (this.#leases.size > 0 && performance.now() < end) await sleep(10);
    for (const { connection } of this.#leases) connection.destroy(stoppedError());
  }

  async #occupySlot(since: number): Promise<void> {
    if (this.#slotsInUse < this.options.size) this.#slotsInUse++;
    else {
      this.#startChecks();
      await new Promise<void>((resolve, reject) => this.#waiting.add({ since, resolve, reject }));
    }
  }

  /** Passes the slot on to the caller that has waited longest. */
  #releaseSlot(): void {
    const [next] = this.#waiting;
    if (!next) this.#slotsInUse--;
    else {
      this.#waiting.delete(next);
      next.resolve();
    }
  }

  async #connect(since: number): Promise<Connection> {
    const idle = this.#idle.pop();
    if (idle) return idle.connection;
    const now = performance.now();
    const refusal = this.#dialler.refusal(now);
    if (refusal) throw refusal;
    const connection = await this.#dialler.dial(Math.max(1, this.options.timeoutMs - (now - since)));
    if (connection.lost) throw connection.lost;
    return connection;
  }

  #giveBack(lease: Lease): void {
    const { connection } = lease;
    this.#leases.delete(lease);
    if (this.#ended || lease.isRetired) void connection.end();
    else if (!connection.lost) this.#idle.push(new Silence(connection));
  }

  /** Lets no further lease use the present connections. */
  #renew(): void {
    for (const lease of this.#leases) lease.isRetired = true;
    for (const { connection } of this.#idle) connection.destroy();
  }

  #drop(lost: Connection): void {
    this.#idle = this.#idle.filter(({ connection }) => connection !== lost);
    for (const lease of this.#leases) if (lease.connection === lost) lease.break(lost.lost);
  }

  /** Returns whether there is anything left to check. */
  #check(now: number): boolean {
    const { giveUpMs, stallMs } = this.#limits;
    for (const lease of this.#leases) {
      const { silence, connection } = lease;
      if (!lease.isWaiting() || connection.paused) silence.restart(now);
      const silentFor = silence.lasts(now);
      if ((this.timeLimit === 'whole' ? now - lease.since : silentFor) > giveUpMs)
        connection.destroy(timedOutError());
      else if (lease.hasSlot && silentFor > stallMs) this.#setAside(lease, now);
    }
    rejectOlder(this.#waiting, now - giveUpMs, () =>
      connectionError('QUEUE_TIMEOUT', 'no connection to the database was free in time'),
    );
    return this.#leases.size > 0 || this.#waiting.size > 0;
  }

  /** Gives the slot of a stalled connection to another, and closes idle ones that have been silent for as long. */
  #setAside(lease: Lease, now: number): void {
    if (this.#leases.size >= 2 * this.options.size) return;
    lease.hasSlot = false;
    for (const { connection } of this.#idle.filter((idle) => idle.lasts(now) > this.#limits.stallMs))
      connection.destroy();
    this.#releaseSlot();
  }
}

/** Leases a connection; the wait for it is counted, and belongs to the current request. */
export function countedLease({ waiting }: DbMetrics) {
  return async <T>(pool: ExclusivePool, name: PoolName, work: (lease: Lease) => Promise<T>): Promise<T> => {
    const gauge = waiting.of(name);
    let isWaiting = true;
    let resolveWait = (): void => undefined;
    const wait = new Promise<void>((resolve) => {
      resolveWait = resolve;
    });
    const endWait = (): void => {
      if (isWaiting) gauge.value--;
      isWaiting = false;
      resolveWait();
    };
    gauge.value++;
    void trackWait('connect', () => wait, undefined);
    try {
      return await pool.withLease((lease) => {
        endWait();
        return work(lease);
      });
    } finally {
      endWait();
    }
  };
}
