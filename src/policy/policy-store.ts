import { actorSetting, type Principal } from '../auth/principal.js';
import type { ColumnValue } from '../collection/column.js';
import { removalProblem } from '../collection/constraint-errors.js';
import { documentsIn } from '../collection/document.js';
import type { StoredRecord } from '../collection/record.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import { batchWrites, rowsText, type Write } from '../collection/write-batching.js';
import { preconditionArguments, type WritePreconditions } from '../collection/write-preconditions.js';
import { createBatcher } from '../db/batcher.js';
import type { Db, Run } from '../db/db.js';
import { padForImmediateWrite } from '../db/pool/prepared.js';
import { perRun } from '../db/shared-run.js';
import { arrayLiteral } from '../db/statements.js';
import type { JsonObject } from '../json.js';
import type { SymbolValues } from '../list/condition.js';
import { sharing } from '../telemetry/instruments.js';
import { changedNames } from './column-mask.js';
import { bitsOf, grantsIn, type Policy } from './policy.js';
import { callerColumns, PolicySql, writeSql } from './policy-sql.js';
import { type Caller, callerIn, givenReferences, referableGrants } from './row-filter.js';

/** A record, and the bits of the grants that hold for it, of those that a caller may use. */
export interface Held {
  readonly version: number;
  /** The whole document; undefined: it is large, and read by itself. */
  readonly doc: string | undefined;
  /** The grants that decide which fields the caller may read. */
  readonly read: number;
  readonly update: number;
  readonly remove: number;
}

/** The bits of the grants that hold for a record to be written, and of those that decide which fields its creator may read. */
export interface Examined {
  readonly mask: number;
  readonly readable: number;
}

/** A written record, and the bits of the grants that decide which of its fields its caller may read. */
interface Written {
  readonly stored: StoredRecord;
  readonly readable: number;
}

/** A record with a caller. */
interface Pair {
  readonly id: string;
  readonly caller: Caller;
  /** Whether the grants to change and to delete the record are examined as well. */
  readonly isWritten: boolean;
}

const READS = {
  max: 64,
  inFlight: 3,
  waiting: 20_000,
  gather: { max: 32, ms: 10 },
  keyOf: ({ id, caller, isWritten }: Pair) => `${id}${isWritten ? '+' : ''}${caller.key}`,
};

/**
 * Reads and writes records by statements that have a policy in them. Without a `run`, requests of several callers share a statement.
 * A write resolves to undefined if it wrote nothing: then the checks before a single write find out why.
 */
export class PolicyStore {
  readonly sql: PolicySql;
  readonly #columnNames: readonly string[];
  readonly #read;
  #writes: ReturnType<typeof openWrites> | undefined;

  /** `other` has the policies of other collections. */
  constructor(
    readonly db: Db,
    readonly policy: Policy,
    readonly other: (name: string) => { readonly store: PolicyStore },
  ) {
    const { resource } = policy;
    this.sql = new PolicySql(policy, db.engine);
    this.#columnNames = [...resource.columns.values()].map(({ name }) => name);
    const shared = { ...READS, sharing: sharing(db.metrics, 'read with rules', resource.name) };
    this.#read = perRun(db.run, (run) =>
      createBatcher<Pair, Held | undefined>(shared, (pairs) => this.#held(run, pairs)),
    );
  }

  /** A record for which a grant holds, of those to read it, or if it `isWritten` of any. Undefined: there is none for the caller. */
  held(
    id: string,
    principal: Principal,
    run: Run | undefined = this.db.run,
    isWritten = false,
  ): Promise<Held | undefined> {
    const pair = { id, caller: callerIn(this.policy, principal), isWritten };
    return this.#read(run)?.(pair) ?? this.#held(run, [pair]).then(([found]) => found);
  }

  /** The values of a caller for the symbols of the policy. */
  symbolValues(principal: Principal): SymbolValues {
    return callerIn(this.policy, principal).values;
  }

