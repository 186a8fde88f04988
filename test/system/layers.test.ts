import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const SRC = fileURLToPath(new URL('../../../src/', import.meta.url));

/** Top to bottom; a file imports from its own layer and those below. The first prefix that fits decides. */
const LAYERS = [
  ['main.ts', 'import.ts', 'cli.ts', 'health.ts', 'verify-webhook.ts'],
  ['alone.ts', 'workers/'],
  ['service.ts', 'importer.ts', 'database.ts'],
  ['scrape.ts'],
  ['server.ts', 'drain.ts'],
  ['pipeline.ts'],
  ['answer.ts'],
  ['exchange.ts'],
  ['routes.ts', 'operator-routes.ts'],
  ['actions/'],
  ['http/'],
  ['webhooks/'],
  ['auth/', 'events/'],
  ['collection.ts', 'formats/', 'resources/', 'readiness.ts'],
  ['reads.ts'],
  ['statements.ts', 'grouped.ts', 'amend.ts', 'draft.ts', 'violation.ts', 'stored-password.ts'],
  ['record.ts'],
  ['db/', 'validate.ts'],
  [
    'password.ts',
    'password-hash.ts',
    'password-queue.ts',
    'common-password.ts',
    'errors.ts',
    'limit-errors.ts',
    'problem.ts',
    'codes.ts',
    'config',
    'tls.ts',
    'bind.ts',
    'signals.ts',
    'rules.ts',
    'resource.ts',
    'json.ts',
    'uuid.ts',
    'log.ts',
    'log-lines.ts',
    'observe/',
    'response-memory.ts',
    'pem.ts',
    'email.ts',
    'long-task.ts',
    'parse-limit.ts',
    'turns.ts',
    'principal.ts',
    'request-mac.ts',
  ],
];

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
const source = new Map(files.map((file) => [file, readFileSync(join(SRC, file), 'utf8')]));

const layerOf = (file: string) =>
  LAYERS.findIndex((layer) => layer.some((prefix) => file.startsWith(prefix)));

function importsOf(file: string): string[] {
  return [...source.get(file)!.matchAll(/from '(\.[^']+)\.js'/g)].map(
    ([, path]) => `${normalize(join(dirname(file), path!))}.ts`,
  );
}

t.test('every file has a layer and imports none above its own', async (t) => {
  for (const file of files) {
    t.ok(layerOf(file) >= 0, `${file} has a layer`);
    for (const imported of importsOf(file))
      t.ok(layerOf(imported) >= layerOf(file), `${file} may import ${imported}`);
  }
});

t.test('no imports form a cycle', async (t) => {
  const done = new Set<string>();
  const walk = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) t.fail(`cycle: ${[...path, file].join(' -> ')}`);
    else if (!done.has(file)) for (const imported of importsOf(file)) walk(imported, [...path, file]);
    done.add(file);
  };
  for (const file of files) walk(file, []);
  t.equal(done.size, files.length);
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
  only(/process\.env\b(?!\.PATH)/, ['config.ts']);
  only(/\.unsafe[<(]/, ['db/connect.ts', 'db/migrate.ts', 'db/prepared.ts']);
  only(/prepare: true/, ['db/prepared.ts']);
  only(/new Problem\(/, ['errors.ts', 'limit-errors.ts']);
  only(/\.writeHead\(/, ['http/reply.ts', 'http/stream.ts']);
  only(/\b_header\b/, ['http/whole.ts']);
  only(/\b_readableState\b/, ['http/body.ts']);
});

t.test('no file outgrows its one noun', async (t) => {
  for (const [file, text] of source)
    t.ok(text.split('\n').length <= 240, `${file} is short enough to read at once`);
  t.notOk(files.some((file) => /(^|\/)(lib|utils?|helpers?|common|types|index)\.ts$/.test(file)));
});
