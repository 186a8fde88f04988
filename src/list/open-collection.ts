import { NO_PARENT } from '../collection/numbers.js';
import { openReads, type Reads } from '../collection/reads.js';
import type { Resource } from '../collection/resource.js';
import { Statements } from '../collection/sql-templates.js';
import {
  type BeforeWrite,
  compileInput,
  type Origin,
  type ValidatedInput,
} from '../collection/validated-input.js';
import { openWrites, type Writes } from '../collection/writes.js';
import type { Db, Run } from '../db/db.js';
import type { Json, JsonObject } from '../json.js';
import type { Access } from './condition.js';
import { type Lists, openLists } from './lists.js';

/** The writes of a record that a caller may make. */
export interface WritePermissions {
  readonly update: boolean;
  readonly remove: boolean;
}

/**
 * An open collection. With a `run`, statements run in its transaction.
 */
export interface Collection extends Reads, Writes, Lists {
  readonly resource: Resource;
  /** The records and fields that there are for the caller; undefined: all. */
  readonly access?: Access | undefined;
  /** Whether the access rules permit the caller to write a record. Absent: there are none. */
  writesOf?(id: string, run?: Run): Promise<WritePermissions>;
  /** Throws 400 with every failure, or 422 for a reference to a missing record. `caller`: the subject of the request. */
  check(input: Json | undefined, origin?: Origin, present?: BeforeWrite, caller?: string): ValidatedInput;
  /**
   * Decides whether the caller may create records, of which the first ones are decided: all, or those whose creation can change what
   * the others are permitted. Resolves to the error of each, undefined for a record that may be created. Absent: all may be. `known`:
   * fields whose references the caller need not be permitted to read.
   */
  creationErrors?(
    inputs: readonly ValidatedInput[],
    run: Run,
    known?: JsonObject,
  ): Promise<readonly unknown[]>;
  /** Locks records for the transaction of `run`, in the order of their ids. */
  lock(ids: readonly string[], run: Run): Promise<void>;
  /** Makes the transaction of `run` wait for others that create records of these parents, if these have numbers. */
  lockNumbers(parents: readonly string[], run: Run): Promise<void>;
  /** Makes the transaction of `run` wait for others with the key, and others for it. */
  lockKey(key: string, run: Run): Promise<void>;
}

/** Opens a declared collection, whose table fits the declaration. */
export function openCollection(db: Db, resource: Resource, tombstones: boolean): Collection {
  const statements = new Statements(resource, tombstones, db.engine);
  const reads = openReads(db, resource.name, statements);
  return {
    resource,
    check: compileInput(resource),
    ...reads,
    ...openLists(db, resource),
    ...openWrites(db, resource, statements, reads.get),
    lock: async (ids, run) => void (await run(statements.of('lock'), [`{${ids.join(',')}}`])),
    lockNumbers: async (parents, run) =>
      void (await run(statements.of('lock_numbers'), [`{${[NO_PARENT, ...parents].join(',')}}`])),
    lockKey: async (key, run) => void (await run(statements.of('lock_key'), [key])),
  };
}
