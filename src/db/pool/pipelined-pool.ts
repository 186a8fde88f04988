import type postgres from 'postgres';
import type { Connection } from './connection.js';
import {
  checkRegularly,
  Dialler,
  limitsOf,
  type PoolOptions,
  Silence,
  stoppedError,
  timedOutError,
} from './stall-detection.js';

/** Connections shared by whoever has a statement, pipelined. */
export interface PipelinedPool {
  /**
   * Runs one statement. Rejects when it fails, when it or the wait for a connection takes too long, and when its
   * connection is lost: then nobody knows whether it took place, and it is not sent again. `moreMs` is given to one
   * that comes with many others.
   */
  run<T>(work: Work<T>, moreMs?: number): Promise<T>;
  end(): Promise<void>;
}

type Work<T> = (sql: postgres.Sql) => PromiseLike<T>;

interface Task {
  /** From when its time counts. */
  readonly since: number;
  readonly work: Work<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

interface Member {
  readonly connection: Connection;
  readonly silence: Silence;
  readonly tasks: Set<Task>;
  stalled: boolean;
}

/**
 * Opens a pool; its connections are opened when needed. There are at most `size` of them that work, and as many
 * again that are suspected to be dead and have not yet run out of time.
 */
export function openPipelinedPool(options: PoolOptions): PipelinedPool {
  const pool = new SharedPool(options);
  return {
    run: (work, moreMs = 0) =>
      new Promise((resolve, reject) =>
        pool.submit({ since: performance.now() + moreMs, work, resolve, reject }),
      ),
    end: () => pool.end(),
  };
}

class SharedPool {
  readonly #limits;
  readonly #dialler;
  readonly #waiting = new Set<Task>();
  readonly #watch;
  #members: Member[] = [];
  #dialling = false;
  #ended = false;

  constructor(readonly options: PoolOptions) {
    this.#limits = limitsOf(options);
    this.#dialler = new Dialler(options, (lost) => this.#drop(lost));
    this.#watch = checkRegularly(this.#limits.tickMs, (now) => this.#look(now));
  }

  submit(task: Task): void {
    if (this.#ended) return task.reject(stoppedError());
    const member = this.#freest();
    if (member) this.#start(task, member);
    else {
      const refusal = this.#dialler.refusal(task.since);
      if (refusal) return task.reject(refusal);
      this.#waiting.add(task);
    }
    if (!member || member.tasks.size > 1) this.#grow(task.since);
    this.#watch();
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#dialler.stop();
    await Promise.all(this.#members.map(({ connection }) => connection.end()));
  }

  #freest(): Member | undefined {
    let freest: Member | undefined;
    for (const member of this.#members)
      if (!member.stalled && !(freest && freest.tasks.size <= member.tasks.size)) freest = member;
    return freest;
  }

  #start(task: Task, member: Member): void {
    member.tasks.add(task);
    task.work(member.connection.sql).then(
      (result) => {
        member.tasks.delete(task);
        task.resolve(result as never);
      },
      (error) => {
        member.tasks.delete(task);
        task.reject(error);
      },
    );
  }

  #startWaiting(): void {
    for (const task of this.#waiting) {
      const member = this.#freest();
      if (!member) return;
      this.#waiting.delete(task);
      this.#start(task, member);
    }
  }

  #grow(now: number): void {
    const { size } = this.options;
    const working = this.#members.reduce((count, { stalled }) => (stalled ? count : count + 1), 0);
    if (this.#dialling || working >= size || this.#members.length >= 2 * size) return;
    if (this.#ended || this.#dialler.refusal(now)) return;
    this.#dialling = true;
    this.#dialler.dial().then(
      (connection) => {
        this.#dialling = false;
        this.#add(connection);
      },
      (error) => {
        this.#dialling = false;
        if (!this.#freest()) this.#refuse(error);
      },
    );
  }

  #add(connection: Connection): void {
    // Lost, or too late, in the turn between.
    if (connection.lost || this.#ended) return connection.destroy();
    const silence = new Silence(connection, performance.now());
    this.#members.push({ connection, silence, tasks: new Set(), stalled: false });
    this.#startWaiting();
    this.#watch();
  }

  #refuse(error: unknown): void {
    for (const task of this.#waiting) task.reject(error);
    this.#waiting.clear();
  }

  #drop(lost: Connection): void {
    const member = this.#members.find(({ connection }) => connection === lost);
    if (!member) return;
    this.#members = this.#members.filter((other) => other !== member);
    for (const task of member.tasks) task.reject(lost.lost);
  }

  #look(now: number): boolean {
    const { lateMs } = this.#limits;
    for (const member of this.#members) {
      const [oldest] = member.tasks;
      if (oldest && now - oldest.since > lateMs) member.connection.destroy(timedOutError());
      else this.#listen(member, oldest, now);
    }
    for (const task of this.#waiting) {
      if (now - task.since <= lateMs) break;
      this.#waiting.delete(task);
      task.reject(timedOutError());
    }
    this.#startWaiting();
    if (this.#waiting.size > 0) this.#grow(now);
    return this.#waiting.size > 0 || this.#members.some(({ tasks }) => tasks.size > 0);
  }

  #listen(member: Member, oldest: Task | undefined, now: number): void {
    const silentFor = member.silence.lasts(now);
    const before = member.stalled;
    member.stalled = oldest !== undefined && Math.min(silentFor, now - oldest.since) > this.#limits.stallMs;
    if (!member.stalled || before) return;
    // What cut off one may have cut off those that have nothing to say.
    for (const { connection, silence, tasks } of this.#members)
      if (tasks.size === 0 && silence.lasts(now) > this.#limits.stallMs) connection.destroy();
  }
}
