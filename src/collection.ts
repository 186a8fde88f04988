import type { Readable } from 'node:stream';
import type { Db, Row, Run, Value } from './db/connect.js';
import { group } from './db/group.js';
import { readStatements } from './db/queries.js';
import { compileDraft, type Draft } from './draft.js';
import { groupWrites, type Write } from './grouped.js';
import type { Json } from './json.js';
import { sharing } from './observe/metrics.js';
import { hashPassword } from './password.js';
import {
  documentHead,
  type Guard,
  guardArguments,
  type Held,
  heldBack,
  isStored,
  type Missing,
  onlyVersion,
  type Stored,
  storedIn,
  storedOf,
  UNGUARDED,
} from './record.js';
import type { Resource } from './resource.js';
import { compileStatements, narrow, type Selection } from './statements.js';
import { createdAt, nextIdentity } from './uuid.js';
import { violationOf } from './violation.js';

export interface Page {
  readonly total: number;
  readonly docs: string;
}

/**
 * A collection that is open: its check is compiled and its statements fit the schema. Where a `run` is given,
 * the statements run in its transaction.
 */
export interface Collection {
  readonly resource: Resource;
  /** Throws the 400 with every failure, or the 422 of a reference that names no record. */
  check(input: Json | undefined): Draft;
  get(id: string, run?: Run): Promise<Stored | Missing>;
  exists(id: string, run?: Run): Promise<boolean>;
  /** Locks records for the transaction of `run`, in the order of their ids. */
  lock(ids: readonly string[], run: Run): Promise<void>;
  /** Whether a record is below this parent; locks it for the transaction of `run`. */
  belongs(id: string, parent: string, run: Run): Promise<boolean>;
  /** Throws the 409 of a duplicate, the 422 of an unknown reference. */
  create(draft: Draft, run?: Run): Promise<Stored>;
  /** Throws as create. */
  replace(id: string, draft: Draft, guard: Guard, run?: Run): Promise<Stored | Held | Missing>;
  /** Undefined when it is done. */
  remove(id: string, guard: Guard, run?: Run): Promise<Held | 'absent' | undefined>;
  page(selection: Selection, limit: number, offset: number, run?: Run): Promise<Page>;
  stream(selection: Selection, consume: (rows: Readable) => Promise<void>): Promise<void>;
}

/** Opens a declared collection. Throws when a statement does not fit the schema. */
export async function openCollection(db: Db, resource: Resource, tombstones: boolean): Promise<Collection> {
  const statements = compileStatements(resource, tombstones);
  const described = [...statements.values()].filter((text) => !text.startsWith('copy'));
  const fits = Promise.all(described.map((text) => db.describe(text)));
  fits.catch(() => undefined); // told below
  // Compiled while the server describes: a tenth of the start.
  const opened = collection(db, resource, (name) => statements.get(name)!);
  await fits;
  return opened;
}

/** A record's next state, and what its present one must be. */
interface Replacement {
  readonly id: string;
  /** The document up to its version. */
  readonly head: string;
  readonly updatedAt: string;
  readonly columns: readonly Value[];
  readonly guard: Guard;
}

/** A statement's text and its arguments. */
type Asked = readonly [text: string, ...args: Value[]];

/** Keys in one statement, statements under way, and what may wait: more of any gained nothing when measured. */
const READS = { most: 256, underWay: 3, waiting: 20_000, keyOf: (id: string) => id };
/** Who asks for the same page while it waits for its statement gets the same answer. */
const PAGES = { most: 1, underWay: 2, waiting: 2000, keyOf: (asked: Asked) => asked.join('\n') };
/** A search may cost a thousand times what a read does: what waits is what can be done while its reader waits. */
const SEARCHES = { ...PAGES, waiting: 16 };

