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
    ['a rename', { a: text }, { b: was('a') }, /\nRename the field a of things\d+ to b/],
    ['two renames', { a: text, b: text }, { c: was('a'), d: was('b') }, /field a .* c .*\n.*field b .* d /],
    [
      'an exchange',
      { a: text, b: text },
      { a: was('b'), b: was('a') },
      /\/a\/x-was: leads back[\s\S]*\/b\/x-was: leads/,
    ],
    [
      'a cycle',
      { a: text, b: text, c: text },
      { a: was('b'), b: was('c'), c: was('a') },
      /\/c\/x-was: leads back/,
    ],
    ['itself', { a: text }, { a: was('a') }, /\/a\/x-was: is the present name, too/],
    ['one name twice', { a: text }, { b: was('a'), c: was('a') }, /\/c\/x-was: is the former name of b, too/],
    [
      'both are stored',
      { a: text, b: text },
      { b: was('a') },
      /\/b\/x-was: has no effect: the database has both a and b/,
    ],
    [
      'both stay',
      { a: text, b: text },
      { a: text, b: was('a') },
      /has no effect: the database has both a and b/,
    ],
    [
      'a chain',
      { a: text, b: text },
      { c: was('b'), b: was('a') },
      /\/b\/x-was: has no effect: the database has both/,
    ],
    [
      'the former field stays',
      { a: text },
      { a: text, b: was('a') },
      /would take the values of a, which is declared, too/,
    ],
    [
      'a misspelt name',
      { title: text },
      { name: was('titel') },
      /no field titel, and title would no longer be declared/,
    ],
    [
      'a name in other case',
      { title: text, n: text },
      { name: was('Title'), n: text },
      /no field Title, and title would/,
    ],
    [
      'a name with a slash',
      { 'a/b': text },
      { 'c/d': was('a/c') },
      /#\/properties\/c~1d\/x-was: the database has no field/,
    ],
    ['an inherited name', { a: text }, { b: was('constructor') }, /no field constructor, and a would/],
    [
      'a new field of a declaration that was renamed before it was applied',
      { a: text },
      { a: text, c: was('b') },
      /^$/,
    ],
    ['a rename that was carried out', { b: was('a') }, { b: was('a') }, /^$/],
    [
      'a rename that was carried out, and the name is used again',
      { b: was('a') },
      { b: was('a'), a: text },
      /^$/,
    ],
    ['back again', { b: was('a') }, { a: was('b') }, /\nRename the field b of things\d+ to a/],
    ['a former name that is removed', { b: was('a') }, { b: text }, /^$/],
    ['a rename beside a dropped field', { a: text, old: text }, { b: was('a') }, /\nRename the field a/],
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
  const { 'books.json': books, 'authors.json': authors } = before;
  const rows: [says: string, after: Record<string, object>, expected: RegExp][] = [
    [
      'a rename',
      { 'works.json': collection({ a: text }, 'books'), 'authors.json': authors },
      /books.* works/,
    ],
    [
      'a rename with a field that is renamed',
      { 'works.json': collection({ c: was('a') }, 'books'), 'authors.json': authors },
      /field a of works to c/,
    ],
    [
      'a misspelt field of a renamed collection',
      { 'works.json': collection({ c: was('aa') }, 'books'), 'authors.json': authors },
      /works\.json#\/properties\/c\/x-was: the database has no field aa, and a would/,
    ],
    [
      'a misspelt name',
      { 'works.json': collection({ a: text }, 'boks'), 'authors.json': authors },
      /works\.json#\/x-collection\/was: the database has no collection boks, and books would no longer be declared/,
    ],
    [
      'the former collection stays',
      { ...before, 'works.json': collection({ a: text }, 'books') },
      /was: would take the records of books, which is declared, too/,
    ],
    [
      'an exchange',
      { 'books.json': collection({ b: text }, 'authors'), 'authors.json': collection({ a: text }, 'books') },
      /authors\.json#\/x-collection\/was: leads back[\s\S]*books\.json#\/x-collection\/was: leads back/,
    ],
    [
      'a new collection',
      { ...before, 'works.json': collection({ a: text }, 'novels') },
      /Create the table works/,
    ],
    ['nothing', { 'books.json': books, 'authors.json': authors }, /^$/],
  ];
  for (const [says, after, expected] of rows) t.match(await planOf(after), expected, says);
  const COLLECTIONS = declare(t, { 'works.json': collection({ a: text }, 'boks'), 'authors.json': authors });
  for (const args of [['migrate', '--plan'], ['migrate'], ['migrate', '--allow-drop']])
    t.match(await plinth(t, args, { DATABASE_URL: url, COLLECTIONS }), {
      code: 78,
      err: /no collection boks/,
    });
});
