import { readFileSync, statSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { openParts, type Parts } from '../app/app-parts.js';
import { embeddedOf } from '../app/open-features.js';
import { routesOf } from '../app/routes.js';
import type { Config } from '../config/config.js';
import { problemOf } from '../db/database-errors.js';
import { openServer } from '../db/open-database.js';
import { loadDeclarations } from '../declarations/load-declarations.js';
import type { ExitCode } from '../errors/exit-error.js';
import { Problem } from '../errors/problem.js';
import { textOf as decoded } from '../formats/text-encoding.js';
import { createLog } from '../telemetry/log.js';
import { type ExpectedOutcome, MAX_CASES_BYTES } from './access-case-form.js';
import { type AccessCases, type GivenRecord, readCases } from './access-cases.js';
import { explanationsOf, outcomeOf, type Requested } from './access-outcome.js';
import { parse } from './arguments.js';
import { InputError, UsageError } from './exit.js';
import { explanationText } from './explanation-text.js';
import { configOf, fileOf, type Io } from './io.js';
import { print } from './output.js';
import { ACCESS_COMMANDS } from './table/access-commands.js';
import { withTemporaryDatabase } from './temporary-database.js';
import { endOf, logOf } from './with-database.js';

/** Runs the cases of a file against the declarations. Resolves to 1 if one has another outcome. Throws UsageError and ExitError. */
export async function testRules(args: string[], io: Io): Promise<ExitCode> {
  const { values, positionals } = parse(ACCESS_COMMANDS, 'access', 'test', args);
  const [file = 'access.test.json', ...others] = positionals;
  if (others.length > 0) throw new UsageError('name one file', 'access');
  const config = configOf(io);
  const { collections } = await loadDeclarations(config);
  const names = collections.map(({ name }) => name);
  const given = readCases(textOf(io, file), file, names);
  const failures = await onTemporaryDatabase(io, config, (service) => failuresOf(service, given, file));
  const passed = given.cases.length - failures.length;
  const text = failures.map(failureText).join('');
  print(
    io,
    values.json,
    { passed, failed: failures },
    `${text}${passed} passed, ${failures.length} failed\n`,
  );
  return failures.length > 0 ? 1 : 0;
}

function textOf(io: Io, file: string): string {
  try {
    const path = fileOf(io, file);
    if (statSync(path).size > MAX_CASES_BYTES)
      throw new InputError(`${file} has more than ${MAX_CASES_BYTES} bytes`);
    return decoded(readFileSync(path));
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

/** Opens a service without a listener on a new database, which is dropped afterwards. Throws ExitError. */
async function onTemporaryDatabase<T>(
  io: Io,
  config: Config,
  work: (service: Requested) => Promise<T>,
): Promise<T> {
  io.process?.exitOnSignals();
  const server = await openServer(config, logOf(io, config), true, embeddedOf(io.features));
  const closers: (() => unknown)[] = [];
  try {
    return await withTemporaryDatabase(server.url, config.dbTimeoutMs, async (databaseUrl) => {
      try {
        return await work(
          openService(
            await openParts(isolated(config, databaseUrl), createLog('silent'), [], undefined, closers),
          ),
        );
      } finally {
        for (const close of closers.reverse()) await close();
      }
    });
  } catch (error) {
    const problem = error instanceof Problem ? error : problemOf(error);
    throw problem ? endOf(problem) : error;
  } finally {
    await server.close();
  }
}

/** The settings of a service that has nothing in common with others but the declarations. The new database is not distributed. */
const isolated = (config: Config, databaseUrl: string): Config => ({
  ...config,
  databaseUrl,
  databaseEngine: 'postgresql',
  migrate: 'auto',
  dataChanges: undefined,
  auth: [],
  events: false,
  metricsPort: undefined,
  rateLimitStore: 'memory',
});

function openService(parts: Parts): Requested {
  const { router } = routesOf(parts, async () => undefined as never, []);
  return { db: parts.database.db, collections: parts.collections, router };
}

/** A case with another outcome than the expected one, and the rules that led to it. */
interface Failed {
  readonly case: string;
  readonly title: string;
  readonly expected: ExpectedOutcome;
  readonly actual: ExpectedOutcome;
  readonly explanation: Awaited<ReturnType<typeof explanationsOf>>;
}

/** The most records whose rules a failure explains. */
const MAX_EXPLAINED = 3;

async function failuresOf(service: Requested, given: AccessCases, file: string): Promise<Failed[]> {
  for (const record of given.records) await load(service, record, file);
  const failures: Failed[] = [];
  for (const each of given.cases) {
    const actual = named(await outcomeOf(service, each), given);
    const expected = named(each.expected, given);
    const members = Object.keys(expected) as (keyof ExpectedOutcome)[];
    if (members.every((name) => isDeepStrictEqual(expected[name], actual[name]))) continue;
    const explanation = await explanationsOf(service, each, differing(expected, actual, given));
    failures.push({ case: each.pointer, title: each.title, expected, actual, explanation });
  }
  return failures;
}

async function load({ collections }: Requested, record: GivenRecord, file: string): Promise<void> {
  const { whole } = collections.find(({ resource }) => resource.name === record.collection)!;
  try {
    await whole.createWithId(record.id, whole.check(record.body, 'import'));
  } catch (error) {
    const problem = error instanceof Problem ? error : problemOf(error);
    if (!problem || problem.status >= 500) throw error;
    throw new InputError(`${file}#${record.pointer}: ${endOf(problem).message}`);
  }
}

/** An outcome with sorted lists, and the names of records in place of their ids. */
function named(outcome: ExpectedOutcome, { names }: AccessCases): ExpectedOutcome {
  const { ids, fields, denied, ...rest } = outcome;
  return {
    ...rest,
    ...(ids && { ids: ids.map((id) => names.get(id) ?? id).sort() }),
    ...(fields && { fields: fields.toSorted() }),
    ...(denied && { denied: denied.toSorted() }),
  };
}

/** The ids of records that are in one of two outcomes alone. */
function differing(expected: ExpectedOutcome, actual: ExpectedOutcome, { names }: AccessCases): string[] {
  if (!expected.ids || !actual.ids) return [];
  const [all, found] = [new Set(expected.ids), new Set(actual.ids)];
  return [...names]
    .filter(([, name]) => all.has(name) !== found.has(name))
    .map(([id]) => id)
    .slice(0, MAX_EXPLAINED);
}

function failureText({ case: pointer, title, expected, actual, explanation }: Failed): string {
  const why = explanation
    .map(explanationText)
    .join('')
    .replace(/^(?=.)/gm, '  ');
  return `failed ${pointer} ${title}\n  expected ${shown(expected, expected)}\n  got      ${shown(actual, expected)}\n${why}`;
}

/** The members of an outcome that a case is about, and the error. */
function shown({ status, code, ...lists }: ExpectedOutcome, expected: ExpectedOutcome): string {
  const parts = Object.entries(lists)
    .filter(([name]) => Object.hasOwn(expected, name) || name === 'denied')
    .map(([name, values]) => `${name} ${values.length === 0 ? 'none' : values.join(', ')}`);
  return [code === undefined ? status : `${status} ${code}`, ...parts].join('; ');
}
