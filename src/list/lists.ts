import type { Readable } from 'node:stream';
import { documentsIn } from '../collection/document.js';
import type { Resource } from '../collection/resource.js';
import { createBatcher, type RunBatch } from '../db/batcher.js';
import { databaseErrorOf, STATEMENT_TIMEOUT } from '../db/database-errors.js';
import type { Db, Row, Run } from '../db/db.js';
import { foreignCursor, invalidQuery, queryTimeout } from '../errors/input-errors.js';
import type { Json, JsonObject } from '../json.js';
import { sharing } from '../telemetry/instruments.js';
import { readableParts, readCallersPages } from './callers-pages.js';
import { type Access, type ExpressedSelection, hidesFields } from './condition.js';
import { excerptHtml, excerptSql } from './excerpt-sql.js';
import { groupSql } from './group-sql.js';
import { isBackward } from './keyset.js';
import type { ListRequest, PageRequest, SliceRequest } from './list-request.js';
import { type ListStatement, ListStatements } from './list-sql.js';
import { TOO_LARGE } from './page-sql.js';
import { type GroupRequest, MAX_GROUPS } from './read-groups.js';

/** A page of a list. */
export interface Page {
  /** The row that has been read: one for all requests that share its statement. */
  readonly row: Row;
  /** The number of records that are selected; undefined unless the request counts them. */
  readonly total: number | undefined;
  /** Undefined: the documents are too large for one text. */
  readonly documents: readonly string[] | undefined;
  /** The ids of the records, whose documents are too large for one text. */
  readonly ids: readonly string[];
  /** Whether there are more records in the direction of reading; of a numbered page without a total, there may be. */
  readonly hasMore: boolean;
  /** The keys of the first and of the last record, as cursors contain them; undefined: there are none. */
  readonly bounds: { readonly first: string; readonly last: string } | undefined;
}

/** The groups of a list: their names are those of the keys and the aggregates. */
export interface Groups {
  readonly groups: readonly JsonObject[];
  /** Whether there are more than the request asks for. */
  readonly hasMore: boolean;
}

/** Reads the lists of a collection. With a `run`, a statement runs in its transaction; otherwise requests may share one. */
export interface Lists {
  page(list: PageRequest, run?: Run): Promise<Page>;
  groups(request: GroupRequest, run?: Run): Promise<Groups>;
  /** The records of a slice, as those of a numbered page with a total. */
  slice(request: SliceRequest, run?: Run): Promise<Page>;
  /** Passes the documents of all that a list selects to `consume`. */
  stream(list: ListRequest, consume: (rows: Readable) => Promise<void>, caller?: string): Promise<void>;
  /** The parts of fields in which records have the words of a search, as HTML, by the ids of these records. */
  excerpts(search: string, ids: readonly string[], run?: Run): Promise<ReadonlyMap<string, JsonObject>>;
  /** The ids of what is selected, by id, at most `limit`. */
  ids(selection: ExpressedSelection, limit: number, run?: Run): Promise<string[]>;
  /**
   * The documents of the records whose column has one of these ids, at most `limit` for each, separated by commas; undefined:
   * the documents are too large for one response.
   */
  referring(
    column: string,
    ids: readonly string[],
    limit: number,
    run?: Run,
  ): Promise<ReadonlyMap<string, string> | undefined>;
  /** How many records have one of these ids in one of the columns, by the id. Ids of no records are absent. */
  referringCounts(
    columns: readonly string[],
    ids: readonly string[],
    run?: Run,
  ): Promise<ReadonlyMap<string, number>>;
  /** The lists of the records and fields that a caller may read. */
  within(access: Access): Lists;
}

/** A value of a cursor that the database cannot read is none of this service. Conditions have been read before. */
function cursorError(error: unknown): never {
  throw /^22/.test(databaseErrorOf(error)?.code ?? '') ? foreignCursor() : error;
}

function groupError(error: unknown): never {
  const { code = '' } = databaseErrorOf(error) ?? {};
  if (code === '22003') throw invalidQuery('aggregate', 'has a sum or an average that is beyond doubles');
  const isNoTime = code === '22007' || code === '22008';
  throw isNoTime ? invalidQuery('group', 'concerns stored values that are no times') : error;
}

/** Requests for the same page share a statement while it waits. */
const PAGES = {
  max: 1,
  inFlight: 2,
  waiting: 2000,
  // Neither a statement nor a value contains U+0000.
  keyOf: ({ text, args }: ListStatement) => `${text}\0${args.join('\0')}`,
};

export const openLists = (db: Db, resource: Resource): Lists => listsOf(openStatements(db, resource));

