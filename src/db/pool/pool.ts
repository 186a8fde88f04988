import { AsyncResource } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Bound, beyond } from '../../errors/service-errors.js';
import { type Connection, connectionError } from './connection.js';
import { Dialler, type DialOptions, stoppedError } from './host-dialler.js';
import {
  checkRegularly,
  detectStalls,
  isUsable,
  leastLoaded,
  limitsOf,
  type Member,
  Silence,
  type Task,
  unused,
  type Work,
} from './pool-member.js';

export interface PoolOptions extends DialOptions {
  /** Maximum number of connections. */
  readonly size: number;
  /** Limit of opening a connection; milliseconds. */
  readonly connectMs: number;
  /** Limit of work, and of the wait for a connection; milliseconds. */
  readonly timeoutMs: number;
  /** Whether a connection has one work at a time; otherwise concurrent statements share it, pipelined. */
  readonly isExclusive: boolean;
  /** The work that may wait, half of it of one caller. */
  readonly maxWaiting: number;
  /** The bound that a refusal names. */
  readonly bound: Bound;
  /** The scope of the time limit: the whole work, or each silence of the server. */
  readonly timeLimit: 'whole' | 'silence';
}

/** How long the work in progress may take when the pool ends, in milliseconds. */
const END_MS = 2000;

const always = () => true;
const timedOutError = () => connectionError('ETIMEDOUT', 'the database did not respond in time');

/**
 * Connections to one database, opened when needed. At most `size` of them work, and as many again may be stalled and not
 * yet timed out.
 */
export class Pool {
  readonly #limits;
  readonly #dialler;
  readonly #startChecks;
  readonly #waiting = new Set<Task>();
  #members: Member[] = [];
  #dialling = 0;
  #steps = 0;
  #ended = false;

