import { createBatcher } from '../db/batcher.js';
import { DATABASE_STATE_SQL } from '../db/core-statements.js';
import type { Db, Row, Run, Value } from '../db/db.js';
import { sharing } from '../telemetry/metrics.js';
import type { Selection } from './condition.js';

/** Bounds of the pages in memory, with their keys, and of one that is stored. A character has one or two bytes. */
const MAX_PAGES = 2000;
const MAX_CHARACTERS = 4_194_304;
const MAX_PAGE_CHARACTERS = 131_072;
/** Bounds of the kinds in memory, beyond which all pages are forgotten, and of one whose pages may be stored. */
const MAX_KINDS = 1000;
const MAX_KINDS_CHARACTERS = 2_097_152;
const MAX_KIND_CHARACTERS = 65_536;
/** After repeated changes, the most requests of a page that do not ask for the state. */
const MAX_PAUSE = 16;

/** While a statement is in flight, the next requests wait: they share the one after it, whose state is not older than they are. */
const STATES = { max: 1, inFlight: 1, waiting: 1, keyOf: () => '' };

/** Reads the row of a page. All that `read` depends on, besides the database, is the kind of the page and its values. */
export type ReadPage = (
  kind: string,
  values: readonly Value[],
  read: () => Promise<Row | undefined>,
) => Promise<Row | undefined>;

/** A page as of a state of the database. */
interface StoredPage {
  readonly state: string;
  readonly row: Promise<Row | undefined>;
}

/** A page that has been requested before. */
interface Known {
  /** Undefined: it has been read once, or it is too large. */
  page: StoredPage | undefined;
  /** The length of the page. */
  characters: number;
  /** How often in a row the state was another one. */
  changes: number;
  /** Requests that do not ask for the state. */
  pause: number;
}

/**
 * The pages that callers may read of a database, which are read again only if a transaction has been committed on its server since. A
 * short statement, which all requests of a tick share, tells: what is shown is what the page's own statement would find.
 */
export class UnchangedPages {
  /** The page that was used last is the last one. */
  readonly #pages = new Map<string, Known>();
  #characters = 0;
  readonly #kinds = new Map<string, number>();
  #kindsCharacters = 0;
  #nextKind = 0;
  readonly #state: (key: 'now') => Promise<string | undefined>;

  constructor(db: Pick<Db, 'run' | 'metrics'>) {
    this.#state = createBatcher<'now', string | undefined>(
      { ...STATES, sharing: sharing(db.metrics, 'state', 'database') },
      async () => [((await db.run(DATABASE_STATE_SQL.state, []))[0]!.state as string | null) ?? undefined],
    );
  }

  get size(): number {
    return this.#pages.size;
  }

  /** The length of all kinds, keys and pages. */
  get characters(): number {
    return this.#kindsCharacters + this.#characters;
  }

  readonly read: ReadPage = async (kind, values, read) => {
    if (kind.length > MAX_KIND_CHARACTERS) return read();
    const key = this.#keyOf(kind, values);
    const found = this.#pages.get(key);
    if (!found) {
      this.#use(key, { page: undefined, characters: 0, changes: 0, pause: 0 });
      return read();
    }
    if (found.pause > 0) {
      found.pause--;
      return read();
    }
    // Before the page is read: if the state is this one later, it was this one all the time.
    const state = await this.#state('now');
    // Another request may have begun to read the page.
    const known = this.#pages.get(key) ?? found;
    const { page } = known;
    if (page !== undefined && page.state === state) {
      known.changes = 0;
      this.#use(key, known);
      return page.row;
    }
    if (page || state === undefined) known.pause = pauseAfter(++known.changes);
    if (state === undefined) return read();
    known.page = { state, row: read() };
    this.#use(key, known);
    return this.#stored(key, known.page);
  };

  /** Kinds are long texts, of which there are few: a number stands for each. */
  #keyOf(kind: string, values: readonly Value[]): string {
    const number = this.#kinds.get(kind) ?? this.#nextKind++;
    if (!this.#kinds.has(kind)) {
      const isFull = this.#kinds.size === MAX_KINDS;
      if (isFull || this.#kindsCharacters + kind.length > MAX_KINDS_CHARACTERS) this.#forget();
      this.#kinds.set(kind, number);
      this.#kindsCharacters += kind.length;
    }
    return `${number}${JSON.stringify(values)}`;
  }

  #forget(): void {
    this.#kinds.clear();
    this.#kindsCharacters = 0;
    this.#pages.clear();
    this.#characters = 0;
  }

  /** The row of a page that is being read. A page that is too large, or whose reading fails, does not stay. */
  async #stored(key: string, page: StoredPage): Promise<Row | undefined> {
    let characters = Number.POSITIVE_INFINITY;
    try {
      const row = await page.row;
      characters = lengthOf(row);
      return row;
    } finally {
      const known = this.#pages.get(key);
      if (known?.page === page) {
        const isStored = characters <= MAX_PAGE_CHARACTERS;
        if (!isStored) known.page = undefined;
        this.#remove(key);
        this.#use(key, { ...known, characters: isStored ? characters : 0 });
      }
    }
  }

  /** Makes a page the last one, and removes the first ones if there are too many. */
  #use(key: string, known: Known): void {
    this.#remove(key);
    this.#pages.set(key, known);
    this.#characters += key.length + known.characters;
    for (const first of this.#pages.keys()) {
      if (this.#pages.size <= MAX_PAGES && this.#characters <= MAX_CHARACTERS) break;
      this.#remove(first);
    }
  }

  #remove(key: string): void {
    const known = this.#pages.get(key);
    if (!known) return;
    this.#pages.delete(key);
    this.#characters -= key.length + known.characters;
  }
}

/** None after the first change, then 1, 2, 4 and so on: where writes are frequent, the state seldom pays. */
const pauseAfter = (changes: number): number => (changes < 2 ? 0 : Math.min(2 ** (changes - 2), MAX_PAUSE));

/** The length of the texts of a row. */
const lengthOf = (row: Row | undefined): number =>
  Object.values(row ?? {}).reduce(
    (sum: number, value) => sum + (typeof value === 'string' ? value.length : 8),
    0,
  );

const readAnew: ReadPage = (_kind, _values, read) => read();

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
