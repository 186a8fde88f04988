import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CITUS } from '../../src/database-url/engine.js';
import { FEATURES } from '../../src/features.js';
import t from '../support/test.js';
import { words } from '../support/words.js';

const SRC = fileURLToPath(new URL('../../../src/', import.meta.url));
const BENCH = fileURLToPath(new URL('../../../bench/', import.meta.url));
const TEST = fileURLToPath(new URL('../../../test/', import.meta.url));

const README = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');

/** The rows of the README's code map, top to bottom: folders and files that may import from their row and those below. */
const LAYERS = README.slice(README.indexOf('## Code map'))
  .split('\n## ')[0]!
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => [...line.split('|')[1]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!));

/** The text of every TypeScript file in a folder, by its path in the folder. */
function sourcesIn(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return new Map(
    files
      .filter((name) => name.endsWith('.ts'))
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
}

const source = sourcesIn(SRC);
const files = [...source.keys()];

/** A file has the row that names it, or else that of its folder. */
function layerOf(file: string): number {
  const own = LAYERS.findIndex((layer) => layer.includes(file));
  if (own >= 0) return own;
  return LAYERS.findIndex((layer) => layer.some((name) => name.endsWith('/') && file.startsWith(name)));
}

/** The files of the folder that a file imports, also for their types, and when it runs. */
function importsOf(sources: ReadonlyMap<string, string>, file: string): string[] {
  return [...(sources.get(file) ?? '').matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)\.js'/g)]
    .map(([, path]) => `${normalize(join(dirname(file), path!))}.ts`)
    .filter((path) => !path.startsWith('..'));
}

const featureOf = (file: string): string | undefined => /^features\/([^/]+)\//.exec(file)?.[1];

t.test('every file has a layer and imports none above its own', async (t) => {
  t.ok(LAYERS.length > 10 && LAYERS.length <= 25, `the code map has ${LAYERS.length} rows`);
  const layers = new Map(files.map((file) => [file, layerOf(file)]));
  t.same(
    files.filter((file) => layers.get(file)! < 0),
    [],
    'each file has a layer',
  );
  const upwards = files.flatMap((file) =>
    importsOf(source, file)
      .filter((imported) => featureOf(imported) === undefined && layers.get(imported)! < layers.get(file)!)
      .map((imported) => `${file} -> ${imported}`),
  );
  t.same(upwards, [], 'no file imports one above it');
  for (const name of LAYERS.flat())
    t.ok(
      files.some((file) => file === name || (name.endsWith('/') && file.startsWith(name))),
      `${name} exists`,
    );
});

/** The features whose files, or statements, a file uses. */
function featuresIn(file: string): string[] {
  const statements = [...source.get(file)!.matchAll(/'(features\/[\w-]+\/)[\w.-]+\.sql'/g)];
  const used = [...importsOf(source, file), ...statements.map(([, folder]) => folder!)];
  return [...new Set(used.map(featureOf))].filter((name) => name !== undefined);
}

t.test('only the list of features imports features, by their entries and settings', async (t) => {
  const found = files
    .filter((file) => featureOf(file) === undefined && file !== 'features.ts')
    .flatMap((file) => featuresIn(file).map((feature) => `${file} -> ${feature}`));
  t.same(found, []);
  const listed = importsOf(source, 'features.ts').filter((file) => featureOf(file) !== undefined);
  t.same(
    listed.filter((file) => !/\/(feature|settings)\.ts$/.test(file)),
    [],
  );
});

t.test('a feature imports another only if the list of features says so', async (t) => {
  const names = [...new Set(files.map(featureOf).filter((name) => name !== undefined))];
  t.same(names.sort(), FEATURES.map(({ name }) => name).sort(), 'the list has each');
  for (const { name, uses = [] } of FEATURES) {
    const own = files.filter((file) => featureOf(file) === name);
    const used = own.flatMap(featuresIn).filter((other) => other !== name);
    t.same([...new Set(used)].sort(), [...uses].sort(), name);
  }
});

/** The door for features: the files of the core that they import, one a line. */
const DOOR = readFileSync(join(TEST, 'system/feature-imports.txt'), 'utf8').trim().split('\n');

t.test('features import of the core what one list names, and no file of the list re-exports', async (t) => {
  const used = files
    .filter((file) => featureOf(file) !== undefined)
    .flatMap((file) => importsOf(source, file));
  const found = new Set(used.filter((file) => featureOf(file) === undefined));
  t.same(
    [...found].filter((file) => !DOOR.includes(file)).sort(),
    [],
    'test/system/feature-imports.txt has each',
  );
  t.same(
    DOOR.filter((file) => !found.has(file)),
    [],
    'a feature imports each',
  );
  t.ok(DOOR.length <= 100, `the list has ${DOOR.length} files`);
  // The types of rows are those of the driver's file, which features do not import.
  const reexporting = DOOR.filter((file) => /^export (?:type )?(?:\{|\*)/m.test(source.get(file)!));
  t.same(reexporting, ['db/db.ts']);
});

t.test('no imports form a cycle', async (t) => {
  for (const folder of [SRC, BENCH]) {
    const sources = sourcesIn(folder);
    const done = new Set<string>();
    const walk = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) t.fail(`cycle: ${[...path.slice(path.indexOf(file)), file].join(' -> ')}`);
      else if (!done.has(file))
        for (const imported of importsOf(sources, file)) walk(imported, [...path, file]);
      done.add(file);
    };
    for (const file of sources.keys()) walk(file, []);
    t.ok(done.size >= sources.size);
  }
});

