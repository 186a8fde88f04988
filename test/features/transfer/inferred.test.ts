import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { plinth } from '../../support/command.js';
import { folderOf } from '../../support/folder.js';
import { generator } from '../../support/random-values.js';
import { undeclaredDatabase } from '../../support/service.js';
import { sqlOf } from '../../support/sql.js';
import t, { type Test } from '../../support/test.js';

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../test/fixtures/${name}`, import.meta.url));

/** Infers and imports a file. */
async function inferred(t: Test, name: string, content: string | Buffer) {
  const folder = folderOf(t, { [name]: content });
  const DATABASE_URL = await undeclaredDatabase(t);
  const collection = name.endsWith('.json') ? [] : ['things'];
  const outcome = await plinth(
    t,
    ['import', ...collection, name, '--infer'],
    { DATABASE_URL },
    { cwd: folder },
  );
  const declared = (of: string) =>
    JSON.parse(readFileSync(join(folder, 'collections', `${of}.json`), 'utf8')).properties;
  return { ...outcome, folder, DATABASE_URL, declared };
}

t.test('the file satisfies what is proposed, in every one of these', async (t) => {
  const wide = Object.fromEntries(Array.from({ length: 700 }, (_, at) => [`column ${at}`, at]));
  const rows: [what: string, name: string, content: unknown][] = [
    ['ids that are repeated', 'a.json', { things: [{ id: 1 }, { id: 1 }, { id: 2 }] }],
    [
      'references that lead nowhere',
      'a.json',
      { shops: [{ id: 1 }], visits: [{ shopId: 1 }, { shopId: 9 }] },
    ],
    [
      'userId without users',
      'a.json',
      {
        notes: [
          { id: 1, userId: 1 },
          { id: 2, userId: 'x' },
        ],
      },
    ],
    [
      'users and posts that the service accepts',
      'a.json',
      { users: [{ id: 1, name: 'A', email: 'a@example.org' }], posts: [{ userId: 1 }] },
    ],
    [
      'posts of users that it refuses',
      'a.json',
      { users: [{ id: 1, name: 'A', email: 'no' }], posts: [{ userId: 1 }] },
    ],
    ['items with a price of text', 'a.json', { items: [{ name: 'a', price: '1' }] }],
    ['two names that become one', 'a.json', { blogEvents: [{ id: 1 }], blog_events: [{ id: 2 }] }],
    [
      'reserved names',
      'a.json',
      { events: [{ id: 1 }], select: [{ id: 1 }], 日本: [{ id: 1 }], '': [{ id: 2 }] },
    ],
    [
      'many columns',
      'a.json',
      {
        things: [
          { id: 1, ...wide },
          { id: 2, ...wide },
        ],
      },
    ],
    [
      'names of fields',
      'a.json',
      { things: [JSON.parse('{"__proto__":1,"":2,"doc":3,"a b":4,"aB":5,"a_b":6}')] },
    ],
    ['a name of a member of all objects', 'a.json', { things: [{ id: 1, constructor: 'x' }, { id: 2 }] }],
    [
      'long names of fields',
      'a.json',
      { things: [{ id: 1, [`${'long '.repeat(30)}`]: 1, ['n'.repeat(100)]: 1 }] },
    ],
    ['long ids', 'a.json', { things: [{ id: 'x'.repeat(3000) }, { id: 'y' }] }],
    [
      'references to themselves',
      'a.json',
      {
        things: [
          { id: 1, thingId: 2 },
          { id: 2, thingId: 1 },
        ],
      },
    ],
    ['references of numbers to texts', 'a.json', { shops: [{ id: '1' }], visits: [{ shopId: 1 }] }],
    [
      'null, mixed and nested values',
      'a.json',
      {
        things: [
          { a: null, b: [1, 'x'], c: { d: [] } },
          { a: 1, b: [], c: 'x' },
        ],
      },
    ],
    [
      'dates that are none',
      'a.json',
      {
        things: [
          { at: '2020-02-30', on: '2020-02-29' },
          { at: '2020-01-01', on: '' },
        ],
      },
    ],
    ['postal codes', 'a.csv', 'id,zip\n1,01569\n2,90210\n'],
    ['titles that are numbers', 'a.csv', 'id,title\n1,300\n2,1917\n'],
    ['numbers that do not fit', 'a.csv', 'id,big\n1,9007199254740993\n2,5\n'],
    ['booleans and numbers', 'a.csv', 'x,y\ntrue,1\n5,TRUE\n,\n'],
    ['columns without a name', 'a.csv', ',name,\n,a,\n,b,\n'],
    ['an empty collection', 'a.json', { things: [], others: [{ id: 1 }] }],
  ];
  for (const [what, name, content] of rows) {
    const { code, err, out } = await inferred(
      t,
      name,
      typeof content === 'string' ? content : JSON.stringify(content),
    );
    t.same([code, err], [0, ''], `${what} ${out}`);
    t.notMatch(out, /[1-9]\d* refused/, what);
  }
});

t.test('columns that hold texts are texts, also where all are numbers', async (t) => {
  const { declared } = await inferred(
    t,
    'a.csv',
    'id,title,zip,price,big\n1,300,01569,1,9007199254740993\n2,1917,90210,2.5,1\n',
  );
  t.match(declared('things'), {
    title: { type: 'string', 'x-search': true },
    zip: { type: 'string', 'x-index': true },
    price: { type: 'number' },
    big: { type: 'string' },
    legacy_id: { type: 'integer', 'x-unique': true },
  });
});

t.test('values as databases write them: NULL for none, and times without a zone', async (t) => {
  const things = [
    { id: 1, size: 4, zip: 12209, on: '1996-07-04 00:00:00.000', at: '1996-07-04 10:30:00', region: 'BC' },
    { id: 2, size: 'NULL', zip: 12210, on: 'NULL', at: '1996-07-05 00:00:00', region: 'NULL' },
    { id: 3, size: 2.5, zip: 'EC1', on: '1996-08-01', at: '1996-07-05T08:00:00Z', region: 'null' },
  ];
  const names = Object.keys(things[0]!);
  const rows = things.map((thing) => Object.values(thing).join());
  for (const [name, content] of [
    ['a.json', JSON.stringify({ things })],
    ['a.csv', `${names}\n${rows.join('\n')}\n`],
  ] as const) {
    const { code, err, out, declared, DATABASE_URL, folder } = await inferred(t, name, content);
    t.same([code, err], [0, ''], out);
    t.match(declared('things'), {
      size: { type: 'number' },
      zip: { type: name === 'a.json' ? ['integer', 'string'] : 'string' },
      on: { type: 'string', format: 'date' },
      at: { type: 'string', format: 'date-time' },
      region: { type: 'string' },
    });
    const env = { DATABASE_URL, COLLECTIONS: join(folder, 'collections') };
    const exported = await plinth(t, ['export', 'things'], env);
    const records = exported.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    t.match(records, [
      { size: 4, on: '1996-07-04', at: '1996-07-04T10:30:00Z', region: 'BC' },
      { at: '1996-07-05T00:00:00Z' },
      { size: 2.5, on: '1996-08-01', at: '1996-07-05T08:00:00Z', region: 'null' },
    ]);
    for (const field of ['size', 'on', 'region']) t.notOk(field in records[1], `${name}: ${field}`);
  }
});

for (const seed of [11, 12, 13, 14])
  t.test(`generated records, seed ${seed}, as JSON and as CSV`, async (t) => {
    const random = generator(seed);
    const declaration = random.declaration();
    const records = Array.from({ length: 40 }, (_, id) => ({ id: id % 37, ...random.record(declaration) }));
    const json = await inferred(t, 'a.json', JSON.stringify({ things: records }));
    t.same([json.code, json.err], [0, ''], json.out);
    const { DATABASE_URL, folder } = json;
    const env = { DATABASE_URL, COLLECTIONS: join(folder, 'collections') };
    const { out: csv } = await plinth(t, ['export', 'things', '--format', 'csv'], env);
    const again = await inferred(t, 'a.csv', csv);
    t.same([again.code, again.err], [0, ''], again.out);
    const { out } = await plinth(t, ['export', 'things', '--format', 'csv'], {
      DATABASE_URL: again.DATABASE_URL,
      COLLECTIONS: join(again.folder, 'collections'),
    });
    t.equal(out.split('\r\n').length, csv.split('\r\n').length);
  });

t.test('published files', async (t) => {
  for (const name of ['jsonplaceholder.json', 'northwind.json', 'dummyjson-products.json']) {
    const content = JSON.parse(readFileSync(fixture(name), 'utf8'));
    const { code, err, out } = await inferred(
      t,
      'db.json',
      JSON.stringify(Array.isArray(content) ? { products: content } : content),
    );
    t.same([code, err], [0, ''], `${name} ${out}`);
  }
});

t.test('a run that fails leaves no declarations', async (t) => {
  const folder = folderOf(t, { 'db.json': { gadgets: [{ id: 1, name: 'a' }] } });
  const run = (env: Record<string, string>) =>
    plinth(t, ['import', 'db.json', '--infer'], env, { cwd: folder });
  t.match(await run({ DATABASE_URL: 'postgres://a@127.0.0.1:1/b' }), { code: 69 });
  t.notOk(existsSync(join(folder, 'collections')));
  const DATABASE_URL = await undeclaredDatabase(t);
  t.match(await run({ DATABASE_URL: DATABASE_URL.replace(/$/, '') }), { code: 0 });
  rmSync(join(folder, 'collections'), { recursive: true });
  const sql = sqlOf(t, DATABASE_URL);
  await sql`drop table gadgets cascade`;
  await sql`delete from collections where name = 'gadgets'`;
  await sql`alter table import_ids rename to hidden`;
  t.not((await run({ DATABASE_URL })).code, 0);
  t.notOk(existsSync(join(folder, 'collections')), 'no declaration');
  await sql`alter table hidden rename to import_ids`;
  t.match(await run({ DATABASE_URL }), { code: 0 });
  t.same(readdirSync(join(folder, 'collections')), ['gadgets.json']);
});

t.test('a run that stores nothing leaves no declarations', async (t) => {
  const folder = folderOf(t);
  const DATABASE_URL = await undeclaredDatabase(t);
  for (const [says, content, code] of [
    ['a header alone', 'a,b\n', 0],
    ['refused rows alone', Buffer.from('a,b\n\xe4,1\n', 'latin1'), 1],
  ] as const) {
    writeFileSync(join(folder, 'gadgets.csv'), content);
    const run = await plinth(
      t,
      ['import', 'gadgets', 'gadgets.csv', '--infer'],
      { DATABASE_URL },
      { cwd: folder },
    );
    t.match(run, { code, out: /Nothing was stored: the new declarations are removed/ }, says);
    t.notOk(existsSync(join(folder, 'collections')), says);
  }
});

t.test('--dry-run with --infer writes nothing', async (t) => {
  const folder = folderOf(t, { 'db.json': { gadgets: [{ id: 1 }] } });
  const { code, out } = await plinth(t, ['import', 'db.json', '--infer', '--dry-run'], {}, { cwd: folder });
  t.match([code, out], [0, /gadgets\.json would be new/]);
  t.notOk(existsSync(join(folder, 'collections')));
});
