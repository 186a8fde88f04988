import type { Readable } from 'node:stream';
import { parseRecords } from '../collection/document.js';
import type { PageBounds } from '../collection/reads.js';
import type { StoredRecord } from '../collection/record.js';
import type { Resource } from '../collection/resource.js';
import type { Selection } from '../collection/sql-templates.js';
import { createBatcher } from '../db/batcher.js';
import { databaseErrorOf } from '../db/database-errors.js';
import type { Db, Row, Run } from '../db/db.js';
import { queryTimeout } from '../errors/query-errors.js';
import { sharing } from '../telemetry/metrics.js';
import type { ExtendedQuery } from './extended-query.js';
import type { Condition } from './filter.js';
import type { KeysetQuery } from './keyset-query.js';
import { isPlain, keysetSql } from './keyset-sql.js';
import { type PageRecords, pageRecordsOf, TOO_LARGE } from './list-orders.js';
import { idsSql, pageSql, type QueryStatement, referringSql, streamSql } from './query-sql.js';

/** A page of a query. */
export type QueriedPage = PageRecords & {
  /** Undefined with `count=none`. */
  readonly total: number | undefined;
  readonly rows: number;
};

/** A page between cursors. */
export interface KeysetPage {
  /** Undefined unless the query counts. */
  readonly total: number | undefined;
  readonly records: readonly StoredRecord[];
  /** Whether there are more records in the direction of reading. */
  readonly hasMore: boolean;
  /** The keys of the first and of the last record, as cursors contain them; undefined: there are no records. */
  readonly bounds: { readonly first: string; readonly last: string } | undefined;
}

/** Queries a collection with statements that are composed for each request. With a `run`, in its transaction. */
export interface Queries {
  query(query: ExtendedQuery, selection: Selection, bounds: PageBounds, run?: Run): Promise<QueriedPage>;
  keysetPage(query: KeysetQuery, run?: Run): Promise<KeysetPage>;
  /** Passes all that a query selects to `consume`. */
  streamMatching(
    query: ExtendedQuery,
    selection: Selection,
    consume: (rows: Readable) => Promise<void>,
  ): Promise<void>;
  /** The ids of what matches, by id, at most `limit`. */
  matching(
    conditions: readonly Condition[],
    selection: Selection,
    limit: number,
    run?: Run,
  ): Promise<string[]>;
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
  keyOf: ({ text, args }: QueryStatement) => JSON.stringify([text, ...args]),
};

export function openQueries(db: Db, resource: Resource): Queries {
  const queries = sharing(db.metrics, 'query', resource.name);
  const pages = createBatcher<QueryStatement, readonly Row[]>(
    { ...PAGES, sharing: sharing(db.metrics, 'page', resource.name) },
    async ([query]) => [await db.run(query!.text, query!.args)],
  );
  const read = async ({ text, args }: QueryStatement, run?: Run): Promise<readonly Row[]> => {
    try {
      return await (run ? run(text, args) : db.query(text, args, queries));
    } catch (error) {
      throw databaseErrorOf(error)?.code === TIMEOUT ? queryTimeout() : error;
    }
  };
  return {
    query: async (query, selection, bounds, run) => {
      const [row] = await read(pageSql(resource, query, selection, bounds), run);
      return {
        total: row!.total === null ? undefined : Number(row!.total),
        rows: Number(row!.rows),
        ...pageRecordsOf(row!.docs as string | null),
      };
    },
    keysetPage: async (query, run) => {
      const statement = keysetSql(resource, query);
      const [row] = await (isPlain(query) && !run ? pages(statement) : read(statement, run));
      return keysetPageOf(row!, query.position?.side === 'before');
    },
    streamMatching: (query, selection, consume) => {
      const { text, settings } = streamSql(resource, query, selection, db.engine);
      return db.copy(text, settings, consume);
    },
    matching: async (conditions, selection, limit, run) =>
      (await read(idsSql(resource, conditions, selection, limit), run)).map(({ id }) => String(id)),
    referring: async (column, ids, limit, run) => {
      const rows = await read(referringSql(resource, column, ids, limit, db.engine), run);
      if (rows[0]?.docs === TOO_LARGE) return undefined;
      return new Map(rows.map(({ parent, docs }) => [String(parent), String(docs)]));
    },
  };
}

function keysetPageOf(row: Row, isBackward: boolean): KeysetPage {
  const [nearest, farthest] = [row.nearest as string | null, row.farthest as string | null];
  return {
    total: row.total === null ? undefined : Number(row.total),
    records: [...parseRecords(row.docs as string | null).records.values()],
    hasMore: row.has_more as boolean,
    bounds:
      nearest === null || farthest === null
        ? undefined
        : isBackward
          ? { first: farthest, last: nearest }
          : { first: nearest, last: farthest },
  };
}
