import type { Principal } from '../auth/principal.js';
import type { ColumnValue } from '../collection/column.js';
import type { StoredRecord } from '../collection/record.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import { batchWrites, type Write } from '../collection/write-batching.js';
import { creationOf } from '../collection/writes.js';
import { sharing } from '../telemetry/metrics.js';
import type { Caller } from './bound-conditions.js';
import { creationSql, creatorColumns } from './creation-sql.js';
import { changedFields } from './fields.js';
import type { Guarded, Ruled } from './guarded-collection.js';
import { bitsOf, grantsIn } from './rules.js';

/** A new record, and the bits of the grants that decide which of its fields its creator may read. */
interface Created {
  readonly stored: StoredRecord;
  readonly readable: number;
}

/**
 * Creates a record if one grant permits it with all its fields, and if its creator may read the records to which it refers: in one
 * statement with the records of other callers. Undefined: it was not created, and the checks of a single creation find out why.
 */
export type CreateRuled = (input: ValidatedInput, principal: Principal) => Promise<Created | undefined>;

/** Undefined: the records of the collection are checked and created one by one. `other` has the rules of other collections. */
export function openRuledCreations(
  { rules, reads: { db, statements } }: Ruled,
  other: (name: string) => Guarded,
): CreateRuled | undefined {
  const { resource, texts } = statements;
  // The statement would not know the numbers of the records. On Citus a function writes, whose statements have no such conditions.
  if (resource.numbers.length > 0 || !db.engine.writesMany) return undefined;
  // A creator does not choose the record that the service names.
  const isGiven = (field: string) => !resource.set.some((each) => each.field === field);
  const references = resource.references.flatMap(({ field, isList, to }) => {
    const target = isGiven(field) ? other(to).ruled?.reads.statements : undefined;
    return target ? [{ field, isList, target, statements: target.texts }] : [];
  });
  const create = batchWrites<Write, Created | undefined>(db, {
    text: creationSql(texts, references),
    columnNames: [
      ...[...resource.columns.values()].map(({ name }) => name),
      ...creatorColumns(texts, references),
    ],
    resultOf: ({ stored }, { readable }) => ({ stored, readable: Number(readable) }),
    writeSingle: async () => undefined,
    isForOne: true,
    isAlone: true,
    sharing: sharing(db.metrics, 'create with rules', resource.name),
  });

  /** The bits of the grants each of which permits to create a record with these fields. */
  const sufficient = (bits: number, input: ValidatedInput): number => {
    const usable = grantsIn(rules, bits);
    if (usable.every(({ fields }) => !fields)) return bits;
    const changed = changedFields(resource, input, undefined);
    return bitsOf(usable.filter(({ fields }) => !fields || changed.every((name) => fields.includes(name))));
  };

  return async (input, principal) => {
    // A password is stored in a transaction with its record.
    if (input.password !== undefined || input.passwordHash !== undefined || input.confirmedBy)
      return undefined;
    const caller = statements.callerOf(principal);
    const grants = sufficient(caller.grants.create, input);
    if (grants === 0) return undefined;
    const creation = creationOf(resource, input);
    const others = references.map(({ target }) => target.callerOf(principal));
    const columns = [
      ...creation.columns,
      ...given(caller, grants),
      ...others.flatMap((each) => given(each, 0)),
    ];
    // The claims of a token may be long.
    const more = others.reduce((sum, { key }) => sum + key.length, caller.key.length);
    return create({ ...creation, columns, more });
  };
}

/** The values of the columns that `creatorColumns` names. */
const given = ({ grants, values }: Caller, creating: number): ColumnValue[] => [
  creating,
  grants.read,
  ...values,
];
