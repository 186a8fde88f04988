import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { migrateCollections } from '../../src/schema/migrate-collections.js';

/*
 * The tests of the API run twice: with the built-in collections, and with collections of the same rules that files declare
 * under other names. For the second run, test/support/run.ts writes a copy of the compiled tests in which all names are
 * others: paths, fields, codes, scopes, types of events and tables.
 */

/** The words for the built-in collections and for one of their records, and those of the second run. */
const NAMES: readonly (readonly [string, string])[] = [
  ['users', 'people'],
  ['user', 'person'],
  ['posts', 'memos'],
  ['post', 'memo'],
  ['items', 'wares'],
  ['item', 'ware'],
];

/** Files of test/api, test/events and test/features/webhooks that run once, and what they are about instead of collections. */
export const RUN_ONCE: Readonly<Record<string, string>> = {
  'api/allowed-hosts': 'the field Host',
  'api/client-ids': 'declares collections of its own',
  'api/compressed-bodies': 'codings of bodies',
  'api/compression': 'codings of responses',
  'api/conditions': 'declares collections of its own',
  'api/cors': 'fields of responses to pages of other origins',
  'api/cross-site': 'signs in users, and fields of requests from pages of other origins',
  'api/errors': 'the catalogue of errors',
  'api/health': 'the state of the service',
  'api/home': 'declares a collection of its own',
  'api/large-records': 'declares collections of its own',
  'api/linearizability': 'concurrent requests to several processes',
  'api/list-lines': 'declares collections of its own',
  'api/long-bodies': 'the time that reading a body takes',
  'api/many-changes': 'declares collections of its own',
  'api/memory': 'declares collections of its own',
  'api/memory-queries': 'declares collections of its own',
  'api/numbers': 'declares collections of its own',
  'api/one-record': 'declares collections of its own',
  'api/overload': 'limits of requests and connections',
  'api/overload-connections': 'limits of requests and connections',
  'api/overload-database': 'limits of requests and connections',
  'api/overload-memory': 'limits of requests and connections',
  'api/parameter-names': 'declares collections of its own',
  'api/queries': 'declares collections of its own',
  'api/reference-arrays': 'declares collections of its own',
  'api/references': 'declares collections of its own',
  'api/searches': 'declares collections of its own',
  'api/set-values': 'declares collections of its own',
  'api/slow-bodies': 'bodies that arrive slowly',
  'api/slow-clients': 'clients that read slowly',
  'api/strict-lists': 'declares collections of its own',
  'api/unique-keys': 'declares collections of its own',
  'api/upserts': 'declares collections of its own',
  'api/version-2-lists': 'declares collections of its own',
  'api/version-retirement': 'versions of the API and their callers',
  'events/actors': 'declares collections of its own',
  'events/bound-tokens': 'declares collections of its own',
  'events/bytes': 'the space that events take',
  'events/commit-horizon': 'the order of transactions',
  'events/crash': 'processes that are killed',
  'events/live': 'declares collections of its own',
  'events/sse': 'the protocol of event streams',
  'events/tickets': 'credentials, also of users who sign in',
  'features/webhooks/access': 'declares a collection of its own',
  'features/webhooks/dispatcher': 'deliveries, whatever the event',
  'features/webhooks/receiver': 'a package for receivers',
  'features/webhooks/retry-policy': 'the times of attempts',
  'features/webhooks/ssrf-guard': 'addresses of targets',
  'features/webhooks/tls': 'certificates of targets',
  'features/webhooks/verify': 'signatures',
};

const DIST = fileURLToPath(new URL('../../', import.meta.url));
const TESTS = join(DIST, 'test');

/** The copy of dist/test, beside it so that its imports lead to the same files of src. */
export const COPY = join(DIST, 'test-renamed');

const DECLARATIONS = join(COPY, 'collections');

/** The files of a folder that run twice: `api/batch`. */
const filesOf = (folder: string): string[] =>
  readdirSync(join(TESTS, folder))
    .filter((file) => file.endsWith('.test.js'))
    .map((file) => `${folder}/${file.slice(0, -'.test.js'.length)}`)
    .filter((file) => !Object.hasOwn(RUN_ONCE, file))
    .sort();

/** The files that run with either names: their names, as `api/batch`. */
export const RUN_TWICE: readonly string[] = [
  ...['api', 'events', 'features/webhooks'].flatMap(filesOf),
  'auth/permissions',
  'features/transfer/importer',
  'formats/csv',
  'telemetry/metrics',
];

const capital = (word: string) => word[0]!.toUpperCase() + word.slice(1);

const PATTERNS: readonly (readonly [RegExp, string])[] = NAMES.flatMap(([from, to]) => [
  // As in `users`, `userId` and `user_id`; not as in `username`, `user-agent` and `accept-post`.
  [new RegExp(`(?<![A-Za-z]|accept-)${from}(?![a-z]|[-_]agent)`, 'g'), to] as const,
  [new RegExp(`(?<![A-Z]|Accept-)${capital(from)}(?![a-z]|-Agent)`, 'g'), capital(to)] as const,
  // As in USER_NOT_FOUND. POST alone is a method.
  [new RegExp(`(?<![A-Z])${from.toUpperCase()}(?=_NOT_FOUND)`, 'g'), to.toUpperCase()] as const,
]);

/** A text with the names of the second run. */
function renamed(text: string): string {
  return PATTERNS.reduce((all, [from, to]) => all.replace(from, to), text);
}

/** Writes the tests and the declarations with the names of the second run. */
export function writeRenamed(): void {
  rmSync(COPY, { recursive: true, force: true });
  for (const name of readdirSync(TESTS, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.js')) continue;
    mkdirSync(dirname(join(COPY, name)), { recursive: true });
    writeFileSync(join(COPY, name), renamed(readFileSync(join(TESTS, name), 'utf8')));
  }
  mkdirSync(DECLARATIONS, { recursive: true });
  for (const { name, schema } of readDeclarations(undefined).collections)
    writeFileSync(join(DECLARATIONS, `${renamed(name)}.json`), renamed(JSON.stringify(schema)));
}

/** Gives a migrated database the collections of the second run instead of those that can be left out. */
export async function migrateRenamed(url: string): Promise<void> {
  await migrateCollections(url, readDeclarations(undefined));
  await migrateCollections(url, readDeclarations(DECLARATIONS), { allowDrop: true });
}
