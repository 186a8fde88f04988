import { isDeepStrictEqual } from 'node:util';
import { gathered } from '../../actions/large-page.js';
import { pathOf, stepOf } from '../../actions/operation-step.js';
import { openCollections } from '../../api/record-actions.js';
import { embeddedOf } from '../../app/open-features.js';
import { startApp } from '../../app.js';
import { STRANGER } from '../../auth/principal.js';
import { parse, subcommandOf } from '../../cli/arguments.js';
import { configOf, InputError, type Io, UsageError } from '../../cli/io.js';
import { print } from '../../cli/output.js';
import { endOf, idOf, logOf, withOpen, withResources } from '../../cli/with-database.js';
import { MAX_PAGE_BYTES } from '../../collection/document.js';
import type { Config } from '../../config/config.js';
import { withBulkConnection } from '../../db/bulk-connection.js';
import { databaseErrorOf, knownProblem } from '../../db/database-errors.js';
import type { Db, Run } from '../../db/db.js';
import { openServer, otherDatabase } from '../../db/open-database.js';
import { unauthorized } from '../../errors/caller-errors.js';
import { type ExitCode, ExitError } from '../../errors/exit-error.js';
import { pageTooLarge } from '../../errors/input-errors.js';
import type { ScopedCollection } from '../../feature.js';
import { Query } from '../../http/query-parameters.js';
import { createRouter, type Router, selectAction } from '../../http/router.js';
import { isObject, type Json, unescapeToken } from '../../json.js';
import type { Verb } from '../../policy/policy.js';
import { createLog } from '../../telemetry/log.js';
import { parseUuid } from '../../uuid.js';
import { OWNED } from '../../validation/validation.js';
import { splitVersion, versionOf } from '../../versions/supported.js';
import { type AccessCase, type Outcome, readCases } from './access-cases.js';
import { COMMANDS } from './commands.js';
import { type Explanation, explain, explanationOf } from './explain.js';

/** Explains access rules, or tests them. Throws UsageError and ExitError. */
export async function accessCommand(args: string[], io: Io): Promise<ExitCode> {
  const { verb, rest } = subcommandOf(COMMANDS, 'access', args);
  return verb === 'test' ? testRules(rest, io) : explainRequest(rest, io);
}

/** Explains which access rules apply to a request of a user. */
async function explainRequest(args: string[], io: Io): Promise<ExitCode> {
  const { values, positionals } = parse(COMMANDS, 'access', 'explain', args);
  const [method, path] = positionals as [string, string];
  const wanted = VERBS[method];
  if (wanted === undefined)
    throw new UsageError(`METHOD must be one of ${Object.keys(VERBS).join(', ')}`, 'access');
  await withResources(io, async (resources, { db }, config) => {
    const services = { db, collections: openCollections(db, resources, config.tombstones) };
    const subject = values.as.includes('@') ? await idOf({ db }, values.as) : values.as;
    const { collection, access } = await explanationOf(services, path, { subject, scopes: values.scopes });
    const explanation = access.find(({ verb }) => verb === wanted);
    if (!explanation) throw new ExitError(`${collection} has no access rules: the scopes alone decide`);
    print(io, values.json, explanation, explanationText(explanation));
    if (explanation.permitted === false) throw new ExitError(`${method} ${path} is not permitted`);
  });
  return 0;
}

/** Runs the cases of a file against the declarations. Resolves to 1 if one has another outcome. Throws UsageError and ExitError. */
async function testRules(args: string[], io: Io): Promise<ExitCode> {
  const { values, positionals } = parse(COMMANDS, 'access', 'test', args);
  const [file = 'access.test.json'] = positionals;
  const config = configOf(io);
  const given = readCases(io, file);
  const open = () => openServer(config, logOf(io, config), true, embeddedOf(io.features));
  return withOpen(io, open, async ({ url }) => {
    const failed = await withTemporaryDatabase(url, (temporary) =>
      failuresOf(isolated(io, temporary), given, file),
    );
    const passed = given.cases.length - failed.length;
    const text = failed.map(failureText).join('');
    print(io, values.json, { passed, failed }, `${text}${passed} passed, ${failed.length} failed\n`);
    return failed.length > 0 ? 1 : 0;
  });
}

