import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COPY, RUN_TWICE } from '../renamed.js';
import type { Thoroughness } from '../thorough.js';
import { shuffled } from './random.js';
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
  ...['cases', 'events', 'generated', 'methods', 'surfaces'].map((name) => `access/${name}`),
];
/** Files about what Citus refuses: ids of clients, numbers, keys of several fields, arrays of references, and actors. */
const NOT_ON_CITUS = [
  ...['client-ids', 'numbers', 'reference-arrays', 'set-values', 'unique-keys', 'upserts'].map(
    (name) => `api/${name}`,
  ),
  'events/actors',
];

/**
 * The sets that run by another Node: OF_NODE, and files with the names that the default set has not drawn for them, all or
 * half of them, which the seed draws.
 */
const OTHER_NAMES = 'names';
const ALL_OTHER_NAMES = 'all-names';
/** The file about differences between versions of Node. */
const OF_NODE = 'faults/programs';

/** The files that look for rare orders of events, each time others. */
const SOAK = 'soak';
const REPEATING = ['api/linearizability', 'events/crash', 'features/issuer/crash'];
/** The files that draw requests, declarations and records, each time others. */
const DRAWING = [
  'access/generated',
  'access/row-level-security',
  'list/conditions',
  'list/groups',
  'list/includes',
];
const SOAKED = ['api/concurrent-creates', ...REPEATING, ...DRAWING];
/** The files that repeat more, or with more records, in thorough tests (thorough.ts). */
const THOROUGH = 'thorough';
const THOROUGH_FILES = [
  ...REPEATING,
  ...DRAWING,
  'api/memory',
  'api/memory-queries',
  'events/retention',
  'list/query-plans',
  'list/word-plans',
  'declarations/generated',
  'schema/plan-property',
  'system/regular-expressions',
];

/** All that runs on one machine: the default set, and the sets that it leaves out. */
const ALL = 'all';
/** The set of continuous integration: the default one, those of IN_CI, and a part of FURTHER that the seed draws. */
const CI = 'ci';
/** The set of which continuous integration draws a part. */
const FURTHER = 'further';
const IN_CI = ['faults', 'postgres-clusters', 'release'];
/** Of FURTHER, one of so many files runs in continuous integration. */
const DRAWN_OF = 12;

const isSoaked = (name: string) => SOAKED.includes(name) || name.startsWith('faults/');

/** Whether all errors and operations occur in the tests of a set. */
export const isWholeSet = (set: string | undefined): boolean => set === ALL || set === CI;

/** How often the tests of a set repeat; undefined in the default set, and in those of names. */
export function thoroughnessOf(set: string | undefined): Thoroughness | undefined {
  if (set === SOAK || set === THOROUGH) return 'most';
  if (set === CI) return 'whole';
  return set === undefined || set === OTHER_NAMES || set === ALL_OTHER_NAMES ? undefined : 'many';
}

export const isSet = (word: string): boolean =>
  [ALL, CI, OTHER_NAMES, ALL_OTHER_NAMES, SOAK, THOROUGH].includes(word) || Object.hasOwn(SETS, word);

/** Files that change their process as a whole, and how, or that load much. */
const OWN_PROCESS: Readonly<Record<string, string>> = {
  'features/embedded/embedded': 'changes the locale of the process',
  ...Object.fromEntries(
    [
      'auth/schemes/api-key',
      'auth/schemes/bearer',
      'auth/tokens/access-token',
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
  'api/memory-queries',
  'features/api-docs/openapi-tools',
  'list/query-plans',
  'features/embedded/backup',
  'declarations/generated',
  'features/api-docs/docs-page',
  'system/docs',
  'system/readme',
  'system/regular-expressions',
  'system/typed-clients',
];

/** The files of a set; of the default one if it is undefined. The seed draws those of a set that has some of many. */
export function filesOf(set: string | undefined, seed: number): TestFile[] {
  if (set === THOROUGH) return THOROUGH_FILES.map((name) => testFile(name, false));
  if (set === OTHER_NAMES || set === ALL_OTHER_NAMES) {
    const others = RUN_TWICE.map((name) => testFile(name, !isDrawn(name)));
    const half = shuffled(others, seed).slice(0, Math.ceil(others.length / 2));
    return [testFile(OF_NODE, false), ...(set === OTHER_NAMES ? half : others)];
  }
  const hasDrawnNames = set === undefined || set === ALL || set === CI;
  const isWanted = (name: string) => {
    const own = setOf(name);
    if (set === undefined) return own === undefined;
    if (set === ALL) return own !== 'citus';
    if (set === CI) return own === undefined || IN_CI.includes(own);
    return set === SOAK ? isSoaked(name) : isPartOf(set, name);
  };
  const names = presentNames();
  const further = set === CI ? names.filter((name) => setOf(name) === FURTHER) : [];
  const drawn = shuffled(further, seed).slice(0, Math.ceil(further.length / DRAWN_OF));
  return [...names.filter(isWanted), ...drawn].map((name) =>
    testFile(name, hasDrawnNames && RUN_TWICE.includes(name) && isDrawn(name)),
  );
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
  ...THOROUGH_FILES,
  ...Object.keys(OWN_PROCESS),
  ...LONG,
];

const isBelow = (name: string) => (part: string) => name === part || name.startsWith(`${part}/`);
const setOf = (name: string) => Object.keys(SETS).find((set) => SETS[set]!.some(isBelow(name)));
const isPartOf = (set: string, name: string) =>
  setOf(name) === set ||
  (set === 'citus' && ON_CITUS.some(isBelow(name)) && !NOT_ON_CITUS.some(isBelow(name)));

/** Whether the default set runs a file with other names for the collections: half of the files. */
const isDrawn = (name: string): boolean => createHash('sha256').update(name).digest()[0]! % 2 === 0;

/** The file of a path as it is named on the command line: `test/api/batch.test.ts`. Throws if there is none. */
export function namedFile(path: string, renamed: boolean): TestFile {
  const name = /^(?:\.\/)?(?:dist\/)?test\/(.*)\.test\.[jt]s$/.exec(path)?.[1];
  if (name === undefined || !existsSync(join(TESTS, `${name}.test.js`)))
    throw new Error(`there is no test file ${path}`);
  return testFile(name, renamed);
}

function testFile(name: string, isRenamed: boolean): TestFile {
  return {
    name: `test/${name}.test.ts${isRenamed ? ' (renamed)' : ''}`,
    path: join(isRenamed ? COPY : TESTS, `${name}.test.js`),
    turn: 0,
    needs: ['postgres-clusters', 'features/citus'].some(isBelow(name)) ? 'clusters' : undefined,
    needsProcess: Object.hasOwn(OWN_PROCESS, name),
    isLong: LONG.some(isBelow(name)),
    timeoutMs: TIMEOUT_MS,
  };
}
