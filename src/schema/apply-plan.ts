import type { Resource } from '../collection/resource.js';
import type { Run } from '../db/db.js';
import type { SchemaConnection } from '../db/schema-connection.js';
import type { Failure } from '../errors/problem.js';
import { Problem } from '../errors/problem.js';
import type { Json } from '../json.js';
import { compileCheck } from '../validation/validation.js';
import { documentsOf, workOnDocuments } from './document-work.js';
import type { Step } from './step.js';

/** Stored records that violate a declaration. */
export interface Violations {
  readonly collection: string;
  readonly records: number;
  readonly violating: number;
  /** Some of them: an id with its first failure. */
  readonly examples: readonly string[];
}

const MAX_EXAMPLES = 5;

/** Checks the stored records of a collection against its declaration. */
export async function findViolations(run: Run, resource: Resource): Promise<Violations> {
  const check = compileCheck(resource);
  const examples: string[] = [];
  let [records, violating] = [0, 0];
  for await (const documents of documentsOf(run, resource.name))
    for (const { id, doc } of documents) {
      records++;
      const failure = failureOf(check, JSON.parse(doc) as Json);
      if (failure === undefined) continue;
      violating++;
      if (examples.length < MAX_EXAMPLES) examples.push(`${id}: ${failure.path} ${failure.message}`);
    }
  return { collection: resource.name, records, violating, examples };
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
  step: Step,
  resource: Resource | undefined,
): Promise<void> {
  if (step.work) await workOnDocuments(connection.run, step.work, resource!);
  if (step.isConcurrent) for (const text of step.sql) await connection.run(text, []);
  else if (step.sql.length > 0) await connection.transaction(step.sql);
}