function collection(db: Db, resource: Resource, text: (name: string) => string): Collection {
  const check = compileDraft(resource);
  const ownColumns = Object.values(resource.columns);

  async function readMany(run: Run, ids: readonly string[]): Promise<ReadonlyMap<string, Stored>> {
    const [row] = await run(text('get'), [`{${ids.join(',')}}`]);
    return storedIn(row!.records as string | null);
  }

  const shared = (operation: string) => sharing(db.metrics, operation, resource.name);
  const read = group<string, Stored | undefined>({ ...READS, sharing: shared('read') }, async (ids) => {
    const found = await readMany(db.run, ids);
    return ids.map((id) => found.get(id));
  });

  const pagesOf = (run: Run, operation: string, bounds: typeof PAGES) =>
    group<Asked, Row[]>({ ...bounds, sharing: shared(operation) }, async ([asked]) => {
      const [statement, ...args] = asked!;
      return [await run(statement, args)];
    });
  const readPage = pagesOf(db.run, 'page', PAGES);
  const searchPage = pagesOf(db.search, 'search', SEARCHES);

  async function createAlone(run: Run, { stored, updatedAt, columns }: Write): Promise<Stored> {
    await run(text('create'), [stored.id, updatedAt, stored.doc, ...columns]);
    return stored;
  }

  const createGrouped = groupWrites<Write, Stored>(
    db.run,
    text('create_many'),
    ownColumns,
    (write) => createAlone(db.run, write),
    shared('create'),
  );

  async function replaceAlone(
    run: Run,
    { id, head, updatedAt, columns, guard }: Replacement,
  ): Promise<Stored | Held | Missing> {
    const [row] = await run(text('replace'), [id, ...guardArguments(guard), updatedAt, head, ...columns]);
    if (!row) return 'absent';
    if (row.before === 0) return 'gone';
    return row.after === null ? heldBack(id, row) : storedOf(id, head, row.after as number);
  }

  const replaceGrouped = groupWrites<Write & Replacement, Stored | Held | Missing>(
    db.run,
    text('replace_many'),
    ownColumns,
    (replacement) => replaceAlone(db.run, replacement),
    shared('replace'),
  );

  /** In a transaction of its own when a password goes with the record, in the given one, or else as `apart` has it. */
  async function write<T>(
    id: string,
    { password }: Draft,
    within: Run | undefined,
    apart: () => Promise<T>,
    record: (run: Run) => Promise<T>,
  ): Promise<T> {
    try {
      if (password === undefined) return await (within ? record(within) : apart());
      const hash = await hashPassword(password);
      const both = async (run: Run): Promise<T> => {
        const written = await record(run);
        if (isStored(written)) await run(SET_PASSWORD, [id, hash]);
        return written;
      };
      return await (within ? both(within) : db.transaction(both));
    } catch (error) {
      throw violationOf(error, resource) ?? error;
    }
  }

  return {
    resource,

    check,

    get: async (id, run) => {
      const stored = run ? (await readMany(run, [id])).get(id) : await read(id);
      if (!stored) return 'absent';
      return stored.version === 0 ? 'gone' : stored;
    },

    exists: async (id, run = db.run) => (await run(text('exists'), [id])).length > 0,

    lock: async (ids, run) => {
      await run(text('lock'), [`{${ids.join(',')}}`]);
    },

    belongs: async (id, parent, run) => (await run(text('belongs'), [id, parent])).length > 0,

    create: (draft, within) => {
      const { id, ms } = nextIdentity();
      const now = new Date(ms).toISOString();
      const stored = storedOf(id, documentHead(id, draft.fields, now, now), 1);
      const creation = { stored, updatedAt: now, columns: draft.columns };
      const apart = () => createGrouped(creation);
      return write(id, draft, within, apart, (run) => createAlone(run, creation));
    },

    replace: (id, draft, guard, within) => {
      const created = createdAt(id);
      const updatedAt = new Date(Math.max(Date.now(), created)).toISOString();
      const head = documentHead(id, draft.fields, new Date(created).toISOString(), updatedAt);
      const replacement = { id, head, updatedAt, columns: draft.columns, guard };
      const version = onlyVersion(guard);
      // Who knows the version knows the whole document, and can be written together with others.
      const apart = () =>
        version === undefined
          ? replaceAlone(db.run, replacement)
          : replaceGrouped({ ...replacement, stored: storedOf(id, head, version + 1) });
      return write(id, draft, within, apart, (run) => replaceAlone(run, replacement));
    },

    remove: async (id, guard, run = db.run) => {
      if (guard === UNGUARDED) {
        await run(text('remove'), [id]);
        return undefined;
      }
      const [row] = await run(text('remove_if'), [id, ...guardArguments(guard)]);
      if (!row) return 'absent';
      return row.after === null ? heldBack(id, row) : undefined;
    },

    page: async (selection, limit, offset, run) => {
      const { kind, settings, long } = narrow(selection, offset);
      const statement = text(`page${kind}:${selection.sort}:${selection.order}`);
      const args = [limit, offset, ...Object.values(settings)];
      if (run) return pageOf(await run(statement, args));
      return pageOf(await (long ? searchPage : readPage)([statement, ...args]));
    },

    stream: (selection, consume) => {
      const { kind, settings } = narrow(selection);
      return db.copy(text(`stream${kind}:${selection.sort}:${selection.order}`), settings, consume);
    },
  };
}

const SET_PASSWORD = readStatements('users.sql').get('set_password')!;

function pageOf([row]: readonly Row[]): Page {
  return { total: Number(row!.total), docs: (row!.docs as string | null) ?? '' };
}
