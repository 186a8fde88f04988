import { MAX_PAGE_BYTES } from '../collection/document.js';
import { knownProblem } from '../db/database-errors.js';
import type { Db, Run } from '../db/db.js';
import { invalid, invalidBody, pageTooLarge } from '../errors/input-errors.js';
import { badRequest } from '../errors/request-errors.js';
import { batchFailed } from '../errors/service-errors.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { type Action, METHODS, type Router } from '../http/router.js';
import { isObject, type Json, member } from '../json.js';
import type { HashedPassword } from '../passwords/password.js';
import { MAX_PASSWORDS } from '../passwords/password-queue.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { parseUuid } from '../uuid.js';
import { firstFailures } from '../validation/validation.js';
import { splitVersion } from '../versions/supported.js';
import { type BatchLimits, BatchResults } from './batch-results.js';
import { gathered } from './large-page.js';
import { type Operation, type OperationStep, pathOf, stepOf } from './operation-step.js';

export const BATCH_PATH = '/batch';
const MAX_OPERATIONS = 100;

/**
 * Runs up to 100 operations in one transaction, all or nothing. 200 with a reply for each, in order; or the problem of
 * the first that fails, with its index, and nothing is written. Each operation passes the same stages as a single request.
 * The permissions of all are checked first, then passwords are hashed, then the transaction begins and locks records.
 * `router` has every route except the batch.
 */
export function batch(
  db: Db,
  collections: readonly ScopedCollection[],
  router: Router,
  limits: BatchLimits,
): Action {
  const stepsOf = (request: Request): OperationStep[] =>
    readOperations(request.body?.value).map((operation, index) =>
      atOperation(index, () => {
        if (splitVersion(pathOf(operation)).path === BATCH_PATH)
          throw badRequest('A batch cannot contain a batch.');
        if (operation.headers['idempotency-key'] !== undefined)
          throw badRequest('An Idempotency-Key is for the whole batch.');
        const step = stepOf(operation, router, request);
        return { ...step, request: { ...step.request, passwordHashes: [request.passwordHashes?.[index]] } };
      }),
    );
  return {
    prepare: (request) => preparationOf(stepsOf(request), request),
    run: async (request) => {
      const permitted = stepsOf(request);
      if (request.run) return runAll(permitted, collections, request.run, limits);
      const preparation = preparationOf(permitted, request);
      const steps = preparation ? stepsOf(await preparation()) : permitted;
      return db.transaction((run) => runAll(steps, collections, run, limits));
    },
  };
}

/** Hashes the passwords of all operations, one after the other. Throws 400 for too many. */
function preparationOf(
  steps: readonly OperationStep[],
  whole: Request,
): (() => Promise<Request>) | undefined {
  const preparations = steps.map(({ action, request }) => action?.prepare?.(request));
  const count = preparations.filter((prepare) => prepare !== undefined).length;
  if (count === 0) return undefined;
  if (count > MAX_PASSWORDS.batch)
    throw invalidBody(
      `must not have more than ${MAX_PASSWORDS.batch} operations with a password`,
      'maxItems',
    );
  return async () => {
    const passwordHashes: (HashedPassword | undefined)[] = [];
    for (const [index, prepare] of preparations.entries()) {
      const prepared = prepare && (await atOperation(index, prepare));
      passwordHashes.push(prepared?.passwordHashes?.[0]);
    }
    return { ...whole, passwordHashes };
  };
}

async function runAll(
  steps: readonly OperationStep[],
  collections: readonly ScopedCollection[],
  run: Run,
  limits: BatchLimits,
): Promise<Reply> {
  const results = new BatchResults(limits);
  try {
    await lockAll(steps, collections, run);
    for (const [index, step] of steps.entries())
      await atOperation(index, async () => results.add(await runOne(step, run)));
    return results.reply();
  } finally {
    results.release();
  }
}

async function runOne({ action, request, allow }: OperationStep, run: Run): Promise<Reply> {
  if (!action) return { status: 204, headers: ['Allow', allow] };
  const reply = await action.run({ ...request, run });
  if (reply.content?.kind === 'rows')
    throw badRequest('A whole list cannot be part of a batch: send page or limit.');
  const whole = await gathered(reply, MAX_PAGE_BYTES, pageTooLarge);
  return { ...whole, isRead: request.method === 'GET' || request.method === 'QUERY' };
}

