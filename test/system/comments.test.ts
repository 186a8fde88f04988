import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from '../support/test.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Comments that cannot be read alone, in a hover: they have no subject of their own. */
const RULES: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/(?:^|[.;:]\s)What\b[^?]*(?:$|\.)/, 'name the thing instead of `what`'],
  [/^(?:The|And the) same\b(?! \w+ (?:as|that|for|in|of)\b)/, 'name the thing instead of `the same`'],
  [/^(?:It|They|Those|These|Its|Their|Theirs|That of)\b/, 'name the thing instead of a pronoun'],
  [/^(?:One|Each|Both|Some|All|None|Neither) of (?:them|these|those)\b/, 'name the things'],
];

/** Files that still have such comments. The list only becomes shorter. */
const KNOWN: ReadonlySet<string> = new Set([
  'src/db/migrate.ts',
  'src/db/object-names.ts',
  'src/db/pool/host-dialler.ts',
]);

interface Comment {
  readonly line: number;
  readonly text: string;
}

/** The comments of a file, each on one line. A comment behind code is not included. */
function commentsIn(text: string, mark: '//' | '--'): Comment[] {
  const found: Comment[] = [];
  let open: { line: number; parts: string[]; isBlock: boolean } | undefined;
  const close = () => {
    if (open) found.push({ line: open.line, text: open.parts.join(' ').replace(/\s+/g, ' ').trim() });
    open = undefined;
  };
  for (const [at, whole] of text.split('\n').entries()) {
    const line = whole.trim();
    if (!open?.isBlock && line.startsWith('/**')) close();
    if (open?.isBlock || line.startsWith('/**')) {
      open ??= { line: at + 1, parts: [], isBlock: true };
      open.parts.push(line.replace(/^\/?\*+\/?/, '').replace(/\*\/$/, ''));
      if (line.endsWith('*/')) close();
    } else if (line.startsWith(mark) && !line.startsWith('-- name:')) {
      open ??= { line: at + 1, parts: [], isBlock: false };
      open.parts.push(line.slice(2));
    } else close();
  }
  close();
  return found;
}

function filesIn(folder: string, suffix: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(suffix) && !/migrations\/|fixtures\/|node_modules/.test(name))
    .map((name) => join(folder, name));
}

const FILES = [
  ...['src', 'test', 'bench'].flatMap((folder) => filesIn(folder, '.ts')),
  ...filesIn('bench', '.js'),
  ...filesIn('sql', '.sql'),
];

const faultsOf = (file: string): string[] =>
  commentsIn(readFileSync(join(ROOT, file), 'utf8'), file.endsWith('.sql') ? '--' : '//').flatMap(
    ({ line, text }) =>
      RULES.filter(([pattern]) => pattern.test(text)).map(
        ([, instead]) => `${file}:${line}: ${text.slice(0, 100)} (${instead})`,
      ),
  );

t.test('comments can be read alone', async (t) => {
  t.ok(FILES.length > 900, `${FILES.length} files`);
  const faulty = new Map(FILES.map((file) => [file, faultsOf(file)]));
  for (const [file, faults] of faulty) if (!KNOWN.has(file)) t.same(faults, [], file);
  const done = [...KNOWN].filter((file) => (faulty.get(file) ?? []).length === 0);
  t.same(done, [], 'the list has only files with such comments');
});

t.test('the rules find comments without a subject, and no others', async (t) => {
  const isFaulty = (text: string) => RULES.some(([pattern]) => pattern.test(text));
  const faulty = [
    'What a request needs.',
    'A limit. What exceeds it is refused.',
    'The same for a preflight.',
    'Its name in statements.',
    'Those of a cycle refer to each other.',
    'One of them.',
  ];
  const readable = [
    'The parts of a request.',
    'The same order as in the file.',
    'One of the two signals.',
    'Each of the three segments.',
    'Italic text.',
  ];
  t.same(
    faulty.map(isFaulty),
    faulty.map(() => true),
  );
  t.same(
    readable.map(isFaulty),
    readable.map(() => false),
  );
  t.same(commentsIn('/** One. */\ncode();\n// Two\n// lines.\n/**\n * Three\n */\n', '//'), [
    { line: 1, text: 'One.' },
    { line: 3, text: 'Two lines.' },
    { line: 5, text: 'Three' },
  ]);
});
