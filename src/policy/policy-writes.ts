import { actorSetting, type Principal } from '../auth/principal.js';
import type { ColumnValue } from '../collection/column.js';
import { removalProblem } from '../collection/constraint-errors.js';
import type { StoredRecord } from '../collection/record.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import { batchWrites, type Write } from '../collection/write-batching.js';
import { preconditionArguments, type WritePreconditions } from '../collection/write-preconditions.js';
import { creationOf, replacementOf } from '../collection/writes.js';
import type { JsonObject } from '../json.js';
import { sharing } from '../telemetry/instruments.js';
import { changedNames } from './column-mask.js';
import { bitsOf, grantsIn } from './policy.js';
import { callerColumns, changeSql, creationSql, removalSql } from './policy-sql.js';
import type { PolicyStore } from './policy-store.js';
import { type Caller, callerIn } from './row-filter.js';
import type { ScopedCollection } from './scoped-collection.js';

/** A written record, and the bits of the grants that decide which of its fields its caller may read. */
interface Written {
  readonly stored: StoredRecord;
  readonly readable: number;
}

/**
 * Writes of records by statements that have the access rules in them, together with those of other callers. Undefined: nothing was
 * written, and the checks before a single write find out why.
 */
export class PolicyWrites {
  readonly #references;
  readonly #insert;
  readonly #update;
  readonly #removal: string;

  /** `other` has the rules of other collections. */
  constructor(
    readonly store: PolicyStore,
    other: (name: string) => ScopedCollection,
  ) {
    const { db, sql } = store;
    const { resource } = store.policy;
    // A caller does not choose the record that the service names.
    const isGiven = (field: string) => !resource.set.some((each) => each.field === field);
    const references = resource.references.flatMap(({ field, isList, to }) => {
      const target = isGiven(field) ? other(to).store : undefined;
      return target ? [{ field, isList, policy: target.policy, sql: target.sql }] : [];
    });
    const columnNames = [
      ...[...resource.columns.values()].map(({ name }) => name),
      ...callerColumns(sql, references),
    ];
    const writing = (text: string, operation: string, isAlone: boolean) =>
      batchWrites<Write, Written | undefined>(db, {
        text,
        columnNames,
        resultOf: ({ stored }, { readable }) => ({ stored, readable: Number(readable) }),
        writeSingle: async () => undefined,
        isForOne: true,
        isAlone,
        sharing: sharing(db.metrics, operation, resource.name),
      });
    this.#references = references;
    this.#insert = writing(creationSql(sql, references), 'create with rules', true);
    this.#update = writing(changeSql(sql, references), 'replace with rules', false);
    this.#removal = removalSql(sql);
  }

  /** Creates a record if one grant permits it with all its fields, and if its creator may read the records to which it refers. */
  async create(input: ValidatedInput, principal: Principal): Promise<Written | undefined> {
    const { resource } = this.store.policy;
    // The statement would not know the numbers of the record.
    if (resource.numbers.length > 0) return undefined;
    const write = this.#asCaller('create', creationOf(resource, input), input, principal);
    return write && this.#insert(write);
  }

  /** Replaces a record of this version if one grant permits all that changes, and the caller may read the records to which it refers. */
  async replace(
    { id, version }: Pick<StoredRecord, 'id' | 'version'>,
    before: JsonObject,
    input: ValidatedInput,
    principal: Principal,
  ): Promise<Written | undefined> {
    // A reference that the caller may not read is no known one, whether it is the present one or not.
    if (this.#references.some(({ field }) => input.unseen?.includes(field))) return undefined;
    const write = this.#asCaller('update', replacementOf(id, version, input), input, principal, before);
    return write && this.#update(write);
  }

  /** Deletes a record if the caller may read and delete it, and it fulfils the preconditions. */
  async remove(
    id: string,
    preconditions: WritePreconditions,
    principal: Principal,
    actor: string | undefined,
  ): Promise<true | undefined> {
    const { db, policy } = this.store;
    const { grants, values } = callerIn(policy, principal);
    if (grants.delete === 0 || grants.read === 0) return undefined;
    const by = [actorSetting(actor), grants.read, grants.delete, ...values];
    try {
      const removed = await db.run(this.#removal, [id, ...preconditionArguments(preconditions), ...by]);
      return removed.length > 0 ? true : undefined;
    } catch (error) {
      throw removalProblem(error, policy.resource) ?? error;
    }
  }

  /** A write with the columns of its caller; undefined: the caller has no grant for it, or a statement alone cannot write it. */
  #asCaller(
    verb: 'create' | 'update',
    write: Write,
    input: ValidatedInput,
    principal: Principal,
    before?: JsonObject,
  ): Write | undefined {
    // A password is stored in a transaction with its record.
    if (input.password !== undefined || input.passwordHash !== undefined || input.confirmedBy)
      return undefined;
    const caller = callerIn(this.store.policy, principal);
    const grants = this.#sufficient(caller.grants[verb], input, before);
    if (grants === 0) return undefined;
    const others = this.#references.map(({ policy }) => callerIn(policy, principal));
    const columns = [...write.columns, ...given(caller, grants), ...others.flatMap((each) => given(each, 0))];
    // The claims of a token may be long.
    const more = others.reduce((sum, { key }) => sum + key.length, caller.key.length);
    return { ...write, columns, more };
  }

  /** The bits of the grants each of which permits a write of these fields. */
  #sufficient(bits: number, input: ValidatedInput, before: JsonObject | undefined): number {
    const { policy } = this.store;
    const usable = grantsIn(policy, bits);
    if (usable.every(({ fields }) => !fields)) return bits;
    const changed = changedNames(policy.resource, input, before);
    return bitsOf(usable.filter(({ fields }) => !fields || changed.every((name) => fields.includes(name))));
  }
}

/** The values of the columns that `callerColumns` names. */
const given = ({ grants, values }: Caller, writing: number): ColumnValue[] => [
  writing,
  grants.read,
  ...values,
];
