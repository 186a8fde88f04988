import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COPY, RUN_TWICE } from '../renamed.js';
import type { Thoroughness } from '../thorough.js';
import { SETS } from './sets.js';

export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const TESTS = join(ROOT, 'dist/test');

/** A test file on its way to a worker. */
export interface TestFile {
  /** The source of the file: `test/api/batch.test.ts`, and ` (renamed)` after it if the collections have other names. */
  readonly name: string;
  /** The compiled file. */
  readonly path: string;
  readonly needsProcess: boolean;
  /** Something of the machine that only one file at a time may use: network namespaces and ports of the clusters. */
  readonly needs: string | undefined;
  /** 0, or how often the file has run before. */
  readonly turn: number;
  /** Whether it is among those that take longest. */
  readonly isLong: boolean;
  readonly timeoutMs: number;
}

/** The files that run on a Citus cluster, besides those of test/features/citus. */
const ON_CITUS = [
  ...['api', 'events'],
  ...['conditions', 'drawn-declarations', 'groups', 'includes'].map((name) => `list/${name}`),
  ...['events', 'generated', 'methods', 'surfaces'].map((name) => `access/${name}`),
  'features/access/cases',
];
/** Files about what Citus refuses: ids of clients, numbers, keys of several fields, arrays of references, and actors. */
const NOT_ON_CITUS = [
  ...['client-ids', 'numbers', 'reference-arrays', 'set-values', 'unique-keys', 'upserts'].map(
    (name) => `api/${name}`,
  ),
  'events/actors',
];

/** The set that runs by another Node: OF_NODE, and files with the names that the default set does not give them. */
const OTHER_NAMES = 'names';
/** The file about differences between versions of Node. */
const OF_NODE = 'faults/programs';

/** The set that looks for rare orders of events, and draws requests, declarations and records: each time others. */
const SOAK = 'soak';
const SOAKED = [
  'access/generated',
  'api/concurrent-creates',
  'api/linearizability',
  'api/memory',
  'api/memory-queries',
  'declarations/generated',
  'events/crash',
  'events/live',
  'events/retention',
  'faults',
  'features/issuer/crash',
  'list/conditions',
  'list/drawn-declarations',
  'list/groups',
  'list/includes',
  'list/query-plans',
  'list/word-plans',
  'list/words',
  'schema/plan-property',
];

/** All that runs on one machine, with more repetitions and cases. */
const ALL = 'all';
/** The set of continuous integration. */
const CI = 'ci';

/** Whether all errors and operations occur in the tests of a set. */
export const isWholeSet = (set: string | undefined): boolean => set === ALL || set === CI;

/** How often the tests of a set repeat; undefined in the default set, and in that of names. */
export function thoroughnessOf(set: string | undefined): Thoroughness | undefined {
  if (set === undefined || set === OTHER_NAMES) return undefined;
  return set === SOAK ? 'most' : set === ALL ? 'many' : 'whole';
}

export const isSet = (word: string): boolean =>
  [ALL, CI, OTHER_NAMES, SOAK].includes(word) || Object.hasOwn(SETS, word);

/** Files that change their process as a whole, and how, or that load much. */
const OWN_PROCESS: Readonly<Record<string, string>> = {
  'features/embedded/embedded': 'changes the locale of the process',
  ...Object.fromEntries(
    [
      'auth/schemes/api-key',
      'auth/schemes/bearer',
      'auth/tokens/introspection',
      'auth/tokens/oidc',
      'events/revoked',
      'features/issuer/clocks',
      'uuid',
    ].map((name) => [name, 'moves the clock, and ids of a process never go back']),
  ),
  'features/api-docs/openapi-tools':
    'loads a compiler and a linter, whose 200 MB a worker would have from then on',
  'access/statement-counts': 'installs an OpenTelemetry SDK',
  'telemetry/tracing': 'installs an OpenTelemetry SDK',
  'transport/node-internals': 'replaces parts of Node',
};

