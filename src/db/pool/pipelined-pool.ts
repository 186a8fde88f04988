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
  /** How many statements the pool had sent and ended, together, when it sent this one. */
  step: number;
  readonly work: Work<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

interface Member {
  readonly connection: Connection;
  readonly silence: Silence;
  readonly tasks: Set<Task>;
  isStalled: boolean;
  /** Whether it takes no further work, and is closed after what it has. */
  isRetired: boolean;
}

/**
 * A statement during which its pool has sent and ended more others, together, probably waits for a lock. Others would wait
 * behind it. With a full load there are some tens.
 */
const MAX_STEPS = 200;

const isUsable = ({ isStalled, isRetired }: Member): boolean => !isStalled && !isRetired;

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
  #steps = 0;
  #ended = false;

  constructor(readonly options: PoolOptions) {
    this.#limits = limitsOf(options);
    this.#dialler = new Dialler(options, (lost) => this.#drop(lost));
    this.#startChecks = checkRegularly(this.#limits.checkMs, (now) => this.#check(now));
    options.hosts.onReadOnly(() => this.#renew());
  }

  /**
   * Runs one statement. Rejects when it fails, when it or the wait for a connection times out, and when its connection
   * is lost: then its outcome is unknown, and it is not repeated.
   */
  run<T>(work: Work<T>): Promise<T> {
    return new Promise((resolve, reject) =>
      this.#submit({ since: performance.now(), step: 0, work, resolve, reject }),
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

  /** The connection with the fewest statements; of equal ones, the one that is less likely to wait for a lock. */
  #leastLoaded(): Member | undefined {
    let found: Member | undefined;
    let [foundLoad, foundStep] = [0, 0];
    for (const member of this.#members) {
      if (!isUsable(member)) continue;
      const { tasks } = member;
      if (tasks.size === 0) return member;
      const [oldest] = tasks;
      const { step } = oldest!;
      const load = this.#steps - step > MAX_STEPS ? Number.POSITIVE_INFINITY : tasks.size;
      if (found && (load > foundLoad || (load === foundLoad && step < foundStep))) continue;
      found = member;
      foundLoad = load;
      foundStep = step;
    }
    return found;
  }

  #start(task: Task, member: Member): void {
    const { tasks, connection } = member;
    task.step = ++this.#steps;
    const end = (): void => {
      this.#steps++;
      tasks.delete(task);
      this.#closeIfDone(member);
    };
    tasks.add(task);
    task.work(connection.sql).then(
      (result) => {
        end();
        task.resolve(result as never);
      },
      (error) => {
        end();
        task.reject(error);
        this.#dialler.noteError(error);
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
    const working = this.#members.filter(isUsable).length;
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
    this.#members.push({
      connection,
      silence: new Silence(connection),
      tasks: new Set(),
      isStalled: false,
      isRetired: false,
    });
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
    for (const { tasks, connection } of this.#members) {
      const [oldest] = tasks;
      if (oldest && now - oldest.since > giveUpMs) connection.destroy(timedOutError());
    }
    this.#detectStalls(now);
    rejectOlder(this.#waiting, now - giveUpMs, timedOutError);
    this.#startWaiting();
    if (this.#waiting.size > 0) this.#grow(now);
    return this.#waiting.size > 0 || this.#members.some(({ tasks }) => tasks.size > 0);
  }

  /**
   * Whatever interrupted one connection may have interrupted the others: those that have been silent for half the time
   * count as stalled, too, and idle ones are closed. Otherwise new work would still be sent to a dead connection.
   */
  #detectStalls(now: number): void {
    const { stallMs } = this.#limits;
    const silentWork = this.#members.map(({ silence, tasks: [oldest] }) =>
      Math.min(silence.lasts(now), oldest ? now - oldest.since : 0),
    );
    const limitMs = Math.max(...silentWork) > stallMs ? stallMs / 2 : stallMs;
    let isNew = false;
    this.#members.forEach((member, at) => {
      const isStalled = silentWork[at]! > limitMs;
      isNew ||= isStalled && !member.isStalled;
      member.isStalled = isStalled;
    });
    if (!isNew) return;
    for (const { connection, silence, tasks } of this.#members)
      if (tasks.size === 0 && silence.lasts(now) > stallMs) connection.destroy();
  }
}
