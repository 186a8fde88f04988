import { createBatcher } from '../db/batcher.js';
import { DATABASE_STATE_SQL } from '../db/core-statements.js';
import type { Db, Row, Run } from '../db/db.js';
import { sharing } from '../telemetry/metrics.js';
import type { Selection } from './condition.js';

/** Bounds of the pages in memory, with their keys; a page with more bytes is not stored. */
const MAX_PAGES = 2000;
const MAX_BYTES = 8_388_608;
const MAX_PAGE_BYTES = 131_072;
/** The most requests of a page that do not ask for the state after it had changed. */
const MAX_PAUSE = 16;

const STATES = { max: 1, inFlight: 2, waiting: 1, keyOf: () => '' };

/** Reads the row of a page. `key`: all that `read` depends on, besides the database. */
export type ReadPage = (key: string, read: () => Promise<Row | undefined>) => Promise<Row | undefined>;

interface Known {
  /** The row of the page, as of a state of the database; undefined: it has been read once, or it is too large. */
  page: { readonly state: string; readonly row: Row | undefined } | undefined;
  bytes: number;
  /** Requests that do not ask for the state after it had changed, and how many of them are left. */
  pause: number;
  left: number;
}

/**
 * The pages that callers may read of a database, which are read again only if a transaction has been committed on its server since. A
 * short statement, which all requests of a tick share, tells: what is shown is what the page's own statement would find.
 */
export class UnchangedPages {
  /** The page that was used last is the last one. */
  readonly #pages = new Map<string, Known>();
  readonly #state: (key: 'now') => Promise<string | undefined>;
  #bytes = 0;

  constructor(db: Pick<Db, 'run' | 'metrics'>) {
    this.#state = createBatcher<'now', string | undefined>(
      { ...STATES, sharing: sharing(db.metrics, 'state', 'database') },
      async () => [((await db.run(DATABASE_STATE_SQL.state, []))[0]!.state as string | null) ?? undefined],
    );
  }

  get size(): number {
    return this.#pages.size;
  }

  /** The length of all keys and pages. */
  get bytes(): number {
    return this.#bytes;
  }

  readonly read: ReadPage = async (key, read) => {
    const known = this.#pages.get(key);
    if (!known) {
      this.#store(key, { page: undefined, bytes: 0, pause: 0, left: 0 });
      return read();
    }
    if (known.left > 0) {
      known.left--;
      return read();
    }
    // Before the page is read: if the state is this one later, it was this one all the time.
    const state = await this.#state('now');
    const { page } = known;
    if (page !== undefined && page.state === state) {
      this.#store(key, { ...known, pause: 0 });
      return page.row;
    }
    const pause = page && Math.min(Math.max(1, known.pause * 2), MAX_PAUSE);
    const row = await read();
    const bytes = sizeOf(row);
    const isStored = state !== undefined && bytes <= MAX_PAGE_BYTES;
    this.#store(key, {
      page: isStored ? { state, row } : undefined,
      bytes: isStored ? bytes : 0,
      pause: pause ?? known.pause,
      left: pause ?? 0,
    });
    return row;
  };

  #store(key: string, known: Known): void {
    this.#remove(key);
    this.#pages.set(key, known);
    this.#bytes += key.length + known.bytes;
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= MAX_PAGES && this.#bytes <= MAX_BYTES) break;
      this.#remove(oldest);
    }
  }

  #remove(key: string): void {
    const known = this.#pages.get(key);
    if (!known) return;
    this.#pages.delete(key);
    this.#bytes -= key.length + known.bytes;
  }
}

/** The length of the texts of a row. */
const sizeOf = (row: Row | undefined): number =>
  Object.values(row ?? {}).reduce(
    (sum: number, value) => sum + (typeof value === 'string' ? value.length : 8),
    0,
  );

const readAnew: ReadPage = (_, read) => read();

const pages = new WeakMap<Db, UnchangedPages>();

/**
 * Returns the function that chooses how the pages of a selection are read. Access rules make a page expensive; all collections of a
 * database have one memory for such pages. The state of Citus would be that of several servers, and a transaction has its own.
 */
export function pageReaders(db: Db): (selection: Selection, run: Run | undefined) => ReadPage {
  if (db.engine === 'citus') return () => readAnew;
  const unchanged = pages.get(db) ?? new UnchangedPages(db);
  pages.set(db, unchanged);
  return ({ access }, run) => (access && !run ? unchanged.read : readAnew);
}
