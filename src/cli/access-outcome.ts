import { type Explanation, explain } from '../access/explain.js';
import type { Guarded } from '../access/guarded-collection.js';
import { gathered } from '../actions/large-page.js';
import { pathOf, stepOf } from '../actions/operation-step.js';
import { STRANGER } from '../auth/principal.js';
import { MAX_PAGE_BYTES } from '../collection/document.js';
import { knownProblem } from '../db/database-errors.js';
import type { Db, Run } from '../db/db.js';
import { unauthorized } from '../errors/caller-errors.js';
import { pageTooLarge } from '../errors/input-errors.js';
import { splitVersion, versionOf } from '../http/api-version.js';
import type { Reply } from '../http/reply.js';
import { type Router, selectAction } from '../http/router.js';
import { isObject, type Json } from '../json.js';
import { arrange } from '../transport/copy-rows.js';
import { parseUuid } from '../uuid.js';
import { prefixOf } from '../versions/supported.js';
import type { AccessCase, Outcome } from './access-cases.js';
import { VERBS } from './explanation-text.js';

const OF_EACH_RECORD: ReadonlySet<string> = new Set(['id', 'created_at', 'updated_at', '_version', '_links']);

/** The outcome of a request to a service without a listener, of which nothing remains. */
export async function outcomeOf(db: Db, router: Router, request: AccessCase): Promise<Outcome> {
  try {
    const { status, headers, body } = await undone(db, (run) => replyTo(router, request, run));
    if (body === undefined || !headers.some((value) => /\bjson\b/.test(value))) return { status };
    const parsed = JSON.parse(body) as Json;
    const shown = [isObject(parsed) && Array.isArray(parsed.data) ? parsed.data : parsed]
      .flat()
      .filter(isObject);
    const names = new Set(shown.flatMap((record) => Object.keys(record)));
    return {
      status,
      ids: shown.flatMap(({ id }) => (typeof id === 'string' ? [id] : [])),
      fields: [...names].filter((name) => !OF_EACH_RECORD.has(name)),
    };
  } catch (error) {
    const problem = knownProblem(error);
    if (!problem) throw error;
    const { status, code, more } = problem;
    if (code !== 'FIELDS_DENIED') return { status, code };
    const details = more.details as readonly { readonly path: string }[];
    const denied = details.map(({ path }) => path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~'));
    return { status, code, denied };
  }
}

/** The response to a request, with its list in its body. Throws the Problem of a request that fails. */
async function replyTo(router: Router, { principal, operation }: AccessCase, run: Run): Promise<Reply> {
  const { method, headers } = operation;
  const target = pathOf(operation);
  const { path, pathVersion } = splitVersion(target);
  const version = versionOf(pathVersion, headers['api-version']);
  const requires = selectAction(router(path), method, operation.path.slice(target.length + 1))?.requires;
  if (principal === STRANGER && requires !== 'nothing' && requires !== 'optional')
    throw unauthorized('The request needs a credential.', []);
  const { action, request } = stepOf(operation, router, {
    ...{ id: 'access-test', method, path, version, prefix: prefixOf(version, ''), params: {}, query: '' },
    ...{ headers: {}, type: '', permission: 'all', principal, run: undefined, body: undefined },
  });
  const { authorize, prepare, run: respond } = action!;
  await authorize?.(request);
  const prepared = (await prepare?.(request)?.()) ?? request;
  const reply = await respond({ ...prepared, run });
  const { content } = reply;
  if (content?.kind !== 'rows') return gathered(reply, MAX_PAGE_BYTES, pageTooLarge);
  const parts: Buffer[] = [];
  await content.open(async (rows) => {
    for await (const bytes of arrange(rows, {})) parts.push(bytes);
  });
  return { ...reply, body: Buffer.concat(parts).toString() };
}

/** Runs work in a transaction that is rolled back. */
async function undone<T>(db: Db, work: (run: Run) => Promise<T>): Promise<T> {
  const end = new Error('the work is done');
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

/** The rules that decide about a request, or about reading the record with an id in its response. */
export async function explanationsOf(
  collections: readonly Guarded[],
  { principal, operation }: AccessCase,
  id: string | undefined,
): Promise<Explanation[]> {
  const segments = splitVersion(pathOf(operation)).path.split('/').slice(1);
  const isRecord = segments.length % 2 === 0;
  const name = segments.at(isRecord ? -2 : -1);
  const guarded = collections.find(({ resource }) => resource.name === name);
  if (!guarded) return [];
  const own = VERBS[operation.method]!;
  const verbs = id !== undefined ? ['read'] : own === 'create' ? [own] : ['read', own];
  const record = id ?? (isRecord ? parseUuid(segments.at(-1)!) : undefined);
  return (await explain(guarded, record, principal)).filter(({ verb }) => verbs.includes(verb));
}