/**
 * Locks every record that is to be written, collection by collection and in the order of the ids, so that batches with
 * the same records cannot deadlock. A caller locks no records that it may not read.
 */
async function lockAll(
  steps: readonly OperationStep[],
  collections: readonly ScopedCollection[],
  run: Run,
): Promise<void> {
  const all = steps.map(({ request }) => request);
  // Before the records, since a single statement draws numbers before it refers to their parents.
  for (const collection of collections) {
    const { name, numbers } = collection.resource;
    if (numbers.length === 0 || steps.length < 2) continue;
    const creations = all.filter((request) => isCreation(request, name));
    const parents = creations.flatMap((request) => parentsOf(request, collection));
    if (creations.length > 0) await collection.whole.lockNumbers(parents, run);
  }
  const written = all.filter(({ method }) => ['PUT', 'PATCH', 'DELETE'].includes(method));
  // The statement of a single write locks its record.
  if (written.length < 2) return;
  for (const collection of collections) {
    const { name } = collection.resource;
    const requests = written.filter(({ path }) => path.startsWith(`/${name}/`));
    const ids = requests.flatMap(({ params }) => parseUuid(params.id ?? '') ?? []);
    if (ids.length === 0) continue;
    await collection.as(requests[0]!).lock(ids, run);
  }
}

/** Whether a request may create a record of a collection. */
function isCreation({ method, path }: Request, name: string): boolean {
  if (method === 'POST') return path.endsWith(`/${name}`);
  return method === 'PUT' && path.split('/')[1] === name;
}

/** The records whose series have the numbers of a new record. */
function parentsOf({ params, body }: Request, { resource: { numbers } }: ScopedCollection): string[] {
  const value = body?.value;
  const given = numbers.flatMap(({ parent }) =>
    parent !== undefined && isObject(value) ? [member(value, parent)] : [],
  );
  return [params.id, ...given].flatMap((each) => (typeof each === 'string' ? (parseUuid(each) ?? []) : []));
}

/** Runs the work of an operation; its problem becomes the batch's, with the operation's index. */
function atOperation<T>(index: number, work: () => T): T {
  const failed = (error: unknown): never => {
    const problem = knownProblem(error);
    throw problem ? batchFailed(index, problem) : error;
  };
  try {
    const result = work();
    return result instanceof Promise ? (result.catch(failed) as T) : result;
  } catch (error) {
    return failed(error);
  }
}

/** The operations in the body of a batch. Throws 400. */
function readOperations(value: Json | undefined): Operation[] {
  if (value === undefined) throw invalidBody('The body is empty.', 'type');
  const list = isObject(value) ? value.operations : value;
  if (!Array.isArray(list))
    throw invalidBody(
      'must be an array of operations, or {"operations": [...]}, each like {"method": "PATCH", "path": "/<collection>/<id>", "body": {...}}',
      'type',
    );
  failuresIn ??= firstFailures()(OPERATIONS);
  const at = isObject(value) ? '/operations' : '';
  const failures = failuresIn(list).map((each) => ({ ...each, path: at + each.path }));
  if (failures.length > 0) throw invalid(failures);
  return (list as unknown as Operation[]).map(({ method, path, headers, body }) => {
    const fields = Object.entries(headers ?? {}).map(([name, field]) => [name.toLowerCase(), field]);
    return { method, path, headers: Object.fromEntries(fields), body };
  });
}

const OPERATIONS = {
  type: 'array',
  minItems: 1,
  maxItems: MAX_OPERATIONS,
  items: {
    type: 'object',
    required: ['method', 'path'],
    additionalProperties: false,
    properties: {
      method: { enum: METHODS },
      path: { type: 'string', pattern: '^/' },
      headers: { type: 'object', additionalProperties: { type: 'string' } },
      body: {},
    },
  },
};

/** Compiled for the first batch. */
let failuresIn: ReturnType<ReturnType<typeof firstFailures>> | undefined;
