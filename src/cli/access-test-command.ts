import { isDeepStrictEqual } from 'node:util';
import { openParts } from '../app/app-parts.js';
import { embeddedOf } from '../app/open-features.js';
import { routesOf } from '../app/routes.js';
import type { Config } from '../config/config.js';
import { POSTGRESQL } from '../database-url/engine.js';
import { knownProblem } from '../db/database-errors.js';
import { openServer } from '../db/open-database.js';
import type { ExitCode } from '../errors/exit-error.js';
import type { Explanation } from '../policy/explain.js';
import { createLog } from '../telemetry/log.js';
import { type AccessCases, type Outcome, readCases } from './access-cases.js';
import { explanationsOf, explanationText, outcomeOf } from './access-outcome.js';
import { parse } from './arguments.js';
import { configOf, InputError, type Io } from './io.js';
import { print } from './output.js';
import { ACCESS_COMMANDS } from './table/access-commands.js';
import { withTemporaryDatabase } from './temporary-database.js';
import { endOf, endOfError, logOf } from './with-database.js';

/** Runs the cases of a file against the declarations. Resolves to 1 if one has another outcome. Throws UsageError and ExitError. */
export async function testRules(args: string[], io: Io): Promise<ExitCode> {
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
