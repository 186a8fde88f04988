import type { IncomingHttpHeaders } from 'node:http';
import type { Collection } from '../collection.js';
import type { Db, Run } from '../db/connect.js';
import { problemOf } from '../db/sqlstate.js';
import { badRequest, batchFailed, invalid, pageTooLarge, unsupportedMediaType } from '../errors.js';
import type { Reply } from '../http/reply.js';
import { JSON_TYPE } from '../http/representation.js';
import type { Body, Request } from '../http/request.js';
import { type Action, choose, pick, type Router } from '../http/router.js';
import { requireVersion, splitVersion } from '../http/version.js';
import { isObject, type Json, type JsonObject } from '../json.js';
import { permit } from '../principal.js';
import { type Failure, Problem } from '../problem.js';
import { MAX_PAGE_BYTES } from '../statements.js';
import { parseUuid } from '../uuid.js';
import { type BatchLimits, BatchResults } from './batch-results.js';

export const BATCH_PATH = '/batch';
export const MAX_OPERATIONS = 100;

/** One operation as the client sent it, its shape checked. */
interface Operation {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Json | undefined;
}

/**
 * Up to 100 operations in one transaction, all or nothing: 200 with an answer for each, in order; or the
 * problem of the first that fails, with its index, and nothing has taken place. Each goes through the same
 * match, negotiation, check and action as a request of its own. `router` is asked when a batch comes, since
 * the batch is one of its routes.
 */
export function batch(
  db: Db,
  collections: readonly Collection[],
  router: () => Router,
  limits: BatchLimits,
): Action {
  return {
    takes: [JSON_TYPE],
    run: async (request) => {
      const operations = readOperations(request.body?.value);
      const results = new BatchResults(limits);
      const work = async (run: Run) => {
        await lockAll(operations, collections, run);
        await runAll(operations, results, router(), request, run);
      };
      try {
        await (request.run ? work(request.run) : db.transaction(work));
        return { status: 200, headers: ['Content-Type', JSON_TYPE], body: results.body() };
      } finally {
        results.release();
      }
    },
  };
}

/** Locks every record that is written, so that batches with the same records in different orders take turns. */
async function lockAll(
  operations: readonly Operation[],
  collections: readonly Collection[],
  run: Run,
): Promise<void> {
  const written = operations.filter(
    ({ method }) => method === 'PUT' || method === 'PATCH' || method === 'DELETE',
  );
  for (const collection of collections) {
    const { name } = collection.resource;
    const ids = written.flatMap(({ path }) => {
      const [, first, id = ''] = /^(?:\/api\/v1)?\/([^/]+)\/([^/?]+)(?:\?|$)/.exec(path) ?? [];
      return (first === name && parseUuid(id)) || [];
    });
    if (ids.length > 1) await collection.lock(ids, run);
  }
}

async function runAll(
  operations: readonly Operation[],
  results: BatchResults,
  router: Router,
  request: Request,
  run: Run,
): Promise<void> {
  for (const [index, operation] of operations.entries()) {
    try {
      results.add(await runOne(operation, router, request, run));
    } catch (error) {
      const problem = error instanceof Problem ? error : problemOf(error);
      throw problem ? batchFailed(index, problem) : error;
    }
  }
}

async function runOne(operation: Operation, router: Router, request: Request, run: Run): Promise<Reply> {
  const { method, headers } = operation;
  const mark = operation.path.indexOf('?');
  const target = mark < 0 ? operation.path : operation.path.slice(0, mark);
  const { path, mounted } = splitVersion(target);
  if (path === BATCH_PATH) throw badRequest('A batch cannot hold a batch.');
  const match = router(path);
  requireVersion(headers['api-version'], mounted);
  const action = pick(match, method);
  if (!action) return { status: 204, headers: ['Allow', match.allow] };
  const permission = permit(request.principal, action.needs, match.params);
  const type = choose(action, headers.accept);
  const query = mark < 0 ? '' : operation.path.slice(mark + 1);
  const body = bodyOf(operation, action);
  const reply = await action.run({
    ...request,
    method,
    path,
    query,
    params: match.params,
    permission,
    headers,
    type,
    run,
    body,
  });
  if (reply.frame) throw pageTooLarge(MAX_PAGE_BYTES);
  if (reply.stream) throw badRequest('A whole list cannot be part of a batch: give page or limit.');
  return reply;
}

function bodyOf({ method, headers, body }: Operation, { takes }: Action): Body | undefined {
  if (!takes || body === undefined) return undefined;
  const type = (headers['content-type'] ?? JSON_TYPE).split(';')[0]!.trim().toLowerCase();
  if (!takes.includes(type))
    throw unsupportedMediaType(method === 'PATCH' ? 'Accept-Patch' : 'Accept-Post', takes);
  return { type, value: body, bytes: Buffer.alloc(0) };
}

function readOperations(value: Json | undefined): Operation[] {
  const list = isObject(value) ? value.operations : value;
  if (!Array.isArray(list))
    throw invalid([failure('', 'must be an array of operations, or an object with operations', 'type')]);
  if (list.length === 0) throw invalid([failure('', 'must have at least one operation', 'minItems')]);
  if (list.length > MAX_OPERATIONS)
    throw invalid([failure('', `must not have more than ${MAX_OPERATIONS} operations`, 'maxItems')]);
  const failures = list.flatMap((operation, index) => faultsOf(operation, `/${index}`));
  if (failures.length > 0) throw invalid(failures);
  return list.map((operation) => {
    const { method, path, headers, body } = operation as JsonObject;
    const fields = Object.entries((headers ?? {}) as Record<string, string>).map(([name, field]) => [
      name.toLowerCase(),
      field,
    ]);
    return { method: method as string, path: path as string, headers: Object.fromEntries(fields), body };
  });
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const MEMBERS = ['method', 'path', 'headers', 'body'];

function faultsOf(operation: Json, at: string): Failure[] {
  if (!isObject(operation)) return [failure(at, 'must be an object', 'type')];
  const { method, path, headers = {} } = operation;
  const faults: Failure[] = [];
  if (!METHODS.includes(method as string))
    faults.push(failure(`${at}/method`, `must be one of ${METHODS.join(', ')}`, 'enum'));
  if (typeof path !== 'string' || !path.startsWith('/'))
    faults.push(failure(`${at}/path`, 'must be a path', 'format'));
  const areFields = isObject(headers) && Object.values(headers).every((field) => typeof field === 'string');
  if (!areFields) faults.push(failure(`${at}/headers`, 'must be an object of strings', 'type'));
  else if (Object.keys(headers).some((name) => name.toLowerCase() === 'idempotency-key')) {
    faults.push(failure(`${at}/headers`, 'an Idempotency-Key is for the whole batch', 'not'));
  }
  for (const name of Object.keys(operation)) {
    if (!MEMBERS.includes(name))
      faults.push(failure(at, `must only have ${MEMBERS.join(', ')}`, 'additionalProperties'));
  }
  return faults;
}

function failure(path: string, message: string, keyword: string): Failure {
  return { path, message, keyword };
}
