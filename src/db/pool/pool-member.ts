import type { Connection } from './connection.js';

/** A connection, as work has it. */
export interface Lease {
  readonly connection: Connection;
  /** Whether the server is to send something, rather than the caller to consume it. */
  isWaiting: () => boolean;
}

export type Work<T> = (lease: Lease) => PromiseLike<T>;

/** Work that waits for a connection, or runs on one. */
export interface Task {
  /** When its wait began, or the work after the wait. */
  since: number;
  /** Whose work it is; undefined: it counts against no caller. */
  readonly caller: string | undefined;
  work: Work<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
  /** How many tasks the pool had started and ended, together, when it started this one. */
  step: number;
  lease: Lease | undefined;
}

/** A connection of a pool. */
export interface Member {
  readonly connection: Connection;
  readonly silence: Silence;
  readonly tasks: Set<Task>;
  isStalled: boolean;
  /** Whether it takes no further work, and is closed after what it has. */
  isRetired: boolean;
}

/** Whether a connection takes further work. */
export const isUsable = ({ isStalled, isRetired }: Member): boolean => !isStalled && !isRetired;

/**
 * A connection without work, unless `size` connections have some; those that are stalled do not count. A caller has all
 * but one of them at most.
 */
export function unused(members: readonly Member[], size: number, caller?: string): Member | undefined {
  const usable = members.filter(isUsable);
  const idle = usable.filter(({ tasks }) => tasks.size === 0);
  if (usable.length - idle.length >= size) return undefined;
  const isOwn = ({ tasks }: Member) =>
    caller !== undefined && [...tasks].some((task) => task.caller === caller);
  return members.filter(isOwn).length < Math.max(1, size - 1) ? idle[0] : undefined;
}

/**
 * A statement during which its pool has started and ended more others, together, probably waits for a lock. Others would
 * wait behind it. With a full load there are some tens.
 */
const MAX_STEPS = 200;

/**
 * The connection with the fewest statements; of equal ones, the one that is less likely to wait for a lock. `steps`: how many
 * tasks the pool has started and ended, together.
 */
export function leastLoaded(members: readonly Member[], steps: number): Member | undefined {
  let [least, leastLoad, leastStep] = [undefined as Member | undefined, Number.POSITIVE_INFINITY, 0];
  for (const member of members) {
    if (!isUsable(member)) continue;
    const [oldest] = member.tasks;
    const step = oldest?.step ?? steps;
    const load = steps - step > MAX_STEPS ? Number.MAX_SAFE_INTEGER : member.tasks.size;
    if (load < leastLoad || (load === leastLoad && step > leastStep))
      [least, leastLoad, leastStep] = [member, load, step];
  }
  return least;
}

/**
 * Notes which connections are stalled. Whatever interrupted one connection may have interrupted the others: those that have
 * been silent for half the time count as stalled, too, and idle ones are closed. Otherwise new work would still be sent to a
 * dead connection.
 */
export function detectStalls(members: readonly Member[], now: number, stallMs: number): void {
  const silences = members.map(({ silence, tasks }) => (tasks.size > 0 ? silence.lasts(now) : 0));
  const limitMs = Math.max(...silences) > stallMs ? stallMs / 2 : stallMs;
  let isNew = false;
  members.forEach((member, at) => {
    const isStalled = silences[at]! > limitMs;
    isNew ||= isStalled && !member.isStalled;
    member.isStalled = isStalled;
  });
  if (!isNew) return;
  for (const { connection, silence, tasks } of members)
    if (tasks.size === 0 && silence.lasts(now) > stallMs) connection.destroy();
}

/**
 * A connection with work in flight that has been silent for this time may be dead: new work goes to others. Its own
 * work continues, since it may just be slow. Milliseconds.
 */
const STALL_MS = 1000;

/** The time limits of a pool. A working server ends a statement before the pool gives up. */
export function limitsOf(timeoutMs: number) {
  const checkMs = Math.max(5, Math.min(100, timeoutMs / 20));
  return {
    checkMs,
    giveUpMs: timeoutMs + Math.max(50, 2 * checkMs),
    stallMs: Math.min(STALL_MS, timeoutMs / 2),
  };
}

/** Measures for how long a connection has received nothing. */
export class Silence {
  #received: number;
  #since = performance.now();

  constructor(readonly connection: Connection) {
    this.#received = connection.received;
  }

  /** Restarts it: the server has nothing to send. */
  restart(now: number): void {
    this.#since = now;
  }

  /** Milliseconds, as precise as the interval between calls. */
  lasts(now: number): number {
    const { received } = this.connection;
    if (received !== this.#received) this.#since = now;
    this.#received = received;
    return now - this.#since;
  }
}

/** Returns a function that starts calling `check` at intervals, until it returns that nothing is left to check. */
export function checkRegularly(ms: number, check: (now: number) => boolean): () => void {
  let isChecking = false;
  const tick = (): void => {
    isChecking = check(performance.now());
    if (isChecking) setTimeout(tick, ms).unref();
  };
  return () => {
    if (isChecking) return;
    isChecking = true;
    setTimeout(tick, ms).unref();
  };
}
