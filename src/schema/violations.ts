import { createHash } from 'node:crypto';
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

/** A stored record that violates its declaration. */
export interface Violation {
  readonly id: string;
  /** The rules that it violates: at least one. */
  readonly rules: readonly BrokenRule[];
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
    const { id, rules, isDuplicate } = violation;
    if (isDuplicate) duplicates++;
    if (examples.length < MAX_EXAMPLES) examples.push(`${id}: ${rules[0]!.path} ${rules[0]!.message}`);
  }
  return { collection: check.resource.name, records, violating, duplicates, examples };
}

/** For each record what it violates, or undefined; and again each record with a value that an earlier one has. */
export async function* checkRecords(
  run: Run,
  { resource, table, works, tableOf }: RecordCheck,
): AsyncGenerator<Violation | undefined> {
  const check = compileCheck(resource);
  const { references, unique } = resource;
  if (unique.length > 0) await run(CREATE, []);
  try {
    for await (const documents of documentsOf(run, table)) {
      const records = documents.map(({ doc }) => recordAfter(works, JSON.parse(doc) as JsonObject));
      const danglingPlaces = await danglingIn(run, references, records, tableOf);
      const dangling = records.map((record) =>
        references.flatMap((each) => danglingPlaces(record, each).map((place) => ({ ...each, place }))),
      );
      const failures = records.map((record, at) => brokenRules(resource, check, record, dangling[at]!));
      const values = records.flatMap((record, at) => {
        const missing = dangling[at]!.map(({ field }) => field);
        return uniqueValues(resource, record, missing).map((each) => ({ ...each, id: documents[at]!.id }));
      });
      const repeated = await repeatedValues(run, values);
      for (const [at, { id }] of documents.entries()) {
        const rules = failures[at]!;
        yield rules.length > 0 ? { id, rules, isDuplicate: false } : undefined;
        const found = repeated.get(id);
        if (rules.length > 0 || !found) continue;
        const [field, ...more] = unique[found.key]!.fields;
        const message =
          more.length === 0
            ? `must be unique, and record ${found.first} has the value, too`
            : `must be unique together with ${more.join(' and ')}, and record ${found.first} has the values, too`;
        yield { id, rules: [{ path: `/${escapeToken(field!)}`, message }], isDuplicate: true };
      }
    }
  } finally {
    if (unique.length > 0) await run(`drop table ${TABLE}`, []);
  }
}

/** The rules of a collection that a record violates, each place once. */
function brokenRules(
  resource: Resource,
  check: (input: Json) => unknown,
  record: JsonObject,
  dangling: readonly { readonly field: string; readonly singular: string; readonly place: string }[],
): readonly BrokenRule[] {
  const found = failuresOf(check, record).map(({ path, message }): BrokenRule => ({ path, message }));
  const more = dangling.map(({ field, singular, place }) => ({
    path: `/${escapeToken(field)}${place}`,
    message: `is the id of no ${singular}`,
  }));
  for (const rule of [...tooLong(resource, record), ...more])
    if (!found.some(({ path }) => path === rule.path || path.startsWith(`${rule.path}/`))) found.push(rule);
  return found;
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

/** A value of a unique key in a stored record; `key`: the position of the key in its resource. */
interface UniqueValue {
  readonly key: number;
  /** Equal values have equal digests. */
  readonly digest: string;
}

function uniqueValues(
  { unique, columns }: Resource,
  record: JsonObject,
  missing: readonly string[],
): UniqueValue[] {
  return unique.flatMap(({ fields }, key) => {
    const own = fields.map((field) =>
      missing.includes(field) ? null : (storedValue(columns.get(field)!, member(record, field)) ?? null),
    );
    const digest = createHash('sha256')
      .update(JSON.stringify(own.map(String)))
      .digest('hex');
    return own.includes(null) ? [] : [{ key, digest }];
  });
}

/** The unique values of the records before, so that the memory of the process does not limit their number. */
const TABLE = 'pg_temp.plinth_unique_values';
const CREATE =
  'create temporary table plinth_unique_values (key integer, digest text, id uuid, primary key (key, digest))';

/** Notes values of records, and returns those that an earlier record has, by the ids of their records. */
async function repeatedValues(
  run: Run,
  values: readonly (UniqueValue & { readonly id: string })[],
): Promise<ReadonlyMap<string, { readonly key: number; readonly first: string }>> {
  if (values.length === 0) return new Map();
  const given = 'json_to_recordset($1::text::json) as given (key integer, digest text, id uuid)';
  const rows = JSON.stringify(values);
  await run(`insert into ${TABLE} select * from ${given} on conflict do nothing`, [rows]);
  const repeated = await run(
    `select distinct on (given.id) given.id, key, noted.id as first
      from ${given} join ${TABLE} as noted using (key, digest) where noted.id <> given.id order by given.id, key`,
    [rows],
  );
  return new Map(
    repeated.map(({ id, key, first }) => [String(id), { key: Number(key), first: String(first) }]),
  );
}
