import type { Readable } from 'node:stream';
import { createBatcher } from '../db/batcher.js';
import type { Db, Row, Run, Value } from '../db/db.js';
import { openPlaces } from '../db/places.js';
import { padForImmediateWrite } from '../db/pool/postgres-immediate-write.js';
import { sharing } from '../telemetry/metrics.js';
import { type FoundRecords, type NotFoundReason, parseRecords, type StoredRecord } from './record.js';
import { narrow, type Selection, STREAMED } from './sql-templates.js';

export interface Page {
  readonly total: number;
  /** The documents, separated by commas; undefined: there is too much of them, and the page is to be streamed. */
  readonly docs: string | undefined;
}

/** Which records of a list a page has. */
export interface PageBounds {
  readonly limit: number;
  readonly offset: number;
}

/** What reads a collection. Where a `run` is given, the statement runs in its transaction; else it may be shared. */
export interface Reads {
  get(id: string, run?: Run): Promise<StoredRecord | NotFoundReason>;
  exists(id: string, run?: Run): Promise<boolean>;
  page(selection: Selection, limit: number, offset: number, run?: Run): Promise<Page>;
  /** All of a list, or one page of it. */
  stream(
    selection: Selection,
    consume: (rows: Readable) => Promise<void>,
    bounds?: PageBounds,
  ): Promise<void>;
  /** Says that a record is about to be written: its next version will be at another place. */
  moves(id: string): void;
}

/** A promise for a record that takes a statement of its own. */
type Outcome = StoredRecord | NotFoundReason | Promise<StoredRecord | NotFoundReason>;

/** A statement's text and its arguments. */
type Asked = readonly [text: string, ...args: Value[]];

/**
 * Keys in one statement, statements under way, and what may wait: more of any gained nothing when measured. While one
 * statement's answers are written another is under way: 1.26 x the rate of 256 keys at 256 connections, 1.19 at 128, 1.0
 * at 1,000; fewer keys are 0.97 at 64. Gathering takes 0.92 of the CPU time here, 0.83 of PostgreSQL's; that neither side
 * then waits for the other is 1.1 to 1.19 x the rate at 64 connections and 1.0 x at 8, 32, 256 and 1,000.
 */
const READS = {
  max: 64,
  inFlight: 3,
  waiting: 20_000,
  gather: { max: 32, ms: 10 },
  keyOf: (id: string) => id,
};
/**
 * When reads are spread over so many records that it is known of few where they are, and what is learnt of one is forgotten
 * of another, so many statements ask for ids alone, as if nothing were known: it would be 0.95 x the rate.
 */
const [WORTH, PLAIN] = [0.4, 15];
/** Large records are read one by one, a few at a time: what is held in memory is bounded, however many are requested. */
const LARGE_READS = { max: 1, inFlight: 2, waiting: 2000 };
/** Who asks for the same page while it waits for its statement gets the same answer. */
const PAGES = { max: 1, inFlight: 2, waiting: 2000, keyOf: (asked: Asked) => asked.join('\n') };
/** A search may cost a thousand times what a read does: what waits is what can be done while its reader waits. */
const SEARCHES = { ...PAGES, waiting: 16 };

/** From so many matches on, what the other statement saves is more than planning it takes. */
const COMMON = 20_000;
/** Terms that are remembered as common. */
const MAX_COMMON = 1000;