  constructor(readonly options: PoolOptions) {
    this.#limits = limitsOf(options.timeoutMs);
    this.#dialler = new Dialler(options, (lost) => this.#drop(lost));
    this.#startChecks = checkRegularly(this.#limits.checkMs, (now) => this.#check(now));
    options.hosts.on('readOnly', () => this.#renew());
  }

  /**
   * Runs work on a connection. Rejects when it fails, when it or the wait for a connection times out, when too much waits, and
   * when its connection is lost: then the outcome of a statement is unknown, and it is not repeated; the server rolls back
   * what was not committed. A caller of exclusive connections has all but one of them at most.
   */
  run<T>(work: Work<T>, caller?: string): Promise<T> {
    return new Promise((resolve, reject) =>
      this.#submit({ since: performance.now(), caller, work, resolve, reject, step: 0, lease: undefined }),
    );
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#dialler.stop();
    this.#rejectWaiting(Number.POSITIVE_INFINITY, stoppedError);
    const end = performance.now() + END_MS;
    const isBusy = ({ tasks }: Member) => tasks.size > 0;
    while (this.#members.some(isBusy) && performance.now() < end) await sleep(10);
    for (const { connection } of this.#members.filter(isBusy)) connection.destroy(stoppedError());
    await Promise.all(this.#members.map(({ connection }) => connection.end()));
  }

  #submit(task: Task): void {
    if (this.#ended) return task.reject(stoppedError());
    const member = this.#next(task);
    if (member) this.#start(task, member);
    else {
      const refusal = this.#dialler.refusal(task.since);
      if (refusal && !this.#members.some(isUsable)) return task.reject(refusal);
      if (this.#isFullFor(task)) return task.reject(beyond(this.options.bound));
      // Another task starts it, and its waits belong to its own request.
      task.work = AsyncResource.bind(task.work);
      this.#waiting.add(task);
    }
    if (!member || member.tasks.size > 1) this.#grow(task.since);
    this.#startChecks();
  }

  /** The connection for a task; undefined: it must wait. */
  #next({ caller }: Task): Member | undefined {
    const { isExclusive, size } = this.options;
    return isExclusive ? unused(this.#members, size, caller) : leastLoaded(this.#members, this.#steps);
  }

  #isFullFor({ caller }: Task): boolean {
    const { maxWaiting } = this.options;
    if (caller === undefined) return this.#waiting.size >= maxWaiting;
    const own = [...this.#waiting].filter((task) => task.caller === caller).length;
    return own * 2 >= maxWaiting || this.#waiting.size >= maxWaiting;
  }

  #start(task: Task, member: Member): void {
    const { tasks, connection, silence } = member;
    task.step = ++this.#steps;
    task.lease = { connection, isWaiting: always };
    if (tasks.size === 0) silence.restart(performance.now());
    tasks.add(task);
    const end = (): void => {
      this.#steps++;
      tasks.delete(task);
      if (member.isRetired) this.#closeIfDone(member);
      if (this.#waiting.size > 0) this.#startWaiting();
    };
    task.work(task.lease).then(
      (result) => {
        end();
        task.resolve(result as never);
      },
      (error) => {
        this.#dialler.noteError(error);
        end();
        task.reject(error);
      },
    );
  }

  #startWaiting(): void {
    for (const task of this.#waiting) {
      const member = this.#next(task);
      if (member) {
        this.#waiting.delete(task);
        task.since = performance.now();
        this.#start(task, member);
      } else if (task.caller === undefined) return;
    }
  }

  /** Opens connections: one for each task that waits, or one at a time that statements will share. */
  #grow(now: number): void {
    const { size, connectMs, isExclusive } = this.options;
    const wanted = isExclusive ? this.#waiting.size : 1;
    const free = size - this.#members.filter(isUsable).length;
    const max = Math.min(wanted, free, 2 * size - this.#members.length);
    while (this.#dialling < max && !this.#ended && !this.#dialler.refusal(now)) {
      this.#dialling++;
      this.#dialler.dial(connectMs).then(
        (connection) => {
          this.#dialling--;
          this.#add(connection);
        },
        (error) => {
          this.#dialling--;
          if (this.#members.some(isUsable)) return;
          for (const task of this.#waiting) {
            this.#waiting.delete(task);
            task.reject(error);
            // Another attempt may succeed for the rest.
            if (this.#dialling > 0) return;
          }
        },
      );
    }
  }

  #add(connection: Connection): void {
    // A connection may be lost, or the pool end, while others are opened.
    if (connection.lost || this.#ended) return connection.destroy();
    const silence = new Silence(connection);
    this.#members.push({ connection, silence, tasks: new Set(), isStalled: false, isRetired: false });
    this.#startWaiting();
    this.#startChecks();
  }

  /** Lets no further work use the present connections. */
  #renew(): void {
    for (const member of this.#members) {
      member.isRetired = true;
      this.#closeIfDone(member);
    }
  }

  #closeIfDone({ isRetired, tasks, connection }: Member): void {
    if (isRetired && tasks.size === 0) connection.destroy();
  }

  #drop(lost: Connection): void {
    const member = this.#members.find(({ connection }) => connection === lost);
    if (!member) return;
    this.#members = this.#members.filter((other) => other !== member);
    for (const task of member.tasks) task.reject(lost.lost);
  }

  /** Returns whether there is work left to check. */
  #check(now: number): boolean {
    const { giveUpMs } = this.#limits;
    for (const { tasks, connection, silence } of this.#members) {
      const [oldest] = tasks;
      if (!oldest) continue;
      if (connection.paused || !oldest.lease!.isWaiting()) silence.restart(now);
      const lasted = this.options.timeLimit === 'silence' ? silence.lasts(now) : now - oldest.since;
      if (lasted > giveUpMs) connection.destroy(timedOutError());
    }
    detectStalls(this.#members, now, this.#limits.stallMs);
    const isBusy = this.#members.some(isUsable);
    this.#rejectWaiting(now - giveUpMs, isBusy ? () => beyond(this.options.bound) : timedOutError);
    this.#startWaiting();
    if (this.#waiting.size > 0) this.#grow(now);
    return this.#waiting.size > 0 || this.#members.some(({ tasks }) => tasks.size > 0);
  }

  /** Rejects what has waited since before `since`. */
  #rejectWaiting(since: number, reason: () => unknown): void {
    for (const task of this.#waiting) {
      if (task.since >= since) return;
      this.#waiting.delete(task);
      task.reject(reason());
    }
  }
}
