import { type Explanation, explain } from '../access/explain.js';
import type { Guarded } from '../access/guarded-collection.js';
import type { Operation } from '../actions/batch-operations.js';
import { gathered } from '../actions/large-page.js';
import { pathOf, stepOf } from '../actions/operation-step.js';
import { callerOf, type Principal, STRANGER } from '../auth/principal.js';
import { MAX_PAGE_BYTES } from '../collection/document.js';
import { problemOf } from '../db/database-errors.js';
import type { Db } from '../db/db.js';
import { unauthorized } from '../errors/caller-errors.js';
import { pageTooLarge } from '../errors/input-errors.js';
import { Problem } from '../errors/problem.js';
import { splitVersion, versionOf } from '../http/api-version.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { type Router, selectAction } from '../http/router.js';
import { isObject, type Json, type JsonObject } from '../json.js';
import { type RowsBody, writeRows } from '../transport/array-stream.js';
import { parseUuid } from '../uuid.js';
import { prefixOf } from '../versions/supported.js';
import type { ExpectedOutcome } from './access-case-form.js';

/** A service without a listener. */
export interface Requested {
  readonly db: Db;
  readonly router: Router;
  readonly collections: readonly Guarded[];
}

/** A request of a caller. */
interface CallersRequest {
  readonly principal: Principal;
  readonly operation: Operation;
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'QUERY']);
const OF_EACH_RECORD: ReadonlySet<string> = new Set(['id', 'created_at', 'updated_at', '_version', '_links']);

/** The outcome of a request, of which nothing remains. */
export async function outcomeOf(service: Requested, request: CallersRequest): Promise<ExpectedOutcome> {
  try {
    const reply = await replyTo(service, request);
    const { status } = reply;
    const isJson = reply.headers.some((value) => /\bjson\b/.test(value));
    if (reply.body === undefined || !isJson || status >= 400) return { status };
    const shown = recordsIn(JSON.parse(reply.body) as Json);
    const names = new Set(shown.flatMap((record) => Object.keys(record)));
    return {
      status,
      ids: shown.flatMap(({ id }) => (typeof id === 'string' ? [id] : [])),
      fields: [...names].filter((name) => !OF_EACH_RECORD.has(name)).sort(),
    };
  } catch (error) {
    const problem = error instanceof Problem ? error : problemOf(error);
    if (!problem) throw error;
    const { status, code, more } = problem;
    const denied =
      code === 'FIELDS_DENIED'
        ? (more.details as { path: string }[]).map(({ path }) =>
            path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~'),
          )
        : undefined;
    return { status, code, ...(denied && { denied }) };
  }
}

function recordsIn(body: Json): JsonObject[] {
  const list = isObject(body) && Array.isArray(body.data) ? body.data : body;
  return [list].flat().filter(isObject);
}

/** The response to a request. A write is rolled back. Throws the Problem of a request that fails. */
async function replyTo({ db, router }: Requested, { principal, operation }: CallersRequest): Promise<Reply> {
  const target = pathOf(operation);
  const { path, pathVersion } = splitVersion(target);
  const version = versionOf(pathVersion, operation.headers['api-version']);
  const { method } = operation;
  const action = selectAction(router(path), method, operation.path.slice(target.length + 1));
  const isOptional = action?.requires === 'nothing' || action?.requires === 'optional';
  if (principal === STRANGER && !isOptional) throw unauthorized('The request needs a credential.', []);
  const base = { id: 'access-test', method, path, version, prefix: prefixOf(version, ''), params: {} };
  const { request, ...step } = stepOf(operation, router, {
    ...base,
    ...{ query: '', headers: {}, type: '', permission: 'all', run: undefined, body: undefined },
    principal: action?.requires === 'nothing' ? STRANGER : principal,
  });
  if (!step.action) return { status: 204, headers: [] };
  const { authorize, prepare, run } = step.action;
  if (READS.has(method)) return wholeReply(await run(request));
  await authorize?.(request);
  const prepared: Request = (await prepare?.(request)?.()) ?? request;
  return undone(db, async (each) => wholeReply(await run({ ...prepared, run: each })));
}

/** A reply with its list in its body. */
async function wholeReply(reply: Reply): Promise<Reply> {
  const { content, headers, status } = reply;
  if (content?.kind !== 'rows') return gathered(reply, MAX_PAGE_BYTES, pageTooLarge);
  const parts: Buffer[] = [];
  const add = async (bytes: Buffer) => void parts.push(bytes);
  const body: RowsBody = { begin: () => undefined, write: add, end: add, close: () => undefined };
  await content.open((rows) => writeRows(rows, content, reply, body));
  return { status, headers, body: Buffer.concat(parts).toString() };
}

/** Runs work in a transaction that is rolled back. */
async function undone<T>(db: Db, work: Parameters<typeof db.transaction<T>>[0]): Promise<T> {
  const end = new Undone();
  let result: T;
  try {
    await db.transaction(async (run) => {
      result = await work(run);
      throw end;
    });
  } catch (error) {
    if (error !== end) throw error;
  }
  return result!;
}

class Undone extends Error {}

/** The rules that decide about a request, and about these records in its response. */
export async function explanationsOf(
  service: Requested,
  { principal, operation }: CallersRequest,
  ids: readonly string[],
): Promise<Explanation[]> {
  const { method, body } = operation;
  const segments = splitVersion(pathOf(operation)).path.split('/').slice(1);
  const isRecord = segments.length % 2 === 0;
  const name = segments.at(isRecord ? -2 : -1);
  const guarded = service.collections.find(({ resource }) => resource.name === name);
  if (!guarded) return [];
  const id = isRecord ? parseUuid(segments.at(-1)!) : undefined;
  const verbs: readonly string[] = READS.has(method) || ids.length > 0 ? ['read'] : WRITES[method]!;
  const explained = async (record: string | undefined) =>
    (await explain(guarded, record, principal)).filter(({ verb }) => verbs.includes(verb));
  if (method === 'POST' && isObject(body)) {
    const { parent } = guarded.resource;
    const given = parent && segments.length > 1 ? { ...body, [parent.field]: segments[1]! } : body;
    return explainCreation(service.db, guarded, principal, given);
  }
  const found = ids.length > 0 ? ids : [id];
  return (await Promise.all(found.map(explained))).flat();
}

const WRITES: Readonly<Record<string, readonly string[]>> = {
  POST: ['create'],
  PUT: ['read', 'update'],
  PATCH: ['read', 'update'],
  DELETE: ['read', 'delete'],
};

/** Explains a creation by the record as it would be. */
async function explainCreation(
  db: Db,
  guarded: Guarded,
  principal: Principal,
  body: JsonObject,
): Promise<Explanation[]> {
  const ofCreation = async (id?: string, run?: Parameters<typeof explain>[3]) =>
    (await explain(guarded, undefined, principal, run, id)).filter(({ verb }) => verb === 'create');
  try {
    const { whole } = guarded;
    const { password, ...input } = whole.check(body, 'request', undefined, callerOf(principal));
    return await undone(db, async (run) => {
      const { id } = await whole.create({ ...input, password: undefined }, run);
      return ofCreation(id, run);
    });
  } catch (error) {
    // A record that cannot be created for other reasons than its rules.
    if (!(error instanceof Problem) && !problemOf(error)) throw error;
    return ofCreation();
  }
}