/** No file takes as long on any machine: the limit ends one that hangs. */
const TIMEOUT_MS = 1_200_000;

/** The folders and files that take longest. */
const LONG = [
  'faults',
  'postgres-clusters',
  'features/citus',
  'features/accounts',
  'features/pages/every-page',
  'features/pages/ten-tasks',
  'features/jobs/memory',
  'features/embedded',
  'features/workers/primary',
  'features/mcp/tools',
  'features/api-docs/docs-page',
  'features/api-docs/openapi-tools',
  'access/generated',
  'api/memory-queries',
  'declarations/generated',
  'list/query-plans',
  'list/words',
  'schema/reused-names',
  'schema/stored-records',
  'schema/windows',
  'schema/words',
  'system/docs',
  'system/package',
  'system/readme',
  'system/regular-expressions',
  'system/typed-clients',
];

/** The files of a set; of the default one if it is undefined. */
export function filesOf(set: string | undefined): TestFile[] {
  if (set === OTHER_NAMES)
    return [testFile(OF_NODE, false), ...RUN_TWICE.map((name) => testFile(name, !isRenamed(name)))];
  const isWanted = (name: string) => {
    const own = setOf(name);
    if (set === undefined) return own === undefined;
    if (set === ALL || set === CI) return own !== 'citus';
    return set === SOAK ? SOAKED.some(isBelow(name)) : isPartOf(set, name);
  };
  const hasOtherNames = set === undefined || set === ALL || set === CI;
  return presentNames()
    .filter(isWanted)
    .map((name) => testFile(name, hasOtherNames && RUN_TWICE.includes(name) && isRenamed(name)));
}

function presentNames(): string[] {
  return (
    readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.test.js'))
      .map((name) => name.slice(0, -'.test.js'.length).split(sep).join('/'))
      // tsc leaves what it made of a file that is gone.
      .filter((name) => existsSync(join(ROOT, 'test', `${name}.test.ts`)))
  );
}

/** The folders and files that this list names; a test requires that each exists. */
export const NAMED: readonly string[] = [
  ...Object.values(SETS).flat(),
  ...SOAKED,
  ...Object.keys(OWN_PROCESS),
  ...LONG,
];

const isBelow = (name: string) => (part: string) => name === part || name.startsWith(`${part}/`);
const setOf = (name: string) => Object.keys(SETS).find((set) => SETS[set]!.some(isBelow(name)));
const isPartOf = (set: string, name: string) =>
  setOf(name) === set ||
  (set === 'citus' && ON_CITUS.some(isBelow(name)) && !NOT_ON_CITUS.some(isBelow(name)));

/** Whether the default set runs a file with other names for the collections: half of the files. */
const isRenamed = (name: string): boolean => createHash('sha256').update(name).digest()[0]! % 2 === 0;

/** The file of a path as it is named on the command line: `test/api/batch.test.ts`. Throws if there is none. */
export function namedFile(path: string, renamed: boolean): TestFile {
  const name = /^(?:\.\/)?(?:dist\/)?test\/(.*)\.test\.[jt]s$/.exec(path)?.[1];
  if (name === undefined || !existsSync(join(TESTS, `${name}.test.js`)))
    throw new Error(`there is no test file ${path}`);
  return testFile(name, renamed);
}

function testFile(name: string, withOtherNames: boolean): TestFile {
  return {
    name: `test/${name}.test.ts${withOtherNames ? ' (renamed)' : ''}`,
    path: join(withOtherNames ? COPY : TESTS, `${name}.test.js`),
    turn: 0,
    needs: ['postgres-clusters', 'features/citus'].some(isBelow(name)) ? 'clusters' : undefined,
    needsProcess: Object.hasOwn(OWN_PROCESS, name),
    isLong: LONG.some(isBelow(name)),
    timeoutMs: TIMEOUT_MS,
  };
}
