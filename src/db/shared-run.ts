import type { Run } from './db.js';

/** The transactions in which concurrent work shares statements. */
const shared = new WeakSet<Run>();

/**
 * Runs the statements of a transaction for concurrent work, one after the other. Reads and writes of records at the same time share
 * statements in it, as requests do outside of transactions. A statement that fails is undone, and the transaction goes on. `check`
 * throws when no more statements are to begin.
 */
export function sharedRun(run: Run, check: () => void): Run {
  let last: Promise<unknown> = Promise.resolve();
  const next = async (text: string, args: Parameters<Run>[1]): ReturnType<Run> => {
    check();
    // Sent together.
    const sent = [run('savepoint shared', []), run(text, args), run('release savepoint shared', [])] as const;
    try {
      return (await Promise.all(sent))[1];
    } catch (error) {
      await Promise.allSettled(sent);
      await run('rollback to savepoint shared', []);
      throw error;
    }
  };
  const inTurn: Run = (text, args) => {
    const done = last.then(() => next(text, args));
    last = done.catch(() => undefined);
    return done;
  };
  shared.add(inTurn);
  return inTurn;
}

/**
 * One value for a pool, and one for each transaction in which concurrent work shares statements. Undefined for other transactions.
 * Without a pool, only such transactions have one.
 */
export function perRun<T>(
  pool: Run | undefined,
  make: (run: Run) => T,
): (run: Run | undefined) => T | undefined {
  const ofPool = pool && make(pool);
  const known = new WeakMap<Run, T>();
  return (run) => {
    if (!run || run === pool) return ofPool;
    if (!shared.has(run)) return undefined;
    const found = known.get(run) ?? make(run);
    known.set(run, found);
    return found;
  };
}