/** The settings of a service that has nothing in common with others but the declarations. The new database is not distributed. */
const isolated = (io: Io, url: string): Config =>
  configOf({
    ...io,
    env: {
      ...{ COLLECTIONS: io.env.COLLECTIONS, DATABASE_URL: url, MIGRATE: 'auto' },
      ...{ AUTH: 'none', EVENTS: 'off' },
    },
    features: [],
  });

/** Runs the cases in a service without a listener, and returns those with another outcome, with the rules that led to it. */
async function failuresOf(config: Config, given: ReturnType<typeof readCases>, file: string) {
  const service = await startApp(config, createLog('silent'), [], { isMounted: true });
  const { collections, db, routes } = service;
  const router = createRouter(routes);
  try {
    for (const { pointer, collection, id, body } of given.records) {
      const found = collections.find(({ resource }) => resource.name === collection);
      const place = `${file}#${pointer}`;
      if (!found) throw new InputError(`${place}: there is no collection ${collection}`);
      try {
        await found.whole.createWithId(id, found.whole.check(body, 'import'));
      } catch (error) {
        const problem = knownProblem(error);
        if (!problem || problem.status >= 500) throw error;
        throw new InputError(`${place}: ${endOf(problem).message}`);
      }
    }
    const names = new Map([...given.ids].map(([name, id]) => [id, name]));
    const failures = [];
    for (const each of given.cases) {
      const actual = named(await outcomeOf(db, router, each), names);
      const expected = named(each.expected, names);
      if (isDeepStrictEqual({ ...actual, ...expected }, actual)) continue;
      const both = expected.ids && actual.ids ? [...expected.ids, ...actual.ids] : [];
      const differs = both.find((id) => both.indexOf(id) === both.lastIndexOf(id)) ?? '';
      const explanation = await explanationsOf(collections, each, given.ids.get(differs));
      failures.push({ case: each.pointer, title: each.title, expected, actual, explanation });
    }
    return failures;
  } finally {
    await service.stop();
  }
}

/** An outcome with sorted lists, and the names of records in place of their ids. */
function named(outcome: Outcome, names: ReadonlyMap<string, string>): Outcome {
  const shown = (value: unknown) =>
    Array.isArray(value) ? value.map((each: string) => names.get(each) ?? each).sort() : value;
  return Object.fromEntries(Object.entries(outcome).map(([name, value]) => [name, shown(value)])) as never;
}

/** A case with another outcome as lines for a terminal: of its outcome the members that the case expects, and its error. */
function failureText(failed: Awaited<ReturnType<typeof failuresOf>>[number]): string {
  const { case: pointer, title, expected, actual, explanation } = failed;
  const rules = explanation.map(explanationText).join('');
  return `failed ${pointer} ${title}
  expected ${JSON.stringify(expected)}
  got      ${JSON.stringify(actual, [...Object.keys(expected), 'code', 'denied'])}
${rules.replace(/^(?=.)/gm, '  ')}`;
}

/** The verb of each method that reads or writes records. */
const VERBS: Readonly<Record<string, Verb>> = {
  ...{ GET: 'read', HEAD: 'read', QUERY: 'read', POST: 'create' },
  ...{ PUT: 'update', PATCH: 'update', DELETE: 'delete' },
};

/** The outcome of a request to a service without a listener, of which nothing remains. */
async function outcomeOf(db: Db, router: Router, request: AccessCase): Promise<Outcome> {
  let outcome: Outcome | undefined;
  try {
    return await db.transaction(async (run) => {
      outcome = await responseTo(router, request, run);
      throw new Error('the transaction is rolled back');
    });
  } catch (error) {
    if (outcome) return outcome;
    const problem = knownProblem(error);
    if (!problem) throw error;
    const { status, code, more } = problem;
    if (code !== 'FIELDS_DENIED') return { status, code };
    const details = more.details as readonly { readonly path: string }[];
    return { status, code, denied: details.map(({ path }) => unescapeToken(path.slice(1))) };
  }
}