  async #held(run: Run, pairs: readonly Pair[]): Promise<(Held | undefined)[]> {
    const found = pairs.map((): Held | undefined => undefined);
    const read = async (some: readonly (readonly [Pair, number])[]) => {
      const grants = (['read', 'update', 'delete'] as const).map((verb) =>
        arrayLiteral(
          some.map(([{ caller, isWritten }]) => (isWritten || verb === 'read' ? caller.grants[verb] : 0)),
        ),
      );
      const values = this.policy.symbols.map(({ place }) =>
        arrayLiteral(some.map(([{ caller }]) => caller.values[place]!)),
      );
      const ids = padForImmediateWrite(arrayLiteral(some.map(([{ id }]) => id)));
      const [row] = await run(this.sql.held, [ids, ...grants, ...values]);
      for (const text of documentsIn((row!.records as string | null) ?? '')) {
        const [place, version, read, update, remove] = text.split(':', 5).map(Number) as Five;
        const doc = text.endsWith('}') ? text.slice(text.indexOf('{')) : undefined;
        found[some[place - 1]![1]] = { version, doc, read, update, remove };
      }
    };
    const all = pairs.map((pair, at) => [pair, at] as const);
    // On Citus a statement is of one caller.
    if (this.db.engine.correlates) await read(all);
    else {
      const keys = new Set(pairs.map(({ caller }) => caller.key));
      await Promise.all([...keys].map((key) => read(all.filter(([{ caller }]) => caller.key === key))));
    }
    return found;
  }

  /** The bits of the grants of a caller that hold for each of some records as they are to be written. */
  async examine(
    verb: 'create' | 'update',
    writes: readonly Write[],
    principal: Principal,
    run: Run = this.db.run,
  ): Promise<Examined[]> {
    const caller = callerIn(this.policy, principal);
    const own = given(caller, caller.grants[verb]);
    const rows = rowsText(
      writes.map((write) => ({
        ...write,
        stored: { ...write.stored, doc: '' },
        columns: [...write.columns, ...own],
      })),
      [...this.#columnNames, ...callerColumns(this.sql, [])],
    );
    const values = this.db.engine.correlates ? [] : caller.values.map((value) => arrayLiteral([value]));
    const found = writes.map((): Examined => ({ mask: 0, readable: 0 }));
    for (const { place, mask, readable } of await run(this.sql.examined(verb), [rows, ...values]))
      found[Number(place) - 1] = { mask: Number(mask), readable: Number(readable) };
    return found;
  }

  /**
   * Creates a record, or with `before` replaces it in the version before, if one grant permits all that changes, and if the caller may
   * read the records to which it refers. Undefined also if the caller has no grant, or a statement alone cannot write the record.
   */
  async write(
    write: Write,
    input: ValidatedInput,
    before: JsonObject | undefined,
    principal: Principal,
    run: Run | undefined,
  ): Promise<Written | undefined> {
    const { policy, db } = this;
    const verb = before ? 'update' : 'create';
    // A statement would not know the numbers of a new record. A password is stored in a transaction with its record.
    const isKnown = verb === 'update' || policy.resource.numbers.length === 0;
    if (!isKnown || input.password !== undefined || input.passwordHash !== undefined || input.confirmedBy)
      return undefined;
    const caller = callerIn(policy, principal);
    const grants = this.#sufficient(caller.grants[verb], input, before);
    if (grants === 0 || !db.engine.writesMany) return undefined;
    this.#writes ??= openWrites(this, this.#columnNames);
    const { references } = this.#writes;
    // A reference that the caller may not read is no known one, whether it is the present one or not.
    if (references.some(({ field }) => input.unseen?.includes(field))) return undefined;
    const others = references.map(({ reference, sql }) => {
      const readable = bitsOf(referableGrants(policy.resource, reference, sql.policy, principal));
      return { readable, ...callerIn(sql.policy, principal) };
    });
    const columns = [
      ...write.columns,
      ...given(caller, grants),
      ...others.flatMap((each) => given(each, 0, each.readable)),
    ];
    // The claims of a token may be long.
    const more = others.reduce((sum, { key }) => sum + key.length, caller.key.length);
    return this.#writes[verb](run)?.({ ...write, columns, more });
  }

  /** Deletes a record if the caller may read and delete it, and it fulfils the preconditions. */
  async remove(
    id: string,
    preconditions: WritePreconditions,
    principal: Principal,
    run: Run | undefined,
    actor: string | undefined,
  ): Promise<boolean> {
    const { db, policy, sql } = this;
    const { grants, values } = callerIn(policy, principal);
    // On Citus a function writes, whose statements have no such conditions.
    if (run || !db.engine.writesMany || grants.delete === 0 || grants.read === 0) return false;
    const by = [actorSetting(actor), grants.read, grants.delete, ...values];
    try {
      const args = [id, ...preconditionArguments(preconditions), ...by];
      return (await db.run(sql.removal, args)).length > 0;
    } catch (error) {
      throw removalProblem(error, policy.resource) ?? error;
    }
  }

  /** The bits of the grants each of which permits a write of these fields. */
  #sufficient(bits: number, input: ValidatedInput, before: JsonObject | undefined): number {
    const { policy } = this;
    const usable = grantsIn(policy, bits);
    if (usable.every(({ fields }) => !fields)) return bits;
    const changed = changedNames(policy.resource, input, before);
    return bitsOf(usable.filter(({ fields }) => !fields || changed.every((name) => fields.includes(name))));
  }
}

/** The statements that write records, by the transactions in which concurrent writes share them. */
function openWrites({ db, policy, sql, other }: PolicyStore, ownNames: readonly string[]) {
  const { resource } = policy;
  const references = givenReferences(resource).map((reference) => {
    const { field, isList, to } = reference;
    return { field, isList, reference, sql: other(to).store.sql };
  });
  const columnNames = [...ownNames, ...callerColumns(sql, references)];
  const writing = (verb: 'create' | 'update', operation: string, isAlone: boolean) => {
    const text = writeSql(sql, references, verb);
    return perRun(db.run, (run) =>
      batchWrites<Write, Written | undefined>(
        { run, engine: db.engine },
        {
          text,
          columnNames,
          resultOf: ({ stored }, { readable }) => ({ stored, readable: Number(readable) }),
          writeSingle: async () => undefined,
          isForOne: true,
          isAlone,
          sharing: sharing(db.metrics, operation, resource.name),
        },
      ),
    );
  };
  return {
    references,
    create: writing('create', 'create with rules', true),
    update: writing('update', 'replace with rules', false),
  };
}

type Five = [number, number, number, number, number];

/** The values of the columns that `callerColumns` names. */
const given = ({ grants, values }: Caller, writing: number, readable = grants.read): ColumnValue[] => [
  writing,
  readable,
  ...values,
];
