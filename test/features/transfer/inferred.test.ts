import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { plinth } from '../../support/command.js';
import { folderOf } from '../../support/folder.js';
import { generator } from '../../support/random-values.js';
import { sqlOf } from '../../support/sql.js';
import t, { type Test } from '../../support/test.js';
import { inferring } from './imports.js';

/** Infers and imports a file. */
async function inferred(t: Test, name: string, content: unknown) {
  const world = await inferring(t, { [name]: content });
  const outcome = await world.infer(...(name.endsWith('.json') ? [] : ['things']), name);
  const exported = (...args: string[]) =>
    plinth(t, ['export', 'things', ...args], { ...world.env, COLLECTIONS: world.COLLECTIONS });
  return { ...world, ...outcome, exported, fields: world.declared };
}

const withPosts = (email: string) => ({ users: [{ id: 1, name: 'A', email }], posts: [{ userId: 1 }] });

t.test('the file satisfies what is proposed, in every one of these', async (t) => {
  const wide = Object.fromEntries(Array.from({ length: 700 }, (_, at) => [`column ${at}`, at]));
  const things = (...records: object[]) => ({ things: records });
  const rows: [what: string, content: unknown][] = [
    ['ids that are repeated', things({ id: 1 }, { id: 1 }, { id: 2 })],
    ['references that lead nowhere', { shops: [{ id: 1 }], visits: [{ shopId: 1 }, { shopId: 9 }] }],
    ['userId without users', { notes: [1, 'x'].map((userId, at) => ({ id: at, userId })) }],
    ['users and posts that the service accepts', withPosts('a@example.org')],
    ['posts of users that it refuses', withPosts('no')],
    ['items with a price of text', { items: [{ name: 'a', price: '1' }] }],
    ['two names that become one', { blogEvents: [{ id: 1 }], blog_events: [{ id: 2 }] }],
    ['reserved names', { events: [{ id: 1 }], select: [{ id: 1 }], 日本: [{ id: 1 }], '': [{ id: 2 }] }],
    ['many columns', things({ id: 1, ...wide }, { id: 2, ...wide })],
    ['names of fields', things(JSON.parse('{"__proto__":1,"":2,"doc":3,"a b":4,"aB":5,"a_b":6}'))],
    ['a name of a member of all objects', things({ id: 1, constructor: 'x' }, { id: 2 })],
    ['long names of fields', things({ id: 1, [`${'long '.repeat(30)}`]: 1, ['n'.repeat(100)]: 1 })],
    ['long ids', things({ id: 'x'.repeat(3000) }, { id: 'y' })],
    ['references to themselves', things({ id: 1, thingId: 2 }, { id: 2, thingId: 1 })],
    ['references of numbers to texts', { shops: [{ id: '1' }], visits: [{ shopId: 1 }] }],
    ['null, mixed and nested', things({ a: null, b: [1, 'x'], c: { d: [] } }, { a: 1, b: [], c: 'x' })],
    ['no dates', things({ at: '2020-02-30', on: '2020-02-29' }, { at: '2020-01-01', on: '' })],
    ['booleans and numbers', 'x,y\ntrue,1\n5,TRUE\n,\n'],
    ['columns without a name', ',name,\n,a,\n,b,\n'],
    ['an empty collection', { things: [], others: [{ id: 1 }] }],
  ];
  for (const [what, content] of rows) {
    const name = typeof content === 'string' ? 'a.csv' : 'a.json';
    const { code, err, out } = await inferred(t, name, content);
    t.same([code, err], [0, ''], `${what} ${out}`);
    t.notMatch(out, /[1-9]\d* refused/, what);
  }
});

t.test('columns that hold texts are texts, also where all are numbers', async (t) => {
  const csv = 'id,title,zip,price,big\n1,300,01569,1,9007199254740993\n2,1917,90210,2.5,1\n';
  const { fields, code, err } = await inferred(t, 'a.csv', csv);
  t.same([code, err], [0, '']);
  t.match(fields('things').properties, {
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
  const rows = [Object.keys(things[0]!), ...things.map((thing) => Object.values(thing))];
  for (const [name, content, zip] of [
    ['a.json', { things }, ['integer', 'string']],
    ['a.csv', `${rows.join('\n')}\n`, 'string'],
  ] as const) {
    const { code, err, out, fields, exported } = await inferred(t, name, content);
    t.same([code, err], [0, ''], out);
    t.match(fields('things').properties, {
      size: { type: 'number' },
      zip: { type: zip },
      on: { type: 'string', format: 'date' },
      at: { type: 'string', format: 'date-time' },
      region: { type: 'string' },
    });
    const lines = (await exported()).out.trim().split('\n');
    const records = lines.map((line) => JSON.parse(line));
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
    const json = await inferred(t, 'a.json', { things: records });
    t.same([json.code, json.err], [0, ''], json.out);
    const { out: csv } = await json.exported('--format', 'csv');
    const again = await inferred(t, 'a.csv', csv);
    t.same([again.code, again.err], [0, ''], again.out);
    const { out } = await again.exported('--format', 'csv');
    t.equal(out.split('\r\n').length, csv.split('\r\n').length);
  });

t.test('a run that fails leaves no declarations', async (t) => {
  const { infer, cwd, DATABASE_URL } = await inferring(t, { 'db.json': { gadgets: [{ id: 1, name: 'a' }] } });
  const away = { DATABASE_URL: 'postgres://a@127.0.0.1:1/b' };
  t.match(await plinth(t, ['import', 'db.json', '--infer'], away, { cwd }), { code: 69 });
  t.notOk(existsSync(join(cwd, 'collections')));
  t.match(await infer('db.json'), { code: 0 });
  rmSync(join(cwd, 'collections'), { recursive: true });
  const sql = sqlOf(t, DATABASE_URL);
  await sql`drop table gadgets cascade`;
  await sql`delete from collections where name = 'gadgets'`;
  await sql`alter table import_ids rename to hidden`;
  t.not((await infer('db.json')).code, 0);
  t.notOk(existsSync(join(cwd, 'collections')), 'no declaration');
  await sql`alter table hidden rename to import_ids`;
  t.match(await infer('db.json'), { code: 0 });
  t.same(readdirSync(join(cwd, 'collections')), ['gadgets.json']);
});

t.test('a run that stores nothing leaves no declarations', async (t) => {
  const { infer, put, COLLECTIONS } = await inferring(t);
  for (const [says, content, code] of [
    ['a header alone', 'a,b\n', 0],
    ['refused rows alone', Buffer.from('a,b\n\xe4,1\n', 'latin1'), 1],
  ] as const) {
    const run = await infer('gadgets', put('gadgets.csv', content));
    t.match(run, { code, out: /Nothing was stored: the new declarations are removed/ }, says);
    t.notOk(existsSync(COLLECTIONS), says);
  }
});

t.test('--dry-run with --infer writes nothing', async (t) => {
  const folder = folderOf(t, { 'db.json': { gadgets: [{ id: 1 }] } });
  const { code, out } = await plinth(t, ['import', 'db.json', '--infer', '--dry-run'], {}, { cwd: folder });
  t.match([code, out], [0, /gadgets\.json would be new/]);
  t.notOk(existsSync(join(folder, 'collections')));
});
