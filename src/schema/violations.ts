import { MAX_INDEXED_BYTES, storedValue } from '../collection/column.js';
import type { Resource } from '../collection/resource.js';
import type { Run } from '../db/db.js';
import { type Failure, Problem } from '../errors/problem.js';
import { escapeToken, type Json, type JsonObject, member } from '../json.js';
import { compileCheck } from '../validation/validation.js';
import { danglingIn, documentsOf, type TableOf } from './document-work.js';
import { fieldsAfter } from './field-work.js';
import type { FieldWork } from './step.js';

/** Stored records that violate a declaration. */
export interface Violations {
  readonly collection: string;
  readonly records: number;
  readonly violating: number;
  /** How many of them have a value that must be unique and that an earlier record has. These cannot stay. */
  readonly duplicates: number;
  /** Some of the violating records: an id with its first failure. */
  readonly examples: readonly string[];
}

const MAX_EXAMPLES = 5;

/** The rules of a declaration for stored records, and the table of these. */
export interface RecordCheck {
  readonly resource: Resource;
  /** The table of the records in statements, which a step may rename. */
  readonly table: string;
  /** Work that precedes the check: the records count as they are after it. */
  readonly works: readonly FieldWork[];
  /** The tables of the collections that its references lead to, at the time of the check. */
  readonly tableOf: TableOf;
}

/** A rule that a stored record violates. */
export type BrokenRule = Pick<Failure, 'path' | 'message'>;

/** A stored record that violates its declaration, with the first rule that it violates. */
export interface Violation extends BrokenRule {
  readonly id: string;
  /** The other rules that it violates. */
  readonly others: readonly BrokenRule[];
  /** Whether it has a value that must be unique and that an earlier record has. */
  readonly isDuplicate: boolean;
}

/** Checks the stored records of a collection against its declaration, `maxRecords` at most. */
export async function findViolations(
  run: Run,
  check: RecordCheck,
  maxRecords = Number.POSITIVE_INFINITY,
): Promise<Violations> {
  const examples: string[] = [];
  let [records, violating, duplicates] = [0, 0, 0];
  for await (const violation of checkRecords(run, check)) {
    if (records >= maxRecords) break;
    if (!violation?.isDuplicate) records++;
    if (violation === undefined) continue;
    violating++;
    const { id, path, message, isDuplicate } = violation;
    if (isDuplicate) duplicates++;
    if (examples.length < MAX_EXAMPLES) examples.push(`${id}: ${path} ${message}`);
  }
  return { collection: check.resource.name, records, violating, duplicates, examples };
}

/** For each record what it violates, or undefined; afterwards the records with a value that an earlier one has. */
export async function* checkRecords(run: Run, check: RecordCheck): AsyncGenerator<Violation | undefined> {
  const values = check.resource.unique.length > 0 ? await UniqueValues.open(run) : undefined;
  try {
    yield* checkRules(run, check, values);
    if (values)
      for await (const { id, key, first } of values.repeated()) {
        const [field, ...more] = check.resource.unique[key]!.fields;
        yield {
          id,
          path: `/${escapeToken(field!)}`,
          message:
            more.length === 0
              ? `must be unique, and record ${first} has the value, too`
              : `must be unique together with ${more.join(' and ')}, and record ${first} has the values, too`,
          others: [],
          isDuplicate: true,
        };
      }
  } finally {
    await values?.close();
  }
}

/** Checks each record alone, and collects what must be unique. */
async function* checkRules(
  run: Run,
  { resource, table, works, tableOf }: RecordCheck,
  values: UniqueValues | undefined,
): AsyncGenerator<Violation | undefined> {
  const check = compileCheck(resource);
  const { references, unique } = resource;
  for await (const documents of documentsOf(run, table)) {
    const records = documents.map(({ doc }) => recordAfter(works, JSON.parse(doc) as JsonObject));
    const danglingPlaces = await danglingIn(run, references, records, tableOf);
    const danglingOf = (record: JsonObject) =>
      references.flatMap((each) => danglingPlaces(record, each).map((place) => ({ ...each, place })));
    const failures = records.map((record): readonly BrokenRule[] => {
      const dangling = danglingOf(record).map(({ field, singular, place }) => ({
        path: `/${escapeToken(field)}${place}`,
        message: `is the id of no ${singular}`,
      }));
      const found: BrokenRule[] = [...failuresOf(check, record)];
      for (const rule of [...tooLong(resource, record), ...dangling])
        if (!found.some(({ path }) => path === rule.path || path.startsWith(`${rule.path}/`)))
          found.push(rule);
      return found;
    });
    await values?.add(
      records.flatMap((record, at) => {
        const missing = danglingOf(record).map(({ field }) => field);
        const storedIn = (field: string) =>
          missing.includes(field)
            ? null
            : (storedValue(resource.columns.get(field)!, member(record, field)) ?? null);
        return unique.flatMap(({ fields }, key): UniqueValue[] => {
          const own = fields.map(storedIn);
          if (own.some((each) => each === null)) return [];
          const value = own.length === 1 ? String(own[0]) : JSON.stringify(own);
          return [{ key, value, id: documents[at]!.id, isInvalid: failures[at]!.length > 0 }];
        });
      }),
    );
    for (const [at, { id }] of documents.entries()) {
      const [first, ...others] = failures[at]!;
      yield first && { id, path: first.path, message: first.message, others, isDuplicate: false };
    }
  }
}

