import type { Db, Run } from '../db/db.js';
import type { Json } from '../json.js';
import { openReads, type Reads } from './read-batching.js';
import type { Resource } from './resource.js';
import { Statements } from './sql-templates.js';
import { compileInput, type Origin, type ValidatedInput } from './validated-input.js';
import { openWrites, type Writes } from './writes.js';

/**
 * An open collection: its validation is compiled, and its statements fit the database's schema. With a `run`, statements
 * run in its transaction.
 */
export interface Collection extends Reads, Writes {
  readonly resource: Resource;
  /** Throws 400 with every failure, or 422 for a reference to a missing record. */
  check(input: Json | undefined, origin?: Origin): ValidatedInput;
  /**
   * Locks records for the transaction of `run`, in the order of their ids; with `parent` only those of this parent.
   * Others are neither locked nor waited for.
   */
  lock(ids: readonly string[], parent: string | undefined, run: Run): Promise<void>;
  /** Whether a record belongs to this parent. In a transaction, it is locked if it does. */
  belongs(id: string, parent: string, run?: Run): Promise<boolean>;
}

/** Opens a declared collection. Throws if a statement does not fit the schema. */
export async function openCollection(db: Db, resource: Resource, tombstones: boolean): Promise<Collection> {
  const statements = new Statements(resource, tombstones);
  const described = Promise.all(statements.describable().map((text) => db.describe(text)));
  described.catch(() => undefined); // thrown by the await below
  // Validation is compiled while PostgreSQL describes the statements.
  const check = compileInput(resource);
  await described;
  return {
    resource,
    check,
    ...openReads(db, resource.name, statements),
    ...openLocks(db, statements),
    ...openWrites(db, resource, statements),
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
