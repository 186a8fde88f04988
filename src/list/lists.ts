import type { Readable } from 'node:stream';
import type { Resource } from '../collection/resource.js';
import { createBatcher } from '../db/batcher.js';
import { databaseErrorOf } from '../db/database-errors.js';
import type { Db, Row, Run } from '../db/db.js';
import { queryTimeout } from '../errors/input-errors.js';
import { sharing } from '../telemetry/metrics.js';
import type { Selection } from './filter.js';
import type { ListRequest, PageRequest } from './list-request.js';
import { type ListStatement, ListStatements, TOO_LARGE } from './list-sql.js';

/** A page of a list. */
export interface Page {
  /** The number of records that are selected; undefined unless the request counts them. */
  readonly total: number | undefined;
  /** The documents, one after the other (document.ts); undefined: they are too large for one text. */
  readonly text: string | undefined;
  /** The ids of the records, whose documents are too large for one text. */
  readonly ids: readonly string[];
  /** Whether there are more records in the direction of reading, if the page begins at a cursor. */
  readonly hasMore: boolean;
  /** The keys of the first and of the last record, as cursors contain them; undefined: there are none. */
  readonly bounds: { readonly first: string; readonly last: string } | undefined;
}

/** Reads the lists of a collection. With a `run`, a statement runs in its transaction; otherwise requests may share one. */
export interface Lists {
  page(list: PageRequest, run?: Run): Promise<Page>;
  /** Passes the documents of all that a list selects to `consume`. */
  stream(list: ListRequest, consume: (rows: Readable) => Promise<void>): Promise<void>;
  /** The ids of what is selected, by id, at most `limit`. */
  ids(selection: Selection, limit: number, run?: Run): Promise<string[]>;
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
}

/** SQLSTATE of a statement that took longer than it may. */
const TIMEOUT = '57014';

/** Requests for the same page share a statement while it waits. */
const PAGES = {
  max: 1,
  inFlight: 2,
  waiting: 2000,
  keyOf: ({ text, args }: ListStatement) => JSON.stringify([text, ...args]),
};

export function openLists(db: Db, resource: Resource): Lists {
  const statements = new ListStatements(resource, db.engine);
  const share = (operation: string) => sharing(db.metrics, operation, resource.name);
  const [searches, queries] = [share('search'), share('query')];
  const short = createBatcher<ListStatement, readonly Row[]>(
    { ...PAGES, sharing: share('page') },
    async ([statement]) => [await db.run(statement!.text, statement!.args)],
  );
  const send = (statement: ListStatement, run: Run | undefined): Promise<readonly Row[]> => {
    const { text, args, cost } = statement;
    if (run) return run(text, args);
    if (cost === 'short') return short(statement);
    return cost === 'search' ? db.search(text, args, searches) : db.query(text, args, queries);
  };
  const read = async (statement: ListStatement, run?: Run): Promise<readonly Row[]> => {
    try {
      return await send(statement, run);
    } catch (error) {
      const isTimeout = statement.cost === 'query' && databaseErrorOf(error)?.code === TIMEOUT;
      throw isTimeout ? queryTimeout() : error;
    }
  };
  return {
    page: async (list, run) => {
      const [row] = await read(statements.page(list), run);
      const { counts, part } = list;
      const total = counts ? Number(row!.total) : undefined;
      return part.kind === 'numbered'
        ? numberedPage(total, row!.docs as string | null)
        : keysetPage(total, row!, part.position?.side === 'before');
    },
    stream: (list, consume) => {
      const { text, settings } = statements.stream(list);
      return db.copy(text, settings, consume);
    },
    ids: async (selection, limit, run) =>
      (await read(statements.ids(selection, limit), run)).map(({ id }) => String(id)),
    referring: async (column, ids, limit, run) => {
      const rows = await read(statements.referring(column, ids, limit), run);
      if (rows[0]?.docs === TOO_LARGE) return undefined;
      return new Map(rows.map(({ parent, docs }) => [String(parent), String(docs)]));
    },
  };
}

function numberedPage(total: number | undefined, docs: string | null): Page {
  const rest = { total, hasMore: false, bounds: undefined };
  return docs?.startsWith(TOO_LARGE)
    ? { ...rest, text: undefined, ids: docs.slice(TOO_LARGE.length).split(',') }
    : { ...rest, text: docs ?? '', ids: [] };
}

function keysetPage(total: number | undefined, row: Row, isBackward: boolean): Page {
  const [nearest, farthest] = [row.nearest as string | null, row.farthest as string | null];
  const bounds =
    nearest === null || farthest === null
      ? undefined
      : isBackward
        ? { first: farthest, last: nearest }
        : { first: nearest, last: farthest };
  return {
    total,
    text: (row.docs as string | null) ?? '',
    ids: [],
    hasMore: row.has_more as boolean,
    bounds,
  };
}
