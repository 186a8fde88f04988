import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from '../support/test.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Terms that the project does not use, with the term to use instead. They apply to code, comments, messages and pages. */
const TERMS: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\banswer(s|ed|ing)?\b/i, 'response, responds'],
  [/\btold\b|\btells? of\b/i, 'reported, notified, logged, published'],
  [/\bnot taken\b|\bis taken\b|\bare taken\b|\btaken off\b/i, 'accepted, already in use'],
  [/\bno good\b/i, 'invalid'],
  [/\bcounts for\b|\bdoes not count\b/i, 'applies, is ignored'],
  [/\bat the most\b|\bat the least\b|\b(MOST|LEAST)(_[A-Z]+)?\b/, 'maximum, minimum; MAX_, MIN_'],
  [/\ba try\b|\bunder way\b|\bunderWay\b/i, 'attempt, in flight'],
  [/\bturn of the event loop\b/i, 'tick'],
  [/\blent\b|\bloans?\b/i, 'checked out, lease'],
  [/\bburied\b/i, 'tombstoned'],
  [/\bkept\b|\bkeeps\b/i, 'stored, retained'],
  [/\basked( for)?\b/i, 'requested'],
  [/\bwhoever\b|\bsomebody\b|\bwhom\b/i, 'the client, the caller'],
  [/\b(has|have) to wait\b/i, 'must wait'],
  [/\bfaults? of ours\b/i, 'internal error'],
  [/\bhas none that is\b|\bof a kind\b/i, 'plain statements'],
  [
    /\bkeepHouse\b|\bLabelled\b(?! Metric)|\bwaitFor\b|\bSight\b/,
    'maintenance, labelled metric, trackWait, snapshot',
  ],
];

/** Lines with one of these have a word that looks like a term and is none, or that others prescribe. */
const EXCEPTIONS: readonly RegExp[] = [
  /RATE_LIMITED|_TAKEN\b/,
  /\blast_answer\b/, // a field of the API
  /\bANSWER_BYTES\b/, // the former name of a setting
  /\)\.waitFor\(\)/, // Playwright
];

/** Separates the words of names: isKept, ANSWER_BYTES. */
const wordsOf = (line: string) => line.replace(/([a-z\d])([A-Z])|_/g, '$1 $2');

/** Names the terms. */
const THIS_FILE = 'system/wording.test.ts';

function filesIn(folder: string, suffix: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(suffix) && name !== THIS_FILE && !name.includes('node_modules'))
    .map((name) => join(folder, name));
}

t.test('code and pages use the terms of the field', async (t) => {
  const files = [
    ...filesIn('src', '.ts'),
    ...filesIn('sql', '.sql'),
    ...filesIn('docs', '.md'),
    ...['.ts', '.js', '.md'].flatMap((suffix) =>
      ['test', 'bench', '.ci'].flatMap((folder) => filesIn(folder, suffix)),
    ),
    'README.md',
    'CONTRIBUTING.md',
  ];
  const found = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    // Few files have a term: those are read line by line.
    const terms = TERMS.filter(([pattern]) => pattern.test(text) || pattern.test(wordsOf(text)));
    return (terms.length === 0 ? [] : text.split('\n')).flatMap((line, index) =>
      terms
        .filter(
          ([pattern]) =>
            (pattern.test(line) || pattern.test(wordsOf(line))) &&
            !EXCEPTIONS.some((each) => each.test(line)),
        )
        .map(([, instead]) => `${file}:${index + 1}: ${line.trim().slice(0, 100)} (use: ${instead})`),
    );
  });
  t.ok(files.length > 1000, `${files.length} files`);
  t.same(found, []);
});