/** `text` gives a statement by its name. */
export function openReads(
  db: Db,
  name: string,
  text: (statement: string) => string,
  places = openPlaces(),
): Reads {
  /** Statements still to come that do not ask where a record is. */
  let plain = 0;

  async function readFar(run: Run, ids: readonly string[]): Promise<Outcome[]> {
    const [row] = await run(text('get'), [padForImmediateWrite(`{${ids.join(',')}}`)]);
    const found = parseRecords(row!.records as string | null);
    return ids.map((id) => outcomeOf(found, id, run));
  }

  async function readLarge(run: Run, id: string): Promise<StoredRecord | NotFoundReason> {
    const [row] = await run(text('get_large'), [id]);
    // Deleted since its length was read: a tombstone is found by reading it once more.
    if (!row) return (await readFar(run, [id]))[0]!;
    return { id, version: row.version as number, doc: row.doc as string };
  }

  /** What a statement found of a record. */
  function outcomeOf({ stored, large }: FoundRecords, id: string, run: Run = db.run): Outcome {
    const found = stored.get(id);
    if (found) return found.version === 0 ? 'gone' : found;
    if (!large?.has(id)) return 'absent';
    return run === db.run ? readLargeOne(id) : readLarge(run, id);
  }

  async function readMany(ids: readonly string[]): Promise<Outcome[]> {
    if (ids.length === 1) return readFar(db.run, ids);
    if (plain > 0) {
      plain--;
      return readFar(db.run, ids);
    }
    const near: string[] = [];
    const far: string[] = [];
    for (const id of ids) {
      const place = places.of(id);
      if (place === undefined) far.push(id);
      else near.push(`"${place}"`);
    }
    if (places.isFull() && near.length < WORTH * ids.length) plain = PLAIN;
    const found = await readNear(far, near);
    const outcomes = ids.map((id) => outcomeOf(found, id));
    if (near.length === 0 || !outcomes.includes('absent')) return outcomes;

    // What is no longer at its place takes another statement, for which its neighbours do not wait.
    const moved = ids.filter((id, at) => outcomes[at] === 'absent' && !far.includes(id));
    if (moved.length === 0) return outcomes;
    for (const id of moved) places.forget(id);
    const again = readNear(moved, []);
    const later = async (id: string) => outcomeOf(await again, id);
    return ids.map((id, at) => (moved.includes(id) ? later(id) : outcomes[at]!));
  }

  async function readNear(far: readonly string[], near: readonly string[]): Promise<FoundRecords> {
    const [row] = await db.run(text('get_near'), [
      `{${far.join(',')}}`,
      padForImmediateWrite(`{${near.join(',')}}`),
    ]);
    return parseRecords(row!.records as string | null, places);
  }

  const shared = (operation: string) => sharing(db.metrics, operation, name);
  const read = createBatcher<string, StoredRecord | NotFoundReason>(
    { ...READS, sharing: shared('read') },
    readMany,
  );
  const readLargeOne = createBatcher<string, StoredRecord | NotFoundReason>(
    { ...LARGE_READS, sharing: shared('read large') },
    async ([id]) => [await readLarge(db.run, id!)],
  );

  const pagesOf = (run: Run, operation: string, bounds: typeof PAGES) =>
    createBatcher<Asked, Row[]>({ ...bounds, sharing: shared(operation) }, async ([asked]) => {
      const [statement, ...args] = asked!;
      return [await run(statement, args)];
    });
  /** Terms that so many records match that another statement finds them sooner. */
  const common = new Set<string>();
  function note(search: string, total: number): void {
    if (total < COMMON) common.delete(search);
    else if (!common.has(search)) {
      if (common.size >= MAX_COMMON) common.clear();
      common.add(search);
    }
  }

  const readPage = pagesOf(db.run, 'page', PAGES);
  const searchPage = pagesOf(db.search, 'search', SEARCHES);

  return {
    get: (id, run) => (run ? readFar(run, [id]).then(([stored]) => stored!) : read(id)),

    moves: (id) => void places.forget(id),

    exists: async (id, run = db.run) => (await run(text('exists'), [id])).length > 0,

    page: async (selection, limit, offset, run) => {
      const { search, sort, order } = selection;
      const { kind, settings, long } = narrow(selection, offset + limit, common.has(search));
      const statement = text(`page${kind}:${sort}:${order}`);
      const args = [limit, offset, ...Object.values(settings)];
      const rows = run
        ? await run(statement, args)
        : await (long ? searchPage : readPage)([statement, ...args]);
      const page = pageOf(rows);
      if (kind === '_matching' || kind === '_matching_common') note(search, page.total);
      return page;
    },

    stream: (selection, consume, bounds) => {
      const { kind, settings } = narrow(selection);
      const statement = `stream${kind}:${selection.sort}:${selection.order}`;
      if (!bounds) return db.copy(text(statement), settings, consume);
      const [limit, offset] = [String(bounds.limit), String(bounds.offset)];
      const bounded = { ...settings, 'plinth.limit': limit, 'plinth.offset': offset };
      return db.copy(text(`bounded_${statement}`), bounded, consume);
    },
  };
}

function pageOf([row]: readonly Row[]): Page {
  const docs = (row!.docs as string | null) ?? '';
  return { total: Number(row!.total), docs: docs === STREAMED ? undefined : docs };
}
