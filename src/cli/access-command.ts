import { isDeepStrictEqual } from 'node:util';
import { gathered } from '../actions/large-page.js';
import { pathOf, stepOf } from '../actions/operation-step.js';
import { explanationOf } from '../api/access-endpoints.js';
import { openCollections } from '../api/record-actions.js';
import { openParts } from '../app/app-parts.js';
import { embeddedOf } from '../app/open-features.js';
import { routesOf } from '../app/routes.js';
import { STRANGER } from '../auth/principal.js';
import { MAX_PAGE_BYTES } from '../collection/document.js';
import type { Config } from '../config/config.js';
import { POSTGRESQL } from '../database-url/engine.js';
import { databaseErrorOf, knownProblem } from '../db/database-errors.js';
import type { Db, Run } from '../db/db.js';
import { openServer } from '../db/open-database.js';
import { type SchemaConnection, withSchemaConnection } from '../db/schema-connection.js';
import { unauthorized } from '../errors/caller-errors.js';
import { type ExitCode, ExitError } from '../errors/exit-error.js';
import { pageTooLarge } from '../errors/input-errors.js';
import { splitVersion, versionOf } from '../http/api-version.js';
import { NO_QUERY, Query } from '../http/query-parameters.js';
import { type Router, selectAction } from '../http/router.js';
import { isObject, type Json } from '../json.js';
import { type Explanation, explain } from '../policy/explain.js';
import type { Verb } from '../policy/policy.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { createLog } from '../telemetry/log.js';
import { arrange } from '../transport/copy-rows.js';
import { parseUuid } from '../uuid.js';
import { type AccessCase, type AccessCases, type Outcome, readCases } from './access-cases.js';
import { parse, subcommandOf } from './arguments.js';
import { configOf, InputError, type Io, UsageError } from './io.js';
import { print } from './output.js';
import { ACCESS_COMMANDS } from './table/access-commands.js';
import { endOf, endOfError, idOf, logOf, withResources } from './with-database.js';

/** Explains access rules, or tests them. Throws UsageError and ExitError. */
export async function accessCommand(args: string[], io: Io): Promise<ExitCode> {
  const { verb, rest } = subcommandOf(ACCESS_COMMANDS, 'access', args);
  if (verb === 'test') return testRules(rest, io);
  await explainRequest(rest, io);
  return 0;
}

/** Explains which access rules apply to a request of a user. */
async function explainRequest(args: string[], io: Io): Promise<void> {
  const { values, positionals } = parse(ACCESS_COMMANDS, 'access', 'explain', args);
  const [method, path] = positionals as [string, string];
  const wanted = VERBS[method];
  if (wanted === undefined)
    throw new UsageError(`METHOD must be one of ${Object.keys(VERBS).join(', ')}`, 'access');
  await withResources(io, async (resources, database, config) => {
    const { db } = database;
    const services = { db, collections: openCollections(db, resources, config.tombstones) };
    const isEmail = values.as.includes('@') && !parseUuid(values.as);
    const subject = isEmail ? await idOf(database, values.as) : values.as;
    const { collection, access } = await explanationOf(services, path, { subject, scopes: values.scopes });
    const explanation = access.find(({ verb }) => verb === wanted);
    if (!explanation) throw new ExitError(`${collection} has no access rules: the scopes alone decide`);
    print(io, values.json, explanation, explanationText(explanation));
    if (explanation.permitted === false) throw new ExitError(`${method} ${path} is not permitted`);
  });
}

/** Runs the cases of a file against the declarations. Resolves to 1 if one has another outcome. Throws UsageError and ExitError. */
async function testRules(args: string[], io: Io): Promise<ExitCode> {
  const { values, positionals } = parse(ACCESS_COMMANDS, 'access', 'test', args);
  const [file = 'access.test.json'] = positionals;
  const config = configOf(io);
  const given = readCases(io, file);
  io.process?.exitOnSignals();
  const server = await openServer(config, logOf(io, config), true, embeddedOf(io.features));
  try {
    const failed = await withTemporaryDatabase(server.url, config.dbTimeoutMs, (url) =>
      failuresOf(isolated(config, url), given, file),
    );
    const passed = given.cases.length - failed.length;
    const text = failed.map(failureText).join('');
    print(io, values.json, { passed, failed }, `${text}${passed} passed, ${failed.length} failed\n`);
    return failed.length > 0 ? 1 : 0;
  } catch (error) {
    throw endOfError(error);
  } finally {
    await server.close();
  }
}

/** The settings of a service that has nothing in common with others but the declarations. The new database is not distributed. */
const isolated = (config: Config, databaseUrl: string): Config => ({
  ...config,
  ...{ databaseUrl, databaseEngine: POSTGRESQL, migrate: 'auto', dataChanges: undefined },
  ...{ auth: [], events: false, metricsPort: undefined, rateLimitStore: 'memory' },
});

/** A case with another outcome than the expected one, and the rules that led to it. */
interface Failed {
  readonly case: string;
  readonly title: string;
  readonly expected: Outcome;
  readonly actual: Outcome;
  readonly explanation: readonly Explanation[];
}

