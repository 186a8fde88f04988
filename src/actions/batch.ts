import type { Collection } from '../collection/collection.js';
import { MAX_PAGE_BYTES } from '../collection/list-orders.js';
import { JSON_TYPE } from '../collection/representation.js';
import { isOwned } from '../collection/resource.js';
import type { Db, Run } from '../db/db.js';
import { problemOf } from '../db/sqlstate.js';
import { badRequest, batchFailed, unsupportedMediaType } from '../errors.js';
import { requireVersion, splitVersion } from '../http/api-version.js';
import type { Reply } from '../http/reply.js';
import type { Body, Request } from '../http/request.js';
import { type Action, negotiateType, type Router, selectAction } from '../http/router.js';
import { pageTooLarge } from '../limit-errors.js';
import type { HashedPassword } from '../passwords/password.js';
import { type Permission, permit } from '../principal.js';
import { Problem } from '../problem.js';
import { parseUuid } from '../uuid.js';
import { type Operation, readOperations } from './batch-operations.js';
import { type BatchLimits, BatchResults } from './batch-results.js';

export const BATCH_PATH = '/batch';

/** An operation that the caller may send. Without an action it is OPTIONS. */
interface Step {
  readonly action: Action | undefined;
  readonly request: Request;
  readonly allow: string;
}

/**
 * Runs up to 100 operations in one transaction, all or nothing. 200 with a reply for each, in order; or the problem of
 * the first that fails, with its index, and nothing is written. Each operation passes the same stages as a single request.
 * The permissions of all are checked first, then passwords are hashed, then the transaction begins and locks records.
 * `router` has every route except the batch.
 */
export function batch(
  db: Db,
  collections: readonly Collection[],
  router: Router,
  limits: BatchLimits,
): Action {
  const stepsOf = (request: Request): Step[] =>
    readOperations(request.body?.value).map((operation, index) =>
      atOperation(index, () => stepOf(operation, router, request, request.passwordHashes?.[index])),
    );
  return {
    accepts: [JSON_TYPE],
    authorize: (request) => authorizeAll(stepsOf(request)),
    prepare: (request) => preparationOf(stepsOf(request), request),
    run: async (request) => {
      const permitted = stepsOf(request);
      if (request.run) return runAll(permitted, collections, request.run, limits);
      await authorizeAll(permitted);
      const preparation = preparationOf(permitted, request);
      const steps = preparation ? stepsOf(await preparation()) : permitted;
      return db.transaction((run) => runAll(steps, collections, run, limits));
    },
  };
}

/** Routes an operation and checks its permission. Throws 400, 403, 404, 405, 406 and 415. */
function stepOf(
  operation: Operation,
  router: Router,
  request: Request,
  passwordHash: HashedPassword | undefined,
): Step {
  const { method, headers } = operation;
  const mark = operation.path.indexOf('?');
  const target = mark < 0 ? operation.path : operation.path.slice(0, mark);
  const { path, mounted } = splitVersion(target);
  if (path === BATCH_PATH) throw badRequest('A batch cannot contain a batch.');
  const match = router(path);
  requireVersion(headers['api-version'], mounted);
  const action = selectAction(match, method);
  const permission: Permission = action ? permit(request.principal, action.requires, match.params) : 'all';
  const step = {
    ...request,
    method,
    path,
    query: mark < 0 ? '' : operation.path.slice(mark + 1),
    params: match.params,
    permission,
    headers,
    type: action ? negotiateType(action, headers.accept) : '',
    body: action && bodyOf(operation, action),
    passwordHashes: [passwordHash],
  };
  return { action, request: step, allow: match.allow };
}

async function authorizeAll(steps: readonly Step[]): Promise<void> {
  for (const [index, { action, request }] of steps.entries()) {
    if (action?.authorize) await atOperationAsync(index, async () => action.authorize!(request));
  }
}

/** Hashes the passwords of all operations, one after the other. */
function preparationOf(steps: readonly Step[], whole: Request): (() => Promise<Request>) | undefined {
  const preparations = steps.map(({ action, request }) => action?.prepare?.(request));
  if (preparations.every((prepare) => prepare === undefined)) return undefined;
  return async () => {
    const passwordHashes: (HashedPassword | undefined)[] = [];
    for (const [index, prepare] of preparations.entries()) {
      const prepared = prepare && (await atOperationAsync(index, prepare));
      passwordHashes.push(prepared?.passwordHashes?.[0]);
    }
    return { ...whole, passwordHashes };
  };
}

async function runAll(
  steps: readonly Step[],
  collections: readonly Collection[],
  run: Run,
  limits: BatchLimits,
): Promise<Reply> {
  const results = new BatchResults(limits);
  try {
    await lockAll(steps, collections, run);
    for (const [index, step] of steps.entries())
      await atOperationAsync(index, async () => results.add(await runOne(step, run)));
    return results.reply();
  } finally {
    results.release();
  }
}

async function runOne({ action, request, allow }: Step, run: Run): Promise<Reply> {
  if (!action) return { status: 204, headers: ['Allow', allow] };
  const reply = await action.run({ ...request, run });
  if (reply.frame) throw pageTooLarge(MAX_PAGE_BYTES);
  if (reply.stream) throw badRequest('A whole list cannot be part of a batch: send page or limit.');
  return reply;
}

/**
 * Locks every record that is to be written, collection by collection and in the order of the ids, so that batches with
 * the same records cannot deadlock. A caller that may write only its own records locks no others.
 */
async function lockAll(steps: readonly Step[], collections: readonly Collection[], run: Run): Promise<void> {
  const written = steps
    .map(({ request }) => request)
    .filter(({ method }) => method === 'PUT' || method === 'PATCH' || method === 'DELETE');
  // The statement of a single write locks its record.
  if (written.length < 2) return;
  for (const collection of collections) {
    const { name } = collection.resource;
    const requests = written.filter(({ path }) => path.startsWith(`/${name}/`));
    const ids = requests.flatMap(({ params }) => parseUuid(params.id ?? '') ?? []);
    if (ids.length === 0) continue;
    const { permission, principal } = requests[0]!;
    const isOwn = permission === 'own' && isOwned(collection.resource);
    const owner = isOwn ? parseUuid(principal.subject) : undefined;
    await collection.lock(ids, owner, run);
  }
}

/** Runs the work of an operation; its problem becomes the batch's, with the operation's index. */
function atOperation<T>(index: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw failureOf(index, error);
  }
}

async function atOperationAsync<T>(index: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failureOf(index, error);
  }
}

function failureOf(index: number, error: unknown): unknown {
  const problem = error instanceof Problem ? error : problemOf(error);
  return problem ? batchFailed(index, problem) : error;
}

function bodyOf({ method, headers, body }: Operation, { accepts }: Action): Body | undefined {
  if (!accepts || body === undefined) return undefined;
  const type = (headers['content-type'] ?? JSON_TYPE).split(';')[0]!.trim().toLowerCase();
  if (!accepts.includes(type))
    throw unsupportedMediaType(method === 'PATCH' ? 'Accept-Patch' : 'Accept-Post', accepts);
  return { type, value: body, bytes: Buffer.alloc(0) };
}