/** The outcome of a request that succeeds. Throws the Problem of one that fails. */
async function responseTo(router: Router, { principal, operation }: AccessCase, run: Run): Promise<Outcome> {
  const { method, headers: fields } = operation;
  const target = pathOf(operation);
  const { path, pathVersion } = splitVersion(target);
  const version = versionOf(pathVersion, fields['api-version']);
  const query = new Query(operation.path.slice(target.length + 1));
  const requires = selectAction(router(path), method, query)?.requires;
  if (principal === STRANGER && requires !== 'nothing' && requires !== 'optional')
    throw unauthorized('The request needs a credential.', []);
  const { action, request } = stepOf(operation, router, {
    ...{ id: 'access-test', method, path, version, prefix: '', params: {}, query },
    ...{ headers: {}, type: '', permission: 'all', principal, run: undefined, body: undefined },
  });
  const { prepare, run: respond } = action!;
  const reply = await respond({ ...((await prepare?.(request)?.()) ?? request), run });
  const { status, headers, body } = await gathered(reply, MAX_PAGE_BYTES, pageTooLarge);
  if (!body || !headers.some((value) => /\bjson\b/.test(value))) return { status };
  const parsed = JSON.parse(body) as Json;
  const shown = [isObject(parsed) && Array.isArray(parsed.data) ? parsed.data : parsed].flat();
  const records = shown.filter(isObject);
  const names = new Set(records.flatMap((record) => Object.keys(record)));
  return {
    status,
    ids: records.flatMap(({ id }) => (typeof id === 'string' ? [id] : [])),
    fields: [...names].filter((name) => !OWNED.has(name)),
  };
}

/** The rules that decide about a request, or about reading the record with an id in its response. */
async function explanationsOf(
  collections: readonly ScopedCollection[],
  { principal, operation }: AccessCase,
  id: string | undefined,
): Promise<Explanation[]> {
  const segments = splitVersion(pathOf(operation)).path.split('/').slice(1);
  const [name, record = ''] = segments.slice(segments.length % 2 === 0 ? -2 : -1);
  const scoped = collections.find(({ resource }) => resource.name === name);
  const own = VERBS[operation.method]!;
  const verbs = id !== undefined ? ['read'] : own === 'create' ? [own] : ['read', own];
  const all = scoped ? await explain(scoped, id ?? parseUuid(record), principal) : [];
  return all.filter(({ verb }) => verbs.includes(verb));
}

/** An explanation as lines for a terminal. */
function explanationText({ verb, permitted, fields, grants }: Explanation): string {
  const outcome = permitted === null ? 'the record decides' : permitted ? 'permitted' : 'not permitted';
  const lines = grants.map(({ grant, holds, reason, failed }) => {
    const state = holds === null ? 'depends on the record' : holds ? 'holds' : reason;
    return `  ${grant}: ${state}${failed.map((each) => `\n    ${JSON.stringify(each)}`).join('')}\n`;
  });
  return `${verb}: ${outcome}${fields ? ` (${fields.join(', ')})` : ''}\n${lines.join('')}`;
}

const TEMPORARY = 'plinth_temporary_access_test';
const REFUSED =
  'the test needs a role with CREATEDB and a server without another run; the embedded PostgreSQL, without DATABASE_URL, has both';

/** Runs work on a new, empty database of a server, and drops it, as one that a killed run has left before. Throws ExitError. */
const withTemporaryDatabase = <T>(url: string, work: (url: string) => Promise<T>) =>
  withBulkConnection(url, { events: false, tombstones: false }, async ({ execute }) => {
    try {
      await execute(`drop database if exists ${TEMPORARY}`);
      await execute(`create database ${TEMPORARY} template template0`);
    } catch (error) {
      throw databaseErrorOf(error) ? new ExitError(`${(error as Error).message}: ${REFUSED}`) : error;
    }
    try {
      return await work(otherDatabase(url, TEMPORARY));
    } finally {
      await execute(`drop database ${TEMPORARY} with (force)`);
    }
  });
