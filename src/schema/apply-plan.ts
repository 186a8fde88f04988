import type { Resource } from '../collection/resource.js';
import type { Run } from '../db/db.js';
import type { SchemaConnection } from '../db/schema-connection.js';
import type { Failure } from '../errors/problem.js';
import { Problem } from '../errors/problem.js';
import type { Json, JsonObject } from '../json.js';
import { compileCheck } from '../validation/validation.js';
import { danglingIn, type TableOf } from './dangling.js';
import { documentsOf, workOnDocuments } from './document-work.js';
import { fieldsAfter } from './field-steps.js';
import type { FieldWork, SchemaStep } from './step.js';

/** Stored records that violate a declaration. */
export interface Violations {
  readonly collection: string;
  readonly records: number;
  readonly violating: number;
  /** Some of the violating records: an id with its first failure. */
  readonly examples: readonly string[];
}

const MAX_EXAMPLES = 5;
/** How long patterns of one stored record may take: no request waits for them. */
const PATTERN_MS = 5000;

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

/** A stored record that violates its declaration. */
export interface Violation {
  readonly id: string;
  readonly path: string;
  readonly message: string;
}

/** Checks the stored records of a collection against its declaration. */
export async function findViolations(run: Run, check: RecordCheck): Promise<Violations> {
  const examples: string[] = [];
  let [records, violating] = [0, 0];
  for await (const violation of checkRecords(run, check)) {
    records++;
    if (violation === undefined) continue;
    violating++;
    const { id, path, message } = violation;
    if (examples.length < MAX_EXAMPLES) examples.push(`${id}: ${path} ${message}`);
  }
  return { collection: check.resource.name, records, violating, examples };
}

/** For each record its first violation, or undefined. */
export async function* checkRecords(
  run: Run,
  { resource, table, works, tableOf }: RecordCheck,
): AsyncGenerator<Violation | undefined> {
  const check = compileCheck(resource, PATTERN_MS);
  const { references } = resource;
  for await (const documents of documentsOf(run, table)) {
    const records = documents.map(({ doc }) => recordAfter(works, JSON.parse(doc) as JsonObject));
    const isDangling = await danglingIn(run, references, records, tableOf);
    for (const [at, { id }] of documents.entries()) {
      const record = records[at]!;
      const dangling = references.find((reference) => isDangling(record, reference));
      const failure =
        failureOf(check, record) ??
        (dangling && { path: `/${dangling.field}`, message: `is the id of no ${dangling.singular}` });
      yield failure && { id, path: failure.path, message: failure.message };
    }
  }
}

function recordAfter(works: readonly FieldWork[], stored: JsonObject): JsonObject {
  let record = stored;
  for (const work of works) {
    const after = fieldsAfter(work, record);
    if (after) record = Object.fromEntries(after);
  }
  return record;
}

function failureOf(check: (input: Json) => unknown, record: Json): Failure | undefined {
  try {
    check(record);
    return undefined;
  } catch (error) {
    if (error instanceof Problem && error.code === 'VALIDATION_ERROR')
      return (error.more.details as Failure[])[0];
    throw error;
  }
}

/** Runs one step. `resource`: the collection of its work on documents. */
export async function runStep(
  connection: SchemaConnection,
  step: SchemaStep,
  resource: Resource | undefined,
): Promise<void> {
  if (step.work) await workOnDocuments(connection.run, step.work, resource!);
  if (step.isConcurrent) for (const text of step.sql) await connection.run(text, []);
  else if (step.sql.length > 0) await connection.transaction(step.sql);
}