/** The texts of a record that are too long for the indexes of their fields. */
const tooLong = ({ columns }: Resource, record: JsonObject): BrokenRule[] =>
  [...columns]
    .filter(
      ([field, column]) =>
        column.type !== 'jsonb' && storedValue(column, member(record, field)) === undefined,
    )
    .map(([field]) => ({
      path: `/${escapeToken(field)}`,
      message: `must not have more than ${MAX_INDEXED_BYTES} bytes`,
    }));

function recordAfter(works: readonly FieldWork[], stored: JsonObject): JsonObject {
  let record = stored;
  for (const work of works) {
    const after = fieldsAfter(work, record);
    if (after) record = Object.fromEntries(after);
  }
  return record;
}

function failuresOf(check: (input: Json) => unknown, record: Json): readonly Failure[] {
  try {
    check(record);
    return [];
  } catch (error) {
    if (error instanceof Problem && error.code === 'VALIDATION_ERROR') return error.more.details as Failure[];
    throw error;
  }
}

/** The value of a unique key in a stored record; of several fields their values as JSON. */
interface UniqueValue {
  /** The position of the key in its resource. */
  readonly key: number;
  /** The text of equal values is equal, as it is in the column. */
  readonly value: string;
  readonly id: string;
  /** Whether the record violates another rule, which is reported in place of a repeated value. */
  readonly isInvalid: boolean;
}

/** A record with a value that an earlier record has. */
interface RepeatedValue {
  readonly key: number;
  readonly id: string;
  /** The first record with the value. */
  readonly first: string;
}

const TABLE = 'pg_temp.plinth_unique_values';
const MAX_ROWS = 1000;

/**
 * Collects values of unique fields in a temporary table, so that the memory of the process does not limit their number. Only
 * the database compares them.
 */
class UniqueValues {
  private constructor(readonly run: Run) {}

  static async open(run: Run): Promise<UniqueValues> {
    await run(
      `create temporary table plinth_unique_values (key integer, value text, id uuid, invalid boolean)`,
      [],
    );
    return new UniqueValues(run);
  }

  async add(values: readonly UniqueValue[]): Promise<void> {
    if (values.length === 0) return;
    const rows = values.map(
      ({ key, value, id, isInvalid }): Json => ({ key, value, id, invalid: isInvalid }),
    );
    await this.run(
      `insert into ${TABLE} select * from json_to_recordset($1::text::json) as (key integer, value text, id uuid, invalid boolean)`,
      [JSON.stringify(rows)],
    );
  }

  /** The repeated values in the order of the ids of their records. */
  async *repeated(): AsyncGenerator<RepeatedValue> {
    await this.run(
      `create temporary table plinth_repeated_values as
        select distinct on (id) id, key, first
        from (
          select *, first_value(id) over (partition by key, value collate "C" order by id) as first
          from ${TABLE}
        ) as compared
        where id <> first and not invalid
        order by id, key`,
      [],
    );
    try {
      let after = '00000000-0000-0000-0000-000000000000';
      for (;;) {
        const rows = await this.run(
          `select id, key, first from pg_temp.plinth_repeated_values where id > $1 order by id limit ${MAX_ROWS}`,
          [after],
        );
        if (rows.length === 0) return;
        yield* rows as unknown as RepeatedValue[];
        after = String(rows.at(-1)!.id);
      }
    } finally {
      await this.run('drop table pg_temp.plinth_repeated_values', []);
    }
  }

  async close(): Promise<void> {
    await this.run(`drop table ${TABLE}`, []);
  }
}
