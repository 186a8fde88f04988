import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serviceTables } from '../../src/db/migrate.js';
import { FEATURES } from '../../src/features.js';
import { settings } from '../support/settings.js';
import t from '../support/test.js';
import { words } from '../support/words.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const read = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'));

/** The pages whose names of files, tables and settings must exist. */
const NAMED = ['docs/architecture.md', 'docs/security.md', 'docs/glossary.md', 'docs/changelog.md'];

/** Names in capital letters that are no settings, and settings that the changelog says are gone. */
const CAPITALS = new Set([
  ...words(`
    NAME GET HEAD POST DELETE OPTIONS PATCH PUT NOTIFY CSV JSON NDJSON QUERY KEY API WWW
  `),
  // A variable of the Compose file.
  'VERSION',
]);
const GONE = /^\| `[A-Z].* no settings? any more.*/gm;

const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name]) => name!);

/** The code spans and diagrams of a page; of the changelog, without the versions before. */
const codeOf = (page: string): string =>
  all(read(page).split('\n## 0.1.0\n')[0]!.replace(GONE, ''), /(```[\s\S]*?```|`[^`\n]+`)/g).join('\n');

t.test('the files that pages about the code name exist', async (t) => {
  for (const page of NAMED) {
    const paths = all(codeOf(page), /((?:src|sql|test|docs|deploy)\/[\w./-]*\w\/?)/g);
    t.same(
      paths.filter((path) => !existsSync(join(ROOT, path))),
      [],
      page,
    );
    if (page.endsWith('architecture.md')) t.ok(paths.length > 40, `${paths.length} paths`);
  }
});

/** Names of constants, functions and types, and the file that has them: `` `OPERATORS` and `byType` in `src/list/condition.ts` ``. */
const NAMES_IN_FILE =
  /((?:`\w+(?:\(\))?`(?:, | and )?)+),? (?:in|of) (?:the table of )?`((?:[\w.-]+\/)*[\w.-]+\.ts)`/g;

t.test('what pages place in a file of the code is declared there', async (t) => {
  const files = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => !name.includes('node_modules'))
      .map((name) => `/${folder}/${name}`),
  );
  let places = 0;
  for (const page of ['CONTRIBUTING.md', ...NAMED])
    for (const [text, names, path] of read(page).matchAll(NAMES_IN_FILE)) {
      // A row that has named a folder names further files of it without the folder.
      const sources = files.filter((file) => file.endsWith(`/${path}`)).map((file) => read(file));
      const declared = all(names!, /`(\w+)/g).map(
        (name) => new RegExp(`\\b(?:const|function|class|type|interface) ${name}\\b`),
      );
      t.ok(
        sources.some((source) => declared.every((pattern) => pattern.test(source))),
        `${page}: ${text}`,
      );
      places++;
    }
  t.ok(places > 5, `${places} places`);
});

t.test('the settings that pages about the code name exist', async (t) => {
  const known = new Set([...settings(), ...CAPITALS]);
  for (const page of NAMED) {
    const names = all(codeOf(page), /\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{3,})\b/g);
    t.same(
      names.filter((name) => !known.has(name)),
      [],
      page,
    );
  }
});

t.test('docs/architecture.md names every table of the service, and no other', async (t) => {
  const page = read('docs/architecture.md');
  const rows = page
    .slice(page.indexOf('### The tables of the service'))
    .split('\n\n')[1]!
    .split('\n')
    .slice(2);
  const listed = rows.flatMap((row) => all(row.split('|')[1]!, /`(\w+)`/g));
  const tables = serviceTables().filter((name) => !/_[123]$/.test(name));
  t.same(listed.sort(), [...tables].sort());
  const diagram = page.slice(page.indexOf('erDiagram')).split('```')[0]!;
  const drawn = all(diagram.replace(/"[^"]*"/g, ''), /\b([a-z_]{4,})\b/g);
  const known = new Set([...tables, 'users', 'items', 'posts']);
  t.same(
    drawn.filter((name) => !known.has(name)),
    [],
  );
});

t.test('docs/architecture.md has a row for every feature', async (t) => {
  const part = read('docs/architecture.md').split('\n## Features\n')[1]!.split('\n## ')[0]!;
  t.same(
    all(part, /^\| `([\w-]+)` \|/gm),
    FEATURES.map(({ name }) => name),
  );
});

/** The anchor of a heading, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

t.test('links between pages lead to a file, and to a heading of it', async (t) => {
  const anchors = new Map(PAGES.map((page) => [page, new Set(all(read(page), /^#+ (.*)$/gm).map(anchorOf))]));
  for (const page of PAGES) {
    const links = all(read(page).replace(/```[\s\S]*?```/g, ''), /\]\((?!https?:)([^)\s]+)\)/g);
    const broken = links.filter((link) => {
      const [path, anchor] = link.split('#') as [string, string | undefined];
      const target = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && anchors.get(target)?.has(anchor) === false;
    });
    t.same(broken, [], page);
  }
});
