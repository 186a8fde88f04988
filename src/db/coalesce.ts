import { unavailable } from '../errors.js';
import type { Row, Run } from './connect.js';

/** Keys in one statement, and statements under way at once: more of either gained nothing when measured. */
const MOST_KEYS = 256;
const MOST_STATEMENTS = 3;
/** Keys that may wait for a statement; one more is a 503. */
const MOST_WAITING = 20_000;

type Settle = { readonly resolve: (row: Row | undefined) => void; readonly reject: (error: unknown) => void };

/**
 * Reads rows by key, those that are asked for in the same turn of the event loop in one statement
 * (`... = any($1)`, rows with their key in `id`): a statement costs more than the row it finds. A read joins
 * only a statement that has not been sent yet, so it sees everything that was committed before it was asked
 * for. An error reaches those whose statement it was.
 */
export function coalesce(run: Run, text: string): (id: string) => Promise<Row | undefined> {
  let waiting = new Map<string, Settle[]>();
  let scheduled = false;
  let underWay = 0;

  function schedule(): void {
    if (scheduled || underWay >= MOST_STATEMENTS || waiting.size === 0) return;
    scheduled = true;
    setImmediate(flush);
  }

  function flush(): void {
    scheduled = false;
    const batch = take();
    underWay++;
    schedule();
    run(text, [`{${[...batch.keys()].join(',')}}`])
      .then(
        (rows) => deliver(batch, rows),
        (error) => {
          for (const list of batch.values()) for (const { reject } of list) reject(error);
        },
      )
      .finally(() => {
        underWay--;
        schedule();
      });
  }

  /** The oldest keys, up to the bound; the others wait for the next statement. */
  function take(): Map<string, Settle[]> {
    const all = waiting;
    waiting = new Map();
    if (all.size <= MOST_KEYS) return all;
    const batch = new Map<string, Settle[]>();
    for (const [id, list] of all) (batch.size < MOST_KEYS ? batch : waiting).set(id, list);
    return batch;
  }

  return (id) =>
    new Promise((resolve, reject) => {
      const list = waiting.get(id);
      if (waiting.size >= MOST_WAITING && !list)
        throw unavailable('Too many reads are waiting for the database.');
      if (list) list.push({ resolve, reject });
      else waiting.set(id, [{ resolve, reject }]);
      schedule();
    });
}

function deliver(batch: Map<string, Settle[]>, rows: readonly Row[]): void {
  for (const row of rows) {
    for (const { resolve } of batch.get(row.id as string) ?? []) resolve(row);
    batch.delete(row.id as string);
  }
  for (const list of batch.values()) for (const { resolve } of list) resolve(undefined);
}