t.test('what only one place does is done in that place', async (t) => {
  const only = (pattern: RegExp, allowed: readonly string[]) => {
    const found = files.filter((file) => pattern.test(source.get(file)!));
    t.same(
      found.filter((file) => !allowed.includes(file)),
      [],
      String(pattern),
    );
    t.not(found.length, 0, `${pattern} is somewhere`);
  };
  only(/process\.env\b(?!\.PATH)/, ['cli/process-io.ts', 'db/pool/postgres-patches.ts']);
  // A command has its streams from `run`, so that it can run in any process.
  only(
    /\bprocess\??\.(exit|exitCode|stdin|stdout|stderr|argv)\b/,
    words(`
    cli/healthcheck.ts cli/plinth.ts cli/process-io.ts features/workers/worker.ts main.ts
    process/signals.ts telemetry/log-output.ts
  `),
  );
  only(
    /\.unsafe[<(]/,
    words(`
    db/bulk-connection.ts db/db.ts db/migrate.ts db/schema-connection.ts db/session.ts db/pool/copy.ts
    db/pool/postgres-patches.ts db/pool/prepared.ts features/doctor/inspection.ts
  `),
  );
  only(/new Connection\(/, ['db/pool/host-dialler.ts']);
  only(/'plinth\.(events|tombstones)'|application_name: '/, [
    'db/pool/connection.ts',
    'db/open-database.ts',
    'db/session-settings.ts',
    'features/doctor/inspection.ts',
    'features/embedded/backup.ts',
  ]);
  // All else names statements by properties, which the compiler knows.
  only(/\breadStatements\(/, ['db/statements.ts']);
  only(/\bstatementsOn\(/, [
    'collection/sql-templates.ts',
    'db/core-statements.ts',
    'db/statements.ts',
    'features/transfer/import-statements.ts',
    'list/list-sql.ts',
  ]);
  only(/prepare: true/, ['db/pool/connection.ts', 'db/pool/prepared.ts']);
  only(/new Problem\(/, ['errors/problem.ts', 'errors/service-errors.ts']);
  only(/ define\(/, [
    ...files.filter((file) => /^errors\/[\w-]+-errors\.ts$/.test(file)),
    ...files.filter((file) => /^features\/[\w-]+\/errors\.ts$/.test(file)),
  ]);
  only(/\.writeHead\(/, [
    'features/issuer/login.ts',
    'features/webhooks/listen-command.ts',
    'transport/response-writer.ts',
    'transport/response-stream.ts',
  ]);
  only(/\b_(header|readableState|httpMessage|handle|dumped|keepAliveTimeout)\b/, [
    'transport/node-internals.ts',
  ]);
});

/** The names of files that each feature may have, and that are the same in all features. */
const OF_FEATURES = ['feature', 'settings', 'commands', 'endpoints', 'errors', 'metrics'];

t.test('no code compares the names of engines: what differs is a member of one', async (t) => {
  const comparing = files.filter((file) => /[=!]== '(?:citus|postgresql)'/.test(source.get(file)!));
  t.same(comparing, []);
  t.ok(Object.keys(CITUS).length <= 12);
});

t.test('a name leads to one file', async (t) => {
  const names = files.map((file) => file.split('/').at(-1)!.replace(/\.ts$/, ''));
  const repeated = names.filter((name, at) => names.indexOf(name) !== at && !OF_FEATURES.includes(name));
  t.same(repeated, []);
});

t.test('a file of less than 20 lines has several users, or is a part of each feature', async (t) => {
  const users = new Map<string, Set<string>>();
  for (const file of files)
    for (const imported of importsOf(source, file))
      users.set(imported, (users.get(imported) ?? new Set()).add(file));
  const small = files.filter(
    (file) =>
      source.get(file)!.split('\n').length <= 20 &&
      users.get(file)?.size === 1 &&
      !OF_FEATURES.some((name) => file.endsWith(`/${name}.ts`)),
  );
  // The command of the first is loaded on demand, and a bundle replaces the second.
  t.same(small.sort(), ['features/issuer/rotate-keys.ts', 'features/mcp/sdk.ts']);
});

/** Files whose exports are for other packages, or for a list of all errors. */
const WITH_OTHER_USERS =
  /^(create-plinth|features\/webhooks\/verify|errors\/[\w-]+-errors|features\/[\w-]+\/errors)\.ts$/;

t.test('a value that a file exports has a user in another file', async (t) => {
  /** The words of each of the files that import a file of this name. */
  const words = new Map<string, ReadonlySet<string>[]>();
  for (const [, text] of [SRC, BENCH, TEST].flatMap((folder) => [...sourcesIn(folder)])) {
    const own = new Set(text.match(/\w+/g));
    for (const [, name] of text.matchAll(/'\.[^']*?([\w-]+)\.js'/g))
      words.set(name!, [...(words.get(name!) ?? []), own]);
  }
  const unused = files
    .filter((file) => !WITH_OTHER_USERS.test(file))
    .flatMap((file) => {
      const known = words.get(file.split('/').at(-1)!.slice(0, -3));
      const exported = source.get(file)!.matchAll(/^export (?:async )?(?:const|function\*?|class) (\w+)/gm);
      return [...exported]
        .filter(([, name]) => !known?.some((each) => each.has(name!)))
        .map(([, name]) => `${file}: ${name}`);
    });
  t.same(unused, []);
});

t.test('no file outgrows its one noun', async (t) => {
  const long = files.filter((file) => source.get(file)!.split('\n').length > 400);
  t.same(long, [], 'each is short enough to read at once');
  t.notOk(files.some((file) => /(^|\/)(lib|utils?|helpers?|common|types|index)\.ts$/.test(file)));
});
