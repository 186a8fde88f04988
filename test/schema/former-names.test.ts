import { checkDeclarations } from '../../src/declarations/check-declarations.js';
import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { migrateCollections, planCollections } from '../../src/schema/migrate-collections.js';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { undeclaredDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const collection = (properties: object, was?: string) => ({
  type: 'object',
  properties,
  ...(was === undefined ? {} : { 'x-collection': { was } }),
});
const text = { type: 'string' };
const was = (name: string) => ({ ...text, 'x-was': name });
const [A, AB, B_WAS_A, TITLE] = [{ a: text }, { a: text, b: text }, { b: was('a') }, { title: text }];

/** A database to which these declarations were applied, and the plan for others: its steps, or its faults. */
async function applied(t: Test, before: Record<string, object>) {
  const url = await undeclaredDatabase(t);
  await migrateCollections(url, readDeclarations(declare(t, before)));
  return {
    url,
    planOf: async (after: Record<string, object>) => {
      try {
        const declarations = readDeclarations(declare(t, after));
        checkDeclarations(declarations);
        const { steps } = await planCollections(url, declarations);
        return steps.map(({ title }) => title).join('\n');
      } catch (error) {
        return (error as Error).message;
      }
    },
  };
}

t.test('a former name of a field is carried out, or reported', async (t) => {
  const rows: [says: string, before: object, after: object, expected: RegExp][] = [
    ['a rename', A, B_WAS_A, /\nRename the field a of things\d+ to b/],
    ['two renames', AB, { c: was('a'), d: was('b') }, /field a .* c .*\n.*field b .* d /],
    ['an exchange', AB, { a: was('b'), b: was('a') }, /\/a\/x-was: leads back[\s\S]*\/b\/x-was: leads/],
    ['a cycle', { ...AB, c: text }, { a: was('b'), b: was('c'), c: was('a') }, /\/c\/x-was: leads back/],
    ['itself', A, { a: was('a') }, /\/a\/x-was: is the present name, too/],
    ['one name twice', A, { b: was('a'), c: was('a') }, /\/c\/x-was: is the former name of b, too/],
    ['both are stored', AB, B_WAS_A, /\/b\/x-was: has no effect: the database has both a and b/],
    ['both stay', AB, { a: text, b: was('a') }, /has no effect: the database has both a and b/],
    ['a chain', AB, { c: was('b'), b: was('a') }, /\/b\/x-was: has no effect: the database has both/],
    [
      'the former field stays',
      A,
      { a: text, b: was('a') },
      /would take the values of a, which is declared, too/,
    ],
    [
      'a misspelt name',
      TITLE,
      { name: was('titel') },
      /no field titel, and title would no longer be declared/,
    ],
    [
      'a name in other case',
      { ...TITLE, n: text },
      { name: was('Title'), n: text },
      /no field Title, and title/,
    ],
    ['a name with a slash', { 'a/b': text }, { 'c/d': was('a/c') }, /c~1d\/x-was: the database has no field/],
    ['an inherited name', A, { b: was('constructor') }, /no field constructor, and a would/],
    ['a new field that was renamed before it was applied', A, { a: text, c: was('b') }, /^$/],
    ['a rename that was carried out', B_WAS_A, B_WAS_A, /^$/],
    ['a rename that was carried out, and the name is used again', B_WAS_A, { b: was('a'), a: text }, /^$/],
    ['back again', B_WAS_A, { a: was('b') }, /\nRename the field b of things\d+ to a/],
    ['a former name that is removed', B_WAS_A, { b: text }, /^$/],
    ['a rename beside a dropped field', { a: text, old: text }, B_WAS_A, /\nRename the field a/],
  ];
  const name = (index: number) => `things${index}.json`;
  const before = Object.fromEntries(rows.map(([, fields], index) => [name(index), collection(fields)]));
  const { planOf } = await applied(t, before);
  for (const [index, [says, , fields, expected]] of rows.entries())
    t.match(await planOf({ ...before, [name(index)]: collection(fields) }), expected, says);
});

t.test('a former name of a collection is carried out, or reported', async (t) => {
  const before = { 'books.json': collection({ a: text }), 'authors.json': collection({ b: text }) };
  const { planOf, url } = await applied(t, before);
  const works = (fields: object, former: string) => ({
    'works.json': collection(fields, former),
    'authors.json': before['authors.json'],
  });
  const rows: [says: string, after: Record<string, object>, expected: RegExp][] = [
    ['a rename', works(A, 'books'), /books.* works/],
    ['a rename with a field that is renamed', works({ c: was('a') }, 'books'), /field a of works to c/],
    [
      'a misspelt field of a renamed collection',
      works({ c: was('aa') }, 'books'),
      /works\.json#\/properties\/c\/x-was: the database has no field aa, and a would/,
    ],
    [
      'a misspelt name',
      works(A, 'boks'),
      /was: the database has no collection boks, and books would no longer be declared/,
    ],
    [
      'the former collection stays',
      { ...before, ...works(A, 'books') },
      /was: would take the records of books, which is declared, too/,
    ],
    [
      'an exchange',
      { 'books.json': collection({ b: text }, 'authors'), 'authors.json': collection(A, 'books') },
      /authors\.json#\/x-collection\/was: leads back[\s\S]*books\.json#\/x-collection\/was: leads back/,
    ],
    ['a new collection', { ...before, ...works(A, 'novels') }, /Create the table works/],
    ['nothing', before, /^$/],
  ];
  for (const [says, after, expected] of rows) t.match(await planOf(after), expected, says);
  const COLLECTIONS = declare(t, works(A, 'boks'));
  for (const args of [['migrate', '--plan'], ['migrate'], ['migrate', '--allow-drop']])
    t.match(await plinth(t, args, { DATABASE_URL: url, COLLECTIONS }), {
      code: 78,
      err: /no collection boks/,
    });
});
