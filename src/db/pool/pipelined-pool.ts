import type postgres from 'postgres';
import type { Connection } from './connection.js';
import { Dialler, stoppedError } from './host-dialler.js';
import {
  checkRegularly,
  limitsOf,
  type PoolOptions,
  rejectOlder,
  Silence,
  timedOutError,
} from './stall-detection.js';

type Work<T> = (sql: postgres.Sql) => PromiseLike<T>;

interface Task {
  /** When its time limit starts. */
  readonly since: number;
  readonly work: Work<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

interface Member {
  readonly connection: Connection;
  readonly silence: Silence;
  readonly tasks: Set<Task>;
  isStalled: boolean;
}

/**
 * Connections that concurrent statements share, pipelined; opened when needed. At most `size` of them work, and as many
 * again may be stalled and not yet timed out.
 */
export class PipelinedPool {
  readonly #limits;
  readonly #dialler;
  readonly #startChecks;
  readonly #waiting = new Set<Task>();
  #members: Member[] = [];
  #isDialling = false;
  #ended = false;

  constructor(readonly options: PoolOptions) {
    this.#limits = limitsOf(options);
    this.#dialler = new Dialler(options, (lost) => this.#drop(lost));
    this.#startChecks = checkRegularly(this.#limits.checkMs, (now) => this.#check(now));
  }

  /**
   * Runs one statement. Rejects when it fails, when it or the wait for a connection times out, and when its connection
   * is lost: then its outcome is unknown, and it is not repeated.
   */
  run<T>(work: Work<T>): Promise<T> {
    return new Promise((resolve, reject) =>
      this.#submit({ since: performance.now(), work, resolve, reject }),
    );
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#dialler.stop();
    await Promise.all(this.#members.map(({ connection }) => connection.end()));
  }

  #submit(task: Task): void {
    if (this.#ended) return task.reject(stoppedError());
    const member = this.#leastLoaded();
    if (member) this.#start(task, member);
    else {
      const refusal = this.#dialler.refusal(task.since);
      if (refusal) return task.reject(refusal);
      this.#waiting.add(task);
    }
    if (!member || member.tasks.size > 1) this.#grow(task.since);
    this.#startChecks();
  }

  #leastLoaded(): Member | undefined {
    let found: Member | undefined;
    for (const member of this.#members)
      if (!member.isStalled && !(found && found.tasks.size <= member.tasks.size)) found = member;
    return found;
  }

  #start(task: Task, { tasks, connection }: Member): void {
    tasks.add(task);
    task.work(connection.sql).then(
      (result) => {
        tasks.delete(task);
        task.resolve(result as never);
      },
      (error) => {
        tasks.delete(task);
        task.reject(error);
        this.#dialler.closeIfReadOnly(connection, error);
      },
    );
  }

  #startWaiting(): void {
    for (const task of this.#waiting) {
      const member = this.#leastLoaded();
      if (!member) return;
      this.#waiting.delete(task);
      this.#start(task, member);
    }
  }

  #grow(now: number): void {
    const { size, timeoutMs } = this.options;
    const working = this.#members.filter(({ isStalled }) => !isStalled).length;
    if (this.#isDialling || working >= size || this.#members.length >= 2 * size) return;
    if (this.#ended || this.#dialler.refusal(now)) return;
    this.#isDialling = true;
    this.#dialler.dial(timeoutMs).then(
      (connection) => {
        this.#isDialling = false;
        this.#add(connection);
      },
      (error) => {
        this.#isDialling = false;
        if (this.#leastLoaded()) return;
        for (const task of this.#waiting) task.reject(error);
        this.#waiting.clear();
      },
    );
  }

  #add(connection: Connection): void {
    // It may have been lost, or the pool ended, since it was opened.
    if (connection.lost || this.#ended) return connection.destroy();
    this.#members.push({ connection, silence: new Silence(connection), tasks: new Set(), isStalled: false });
    this.#startWaiting();
    this.#startChecks();
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
    for (const member of this.#members) {
      const [oldest] = member.tasks;
      if (oldest && now - oldest.since > giveUpMs) member.connection.destroy(timedOutError());
      else this.#detectStall(member, oldest, now);
    }
    rejectOlder(this.#waiting, now - giveUpMs, timedOutError);
    this.#startWaiting();
    if (this.#waiting.size > 0) this.#grow(now);
    return this.#waiting.size > 0 || this.#members.some(({ tasks }) => tasks.size > 0);
  }

  #detectStall(member: Member, oldest: Task | undefined, now: number): void {
    const { stallMs } = this.#limits;
    const silentFor = member.silence.lasts(now);
    const wasStalled = member.isStalled;
    member.isStalled = oldest !== undefined && Math.min(silentFor, now - oldest.since) > stallMs;
    if (!member.isStalled || wasStalled) return;
    // What interrupted one connection may have interrupted the idle ones.
    for (const { connection, silence, tasks } of this.#members)
      if (tasks.size === 0 && silence.lasts(now) > stallMs) connection.destroy();
  }
}