/** Runs the cases in a service without a listener. */
async function failuresOf(config: Config, given: AccessCases, file: string): Promise<Failed[]> {
  const closers: (() => unknown)[] = [];
  try {
    const parts = await openParts(config, createLog('silent'), [], {}, closers);
    const { router } = routesOf(parts, async () => undefined as never, []);
    const { collections, database } = parts;
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
    const failures: Failed[] = [];
    for (const each of given.cases) {
      const actual = named(await outcomeOf(database.db, router, each), names);
      const expected = named(each.expected, names);
      const members = Object.keys(expected) as (keyof Outcome)[];
      if (members.every((member) => isDeepStrictEqual(expected[member], actual[member]))) continue;
      const both = expected.ids && actual.ids ? [...expected.ids, ...actual.ids] : [];
      const differs = both.find((id) => both.indexOf(id) === both.lastIndexOf(id)) ?? '';
      const explanation = await explanationsOf(collections, each, given.ids.get(differs));
      failures.push({ case: each.pointer, title: each.title, expected, actual, explanation });
    }
    return failures;
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

/** An outcome with sorted lists, and the names of records in place of their ids. */
function named(outcome: Outcome, names: ReadonlyMap<string, string>): Outcome {
  const shown = (value: unknown) =>
    Array.isArray(value) ? value.map((each: string) => names.get(each) ?? each).sort() : value;
  return Object.fromEntries(Object.entries(outcome).map(([name, value]) => [name, shown(value)])) as never;
}

/** The members of the outcomes that the case is about, and their errors, with the rules. */
function failureText({ case: pointer, title, expected, actual, explanation }: Failed): string {
  const shown = ({ status, code, ...lists }: Outcome) => {
    const parts = Object.entries(lists)
      .filter(([name]) => Object.hasOwn(expected, name) || name === 'denied')
      .map(([name, values]) => `${name} ${values.length === 0 ? 'none' : values.join(', ')}`);
    return [code === undefined ? status : `${status} ${code}`, ...parts].join('; ');
  };
  const rules = explanation
    .map(explanationText)
    .join('')
    .replace(/^(?=.)/gm, '  ');
  return `failed ${pointer} ${title}\n  expected ${shown(expected)}\n  got      ${shown(actual)}\n${rules}`;
}

/** The verb of each method that reads or writes records. */
const VERBS: Readonly<Record<string, Verb>> = {
  ...{ GET: 'read', HEAD: 'read', QUERY: 'read', POST: 'create' },
  ...{ PUT: 'update', PATCH: 'update', DELETE: 'delete' },
};

const OF_EACH_RECORD: ReadonlySet<string> = new Set(['id', 'created_at', 'updated_at', '_version', '_links']);

/** The outcome of a request to a service without a listener, of which nothing remains. */
async function outcomeOf(db: Db, router: Router, request: AccessCase): Promise<Outcome> {
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
  const { prepare, run: respond } = action!;
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
async function explanationsOf(
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
function explanationText({ verb, permitted, fields, grants }: Explanation): string {
  const outcome = permitted === null ? 'the record decides' : permitted ? 'permitted' : 'not permitted';
  const lines = grants.map(({ grant, holds, reason, failed }) => {
    const state = holds === null ? 'depends on the record' : holds ? 'holds' : reason;
    return `  ${grant}: ${state}${failed.map((each) => `\n    ${JSON.stringify(each)}`).join('')}\n`;
  });
  return `${verb}: ${outcome}${fields ? ` (${fields.join(', ')})` : ''}\n${lines.join('')}`;
}

const PREFIX = 'plinth_access_test_';
/** The age from which a database is one that a killed command has left. */
const LEFT_MS = 3_600_000;
const LEFT = `
select datname from pg_database
where case when datname ~ '^${PREFIX}[0-9]{1,15}_[0-9]+$' then split_part(datname, '_', 4)::bigint < $1::bigint end
  and not exists (select from pg_stat_activity as session where session.datname = pg_database.datname)`;
const INSUFFICIENT_PRIVILEGE = '42501';

/** Runs work on a new, empty database of a server, and drops it. Throws ExitError if the server lets the role create none. */
function withTemporaryDatabase<T>(
  url: string,
  connectMs: number,
  work: (url: string) => Promise<T>,
): Promise<T> {
  return withSchemaConnection(url, connection, connectMs);

  async function connection({ run }: SchemaConnection): Promise<T> {
    const now = Date.now();
    const drop = (name: string) => run(`drop database if exists ${name} with (force)`, []);
    for (const { datname } of await run(LEFT, [now - LEFT_MS])) await drop(String(datname));
    const name = `${PREFIX}${now}_${process.pid}`;
    try {
      await run(`create database ${name} template template0`, []);
    } catch (error) {
      if (databaseErrorOf(error)?.code !== INSUFFICIENT_PRIVILEGE) throw error;
      throw new ExitError(
        'the role of DATABASE_URL may not create a database for the test: give it CREATEDB, or unset DATABASE_URL, so that the embedded PostgreSQL has it',
      );
    }
    try {
      // Of a parameter that a URL has twice, the last value counts.
      return await work(`${url}${url.includes('?') ? '&' : '?'}dbname=${name}`);
    } finally {
      await drop(name);
    }
  }
}
