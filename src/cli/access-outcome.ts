import { gathered } from '../actions/large-page.js';
import { pathOf, stepOf } from '../actions/operation-step.js';
import { STRANGER } from '../auth/principal.js';
import { MAX_PAGE_BYTES } from '../collection/document.js';
import { knownProblem } from '../db/database-errors.js';
import type { Db, Run } from '../db/db.js';
import { unauthorized } from '../errors/caller-errors.js';
import { pageTooLarge } from '../errors/input-errors.js';
import { splitVersion, versionOf } from '../http/api-version.js';
import { NO_QUERY, Query } from '../http/query-parameters.js';
import { type Router, selectAction } from '../http/router.js';
import { isObject, type Json } from '../json.js';
import { type Explanation, explain } from '../policy/explain.js';
import type { Verb } from '../policy/policy.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { arrange } from '../transport/copy-rows.js';
import { parseUuid } from '../uuid.js';
import type { AccessCase, Outcome } from './access-cases.js';

/** The verb of each method that reads or writes records. */
export const VERBS: Readonly<Record<string, Verb>> = {
  ...{ GET: 'read', HEAD: 'read', QUERY: 'read', POST: 'create' },
  ...{ PUT: 'update', PATCH: 'update', DELETE: 'delete' },
};

const OF_EACH_RECORD: ReadonlySet<string> = new Set(['id', 'created_at', 'updated_at', '_version', '_links']);

/** The outcome of a request to a service without a listener, of which nothing remains. */
export async function outcomeOf(db: Db, router: Router, request: AccessCase): Promise<Outcome> {
  let outcome: Outcome | undefined;
  const work = db.transaction(async (run) => {
    outcome = await responseTo(router, request, run);
    throw new Error('the transaction is rolled back');
  });
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  if (outcome) return outcome;
  const problem = knownProblem(error);
  if (!problem) throw error;
  const { status, code, more } = problem;
  if (code !== 'FIELDS_DENIED') return { status, code };
  const details = more.details as readonly { readonly path: string }[];
  const denied = details.map(({ path }) => path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~'));
  return { status, code, denied };
}

/** The outcome of a request that succeeds. Throws the Problem of one that fails. */
async function responseTo(router: Router, { principal, operation }: AccessCase, run: Run): Promise<Outcome> {
  const { method, headers: fields } = operation;
  const target = pathOf(operation);
  const { path, pathVersion } = splitVersion(target);
  const version = versionOf(pathVersion, fields['api-version']);
  const requires = selectAction(
    router(path),
    method,
    new Query(operation.path.slice(target.length + 1)),
  )?.requires;
  if (principal === STRANGER && requires !== 'nothing' && requires !== 'optional')
    throw unauthorized('The request needs a credential.', []);
  const { action, request } = stepOf(operation, router, {
    ...{ id: 'access-test', method, path, version, prefix: '', params: {}, query: NO_QUERY },
    ...{ headers: {}, type: '', permission: 'all', principal, run: undefined, body: undefined },
  });
  const { authorize, prepare, run: respond } = action!;
  await authorize?.(request);
  const reply = await respond({ ...((await prepare?.(request)?.()) ?? request), run });
  const { status, headers, content } = reply;
  if (!headers.some((value) => /\bjson\b/.test(value))) return { status };
  let { body = '' } = await gathered(reply, MAX_PAGE_BYTES, pageTooLarge);
  if (content?.kind === 'rows')
    await content.open(async (rows) => {
      for await (const bytes of arrange(rows, {})) body += bytes;
    });
  if (body === '') return { status };
  const parsed = JSON.parse(body) as Json;
  const shown = [isObject(parsed) && Array.isArray(parsed.data) ? parsed.data : parsed].flat();
  const records = shown.filter(isObject);
  const names = new Set(records.flatMap((record) => Object.keys(record)));
  return {
    status,
    ids: records.flatMap(({ id }) => (typeof id === 'string' ? [id] : [])),
    fields: [...names].filter((name) => !OF_EACH_RECORD.has(name)),
  };
}

/** The rules that decide about a request, or about reading the record with an id in its response. */
export async function explanationsOf(
  collections: readonly ScopedCollection[],
  { principal, operation }: AccessCase,
  id: string | undefined,
): Promise<Explanation[]> {
  const segments = splitVersion(pathOf(operation)).path.split('/').slice(1);
  const isRecord = segments.length % 2 === 0;
  const name = segments.at(isRecord ? -2 : -1);
  const scoped = collections.find(({ resource }) => resource.name === name);
  if (!scoped) return [];
  const own = VERBS[operation.method]!;
  const verbs = id !== undefined ? ['read'] : own === 'create' ? [own] : ['read', own];
  const record = id ?? (isRecord ? parseUuid(segments.at(-1)!) : undefined);
  return (await explain(scoped, record, principal)).filter(({ verb }) => verbs.includes(verb));
}

/** An explanation as lines for a terminal. */
export function explanationText({ verb, permitted, fields, grants }: Explanation): string {
  const outcome = permitted === null ? 'the record decides' : permitted ? 'permitted' : 'not permitted';
  const lines = grants.map(({ grant, holds, reason, failed }) => {
    const state = holds === null ? 'depends on the record' : holds ? 'holds' : reason;
    return `  ${grant}: ${state}${failed.map((each) => `\n    ${JSON.stringify(each)}`).join('')}\n`;
  });
  return `${verb}: ${outcome}${fields ? ` (${fields.join(', ')})` : ''}\n${lines.join('')}`;
}