/** The statements of a collection's lists, which callers share. */
function openStatements(db: Db, resource: Resource) {
  const statements = new ListStatements(resource, db.engine);
  const share = (operation: string) => sharing(db.metrics, operation, resource.name);
  const [searches, queries] = [share('search'), share('query')];
  const short = createBatcher<ListStatement, readonly Row[]>(
    { ...PAGES, sharing: share('page') },
    async ([statement]) => [await db.run(statement!.text, statement!.args)],
  );
  const read = async (statement: ListStatement, run: Run | undefined): Promise<readonly Row[]> => {
    const { text, args, cost } = statement;
    try {
      if (run) return await run(text, args);
      if (cost === 'short') return await short(statement);
      return await (cost === 'search' ? db.search(text, args, searches) : db.query(text, args, queries));
    } catch (error) {
      // The conditions of a request or of a caller may take long.
      const isTimeout = cost === 'query' && databaseErrorOf(error)?.code === STATEMENT_TIMEOUT;
      throw isTimeout ? queryTimeout() : error;
    }
  };
  const ofText = new Map<string, (page: ListStatement) => Promise<Row | undefined>>();
  /** Undefined: the page needs a statement of its own. */
  const ofCaller = (page: ListStatement): Promise<Row | undefined> => {
    const { text } = page;
    const readAll: RunBatch<ListStatement, Row | undefined> = (pages, settle) =>
      readCallersPages(db, text, pages, settle);
    // While two statements are in flight, the pages that arrive wait for the next one.
    const known = ofText.get(text) ?? createBatcher({ ...PAGES, max: 32, sharing: share('page') }, readAll);
    ofText.set(text, known);
    return known(page);
  };
  /** Callers with more, or larger, records than a shared statement reads. */
  const large = new WeakSet<Access>();
  return { db, statements, read, ofCaller, large };
}

/** The lists of the records and fields that there are for a caller; undefined: of all. */
function listsOf(opened: ReturnType<typeof openStatements>, access?: Access): Lists {
  const { db, statements, read, ofCaller, large } = opened;
  const { resource } = statements;
  const within = <T extends { readonly selection: ExpressedSelection }>(list: T): T =>
    access ? { ...list, selection: { ...list.selection, access } } : list;
  const page = async (given: PageRequest, run?: Run): Promise<Page> => {
    const list = within(given);
    const { access: own } = list.selection;
    const statement = statements.page(list, own && !run && !large.has(own));
    const isShared = statement.cost === 'callers';
    const explain = list.part.kind === 'keyset' && list.part.position ? cursorError : undefined;
    const row = isShared ? await ofCaller(statement) : (await read(statement, run).catch(explain))[0]!;
    if (!row) {
      large.add(own!);
      return page(given);
    }
    const found = pageOf(row, list.counts ? Number(row.total) : undefined, list.part);
    if (!own || !isShared || !hidesFields(own)) return found;
    // Callers with other fields may share the row.
    return { ...found, row: { ...row }, documents: readableParts(found.documents!, own) };
  };
  return {
    within: (other) => listsOf(opened, other),
    page,
    groups: async (request, run) => {
      const statement = groupSql(resource, within(request), db.engine);
      const rows = await read({ ...statement, cost: 'query' }, run).catch(groupError);
      const { keys, aggregates, limit = MAX_GROUPS } = request;
      const names = [...keys, ...aggregates].map(({ name }) => name);
      const groups = rows
        .slice(0, limit)
        .map((row) => Object.fromEntries(names.map((name, at) => [name, row[`value_${at}`] as Json])));
      return { groups, hasMore: rows.length > limit };
    },
    slice: async (request, run) => {
      const [row] = await read(statements.slice(within(request)), run);
      return pageOf(row!, Number(row!.total));
    },
    stream: async (list, consume, caller) => {
      const { text, settings } = statements.stream(within(list));
      try {
        await db.copy(text, settings, consume, caller);
      } catch (error) {
        throw databaseErrorOf(error)?.code === STATEMENT_TIMEOUT ? queryTimeout() : error;
      }
    },
    excerpts: async (search, ids, run) => {
      const statement = excerptSql(resource, search, ids, access, db.engine);
      const rows = statement === undefined ? [] : await read({ ...statement, cost: 'query' }, run);
      return new Map(rows.map((row) => [String(row.id), excerptsIn(resource, row)]));
    },
    ids: async (selection, limit, run) =>
      (await read(statements.ids(within({ selection }).selection, limit), run)).map(({ id }) => String(id)),
    referringCounts: async (columns, ids, run) => {
      const rows = await read(statements.referringCounts(columns, ids, access), run);
      return new Map(rows.map(({ parent, total }) => [String(parent), Number(total)]));
    },
    referring: async (column, ids, limit, run) => {
      const rows = await read(statements.referring(column, ids, limit, access), run);
      if (rows[0]?.docs === TOO_LARGE) return undefined;
      return new Map(rows.map(({ parent, docs }) => [String(parent), String(docs)]));
    },
  };
}

function excerptsIn({ words }: Resource, row: Row): JsonObject {
  const found = words.map(
    (field, at) => [field, excerptHtml(row[`excerpt_${at}`] as string | null)] as const,
  );
  return Object.fromEntries(found.flatMap(([field, html]) => (html === undefined ? [] : [[field, html]])));
}

/** `part`: absent for a slice. */
function pageOf(row: Row, total: number | undefined, part?: PageRequest['part']): Page {
  const text = (row.docs as string | null) ?? '';
  const isTooLarge = text.startsWith(TOO_LARGE);
  const { nearest = null, farthest = null } = row as { nearest?: string | null; farthest?: string | null };
  const isTurned = part?.kind === 'keyset' && isBackward(part.position);
  const [first, last] = isTurned ? [farthest, nearest] : [nearest, farthest];
  return {
    row,
    total,
    documents: isTooLarge ? undefined : documentsIn(text),
    ids: isTooLarge ? text.slice(TOO_LARGE.length).split(',') : [],
    hasMore: part?.kind === 'numbered' ? Number(row.rows) === part.limit : row.has_more === true,
    bounds: first === null || last === null ? undefined : { first, last },
  };
}
