import { openReads, type Reads } from '../collection/reads.js';
import type { Resource } from '../collection/resource.js';
import { isTemplated, Statements } from '../collection/sql-templates.js';
import {
  compileInput,
  type Origin,
  type Present,
  type ValidatedInput,
} from '../collection/validated-input.js';
import { openWrites, type Writes } from '../collection/writes.js';
import type { Db, Run } from '../db/db.js';
import type { Json } from '../json.js';
import { PLAIN_QUERY } from './extended-query.js';
import { openQueries, type Queries } from './queries.js';

/**
 * An open collection. With a `run`, statements run in its transaction.
 */
export interface Collection extends Reads, Writes, Queries {
  readonly resource: Resource;
  /** Throws 400 with every failure, or 422 for a reference to a missing record. */
  check(input: Json | undefined, origin?: Origin, present?: Present): ValidatedInput;
  /**
   * Locks records for the transaction of `run`, in the order of their ids; with `parent` only those of this parent.
   * Others are neither locked nor waited for.
   */
  lock(ids: readonly string[], parent: string | undefined, run: Run): Promise<void>;
  /** Whether a record belongs to this parent. In a transaction, it is locked if it does. */
  belongs(id: string, parent: string, run?: Run): Promise<boolean>;
}

/** Opens a declared collection, whose table fits the declaration. */
export function openCollection(db: Db, resource: Resource, tombstones: boolean): Collection {
  const statements = new Statements(resource, tombstones, db.engine);
  return {
    resource,
    check: compileInput(resource),
    ...openListing(db, resource, statements),
    ...openLocks(db, statements),
    ...openWrites(db, resource, statements),
  };
}

/** The same collection, read from a replica. */
export function onReplica(collection: Collection, db: Db, tombstones: boolean): Collection {
  const { resource } = collection;
  return { ...collection, ...openListing(db, resource, new Statements(resource, tombstones, db.engine)) };
}

/** Reads and queries. A list without a statement of its own is read as a query. */
function openListing(db: Db, resource: Resource, statements: Statements): Reads & Queries {
  const reads = openReads(db, resource.name, statements);
  const queries = openQueries(db, resource);
  return {
    ...reads,
    ...queries,
    page: async (selection, limit, offset, run) => {
      if (isTemplated(selection)) return reads.page(selection, limit, offset, run);
      const { total, ...records } = await queries.query(PLAIN_QUERY, selection, { limit, offset }, run);
      return { ...records, total: total! };
    },
    stream: (selection, consume) =>
      isTemplated(selection)
        ? reads.stream(selection, consume)
        : queries.streamMatching(PLAIN_QUERY, selection, consume),
  };
}

function openLocks(db: Db, statements: Statements): Pick<Collection, 'lock' | 'belongs'> {
  return {
    lock: async (ids, parent, run) => {
      const list = `{${ids.join(',')}}`;
      if (parent === undefined) await run(statements.of('lock'), [list]);
      else await run(statements.of('lock_owned'), [list, parent]);
    },
    belongs: async (id, parent, run) => {
      const found = run
        ? await run(statements.of('lock_owned'), [`{${id}}`, parent])
        : await db.run(statements.of('owned'), [id, parent]);
      return found.length > 0;
    },
  };
}
