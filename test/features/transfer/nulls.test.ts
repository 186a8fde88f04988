import t from '../../support/test.js';
import { importing } from './imports.js';

const text = { type: 'string' } as const;
const DECLARATION = {
  title: 'Thing',
  type: 'object',
  properties: {
    name: { ...text, 'x-index': true },
    note: { type: ['string', 'null'] },
    rating: { type: ['number', 'null'] },
    needed: { type: ['string', 'null'] },
    nested: { type: 'object' },
  },
  required: ['needed'],
};
/** Members that are null: declared ones, a required one, an undeclared one, and those within an object. */
const GIVEN = {
  name: null,
  note: null,
  rating: null,
  needed: null,
  other: null,
  nested: { a: null, b: [null] },
};
const FILES: readonly [name: string, content: string][] = [
  ['things.json', JSON.stringify([GIVEN])],
  ['things.ndjson', `${JSON.stringify(GIVEN)}\n`],
  ['things.csv', 'name,note,rating,needed,other,nested\n,,,,,"{""a"":null,""b"":[null]}"\n'],
];

t.test('null is stored where a request stores it, by each format of an import', async (t) => {
  const { send, put, load, all } = await importing(t, { 'things.json': DECLARATION });
  t.equal((await send('POST', '/things', { body: GIVEN })).status, 201);
  for (const [name, content] of FILES) t.match(await load(['things', put(name, content)]), { code: 0 }, name);
  const records = (await all('/things')) as Record<string, unknown>[];
  const [created, ...imported] = records.map(({ id, created_at, updated_at, ...fields }) => fields);
  t.strictSame(created, { needed: null, other: null, nested: { a: null, b: [null] }, _version: 1 });
  // CSV of other programs has no null: an empty cell is no value.
  const { other: _, ...withoutOther } = created!;
  t.strictSame(imported, [created, created, withoutOther]);
});

t.test('the text NULL of a database is no value where texts are none, also without --infer', async (t) => {
  const properties = { name: text, rating: { type: 'number' }, day: { ...text, format: 'date' } };
  const { put, load, all } = await importing(t, { 'things.json': { type: 'object', properties } });
  for (const [name, content] of [
    ['things.csv', 'name,rating,day\nNULL,NULL,null\n'],
    ['things.json', [{ name: 'NULL', rating: 'null', day: 'NULL' }]],
  ] as const)
    t.match(await load(['things', put(name, content)]), { code: 0 }, name);
  const records = (await all('/things')) as Record<string, unknown>[];
  t.match(records, [{ name: 'NULL' }, { name: 'NULL' }]);
  t.notOk(records.some((record) => 'rating' in record || 'day' in record));
});
