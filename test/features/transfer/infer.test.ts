import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { plinth } from '../../support/command.js';
import t from '../../support/test.js';
import { words } from '../../support/words.js';
import { inferring } from './imports.js';

const LATER = '2020-01-02T00:00:00Z';
const DB = {
  comments: [
    { id: 1, body: 'some comment', postId: 2, user: null },
    { id: 2, body: 'of nothing', postId: 1 },
  ],
  posts: [
    { id: 1, title: 'One', author: 'typicode', tags: ['a'], at: '2020-01-01T00:00:00Z', score: 1 },
    { id: 2, title: 'Two', author: 'typicode', tags: [], at: LATER, score: 1.5, categoryId: 'c' },
  ],
  categories: [
    { id: 'c', name: 'C', since: '2020-02-03', open: true, any: 1 },
    { id: 'd', name: 'D', any: 'x' },
  ],
  blogEvents: [{ id: 1, nested: { a: 1 } }],
  profile: { name: 'typicode' },
};

t.test('a file of json-server becomes a service', async (t) => {
  const { infer, declared, serve, cwd } = await inferring(t, { 'db.json': DB });
  const first = await infer('db.json');
  t.match(first, { code: 0, err: '' });
  t.same(first.out.split('\n').sort(), [
    '',
    './collections is new and does not declare items and posts: they are not served.',
    'blogEvents becomes blog_events: names of collections have up to 40 of the characters a-z, 0-9 and _, and some are reserved.',
    'blog_events: 1 stored, 0 refused',
    'categories: 2 stored, 0 refused',
    'collections/blog_events.json is new: 2 fields.',
    'collections/categories.json is new: 5 fields.',
    'collections/comments.json is new: 3 fields, postId refers to legacy_posts.',
    'collections/legacy_posts.json is new: 7 fields, categoryId refers to categories.',
    'comments: 2 stored, 0 refused',
    'legacy_posts: 2 stored, 0 refused',
    'posts becomes legacy_posts: names of collections have up to 40 of the characters a-z, 0-9 and _, and some are reserved.',
    'profile is not an array of records: left out.',
  ]);
  t.same(declared('legacy_posts'), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Legacy post',
    type: 'object',
    required: ['title', 'author', 'tags', 'at', 'score'],
    properties: {
      title: { type: 'string', 'x-index': true, 'x-search': true },
      author: { type: 'string', 'x-index': true },
      tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
      at: { type: 'string', format: 'date-time', 'x-index': true },
      score: { type: 'number', 'x-index': true },
      categoryId: { type: 'string', format: 'uuid', 'x-references': 'categories' },
      legacy_id: { type: 'integer', readOnly: true, 'x-unique': true },
    },
    'x-collection': { nested: 'categoryId', display: 'title' },
  });
  t.match(declared('categories').properties, {
    any: { type: ['integer', 'string'] },
    since: { type: 'string', format: 'date' },
    legacy_id: { type: 'string' },
  });

  const { send } = await serve();
  const posts = (await send('GET', '/legacy_posts')).json;
  const [category] = (await send('GET', '/categories')).json;
  t.match(posts, [{ legacy_id: 1 }, { legacy_id: 2, categoryId: category.id }]);
  t.match((await send('GET', '/comments')).json, [
    { legacy_id: 1, postId: posts[1].id },
    { legacy_id: 2, postId: posts[0].id },
  ]);
  t.match((await send('GET', `/categories/${category.id}/legacy_posts`)).json, [{ title: 'Two' }]);
  t.match((await send('GET', '/legacy_posts?filter[tags][has]=a')).json, { data: [{ title: 'One' }] });

  const texts = () =>
    readdirSync(join(cwd, 'collections')).map((name) => readFileSync(join(cwd, 'collections', name), 'utf8'));
  const before = texts();
  const second = await infer('db.json');
  t.match(second.out, /collections\/comments\.json exists and stays as it is\./);
  t.match(second.err, /comments\[0\]\/legacy_id: DUPLICATE/);
  t.same(texts(), before);
  t.equal((await send('GET', '/categories')).json.length, 2, 'nothing is stored twice');
});

t.test('CSV from the standard input, and NDJSON that refers to it', async (t) => {
  const { load, serve } = await inferring(t);
  const csv = 'id,name,zip,rating,open\n10,Alpha,007,1,true\n11,Beta,123,2.5,\n';
  const shop = await load(['shops', '-', '--infer'], csv);
  t.match(shop, { code: 0, out: /shops: 2 stored, 0 refused/, err: '' });
  const lines = '{"shop_id":11,"at":"2020-01-01"}\n{"shop_id":"10","at":"2020-01-02"}\n';
  const out = /visits\.json is new: 2 fields, shop_id refers to shops\.\nvisits: 2 stored/;
  t.match(await load(['visits', '-', '--infer'], lines), { code: 0, out });
  const { send } = await serve();
  const shops = (await send('GET', '/shops')).json;
  t.match(shops, [
    { legacy_id: 10, zip: '007', rating: 1, open: true },
    { legacy_id: 11, zip: '123', rating: 2.5 },
  ]);
  t.match((await send('GET', '/visits')).json, [{ shop_id: shops[1].id }, { shop_id: shops[0].id }]);
});

t.test('users who are not users of the service have another name; others add to them', async (t) => {
  const ann = { id: 1, name: 'Ann', email: 'ann@example.org', city: 'Ulm' };
  const own = await inferring(t, { 'a.json': { users: [ann] } });
  t.match(await own.infer('a.json'), { code: 0, out: /users: 1 stored/ });
  t.same(Object.keys(own.declared('users').properties), ['city', 'legacy_id']);
  const other = await inferring(t, { 'b.json': { users: [{ id: 1, name: 'Bob' }] } });
  t.match(await other.infer('b.json'), { code: 0, out: /legacy_users: 1 stored/ });
});

t.test('ids under other names than id', async (t) => {
  const { infer, declared, serve, ...world } = await inferring(t, {
    'store.json': {
      Album: [
        { AlbumId: 1, Title: 'Facelift', ArtistId: 5 },
        { AlbumId: 2, Title: 'Jagged Little Pill', ArtistId: 4 },
      ],
      Artist: [
        { ArtistId: 4, Name: 'Alanis Morissette' },
        { ArtistId: 5, Name: 'Alice In Chains' },
      ],
      categories: [{ _id: 'c', title: 'C' }],
      products: [{ _id: 'p', category_id: 'c', names: ['P'], discontinued: false }],
      orders: [{ OrderID: 1, total: 1.5 }],
      order_lines: [
        { product_id: 'p', OrderID: 1, order_line_id: 1 },
        { product_id: 'p', OrderID: 1, order_line_id: 1 },
      ],
      regions: [{ region_id: 1, parent_id: 1 }, { parent_id: 1 }],
      shops: [{ name: 'A', region_id: 1 }],
    },
  });
  const first = await infer('store.json');
  t.match(first, { code: 0, err: '' });
  const referring = first.out.split('\n').filter((line) => line.includes('refers'));
  t.same(referring.sort(), [
    'collections/album.json is new: 3 fields, ArtistId refers to artist.',
    'collections/order_lines.json is new: 3 fields, product_id refers to products, OrderID refers to orders.',
    'collections/products.json is new: 4 fields, category_id refers to categories.',
  ]);
  t.same(declared('artist').properties, {
    Name: { type: 'string', 'x-index': true, 'x-search': true },
    legacy_id: { type: 'integer', readOnly: true, 'x-unique': true },
  });
  t.same(declared('order_lines')['x-collection'], { nested: 'OrderID' }, 'an order has lines');
  const lines = declared('order_lines').properties;
  t.match(lines, { order_line_id: { type: 'integer' } }, 'a repeated value is no id');

  const { send } = await serve();
  const artists = (await send('GET', '/artist')).json;
  t.match((await send('GET', '/album')).json, [
    { legacy_id: 1, Title: 'Facelift', ArtistId: artists[1].id },
    { legacy_id: 2, ArtistId: artists[0].id },
  ]);
  t.notOk('AlbumId' in (await send('GET', '/album')).json[0], 'the id is stored once');
  t.match((await send('GET', '/artist?search=chains')).json, [{ Name: 'Alice In Chains' }]);
  t.match((await send('GET', '/shops')).json, [{ region_id: 1 }]);

  // Later files need no --infer.
  const more = 'AlbumId,Title,ArtistId\n3,Restless and Wild,5\n';
  const given = { cwd: world.cwd, input: more };
  const later = await plinth(
    t,
    ['import', 'album', '-'],
    { ...world.env, COLLECTIONS: 'collections' },
    given,
  );
  t.match(later, { code: 0, out: 'album: 1 stored, 0 refused\n' });
  t.match((await send('GET', '/album?filter[legacy_id]=3')).json.data, [{ ArtistId: artists[1].id }]);
});

t.test('records with an id and with an old id of their own satisfy what is proposed', async (t) => {
  for (const [files, field] of [
    [
      { 'db.json': { things: [1, 2].map((key) => ({ legacy_id: `k${key}` })) } },
      { type: 'string', 'x-unique': true },
    ],
    [{ 'db.json': { things: [1, 2].map((id) => ({ id, legacy_id: 'k' })) } }, {}],
    [{ 'db.json': { things: [{ id: 1, legacy_id: 2 }, { id: 2 }] } }, {}],
    [{ 'things.csv': 'id,legacy_id\n1,a\n2,\n' }, {}],
  ] as const) {
    const { infer, declared } = await inferring(t, files);
    const [file] = Object.keys(files) as [string];
    const args = file.endsWith('.csv') ? ['things', file] : [file];
    const says = JSON.stringify(files);
    t.match(await infer(...args), { code: 0, out: /2 stored, 0 refused/ }, says);
    t.same(declared('things').properties.legacy_id, { ...field, readOnly: true }, says);
  }
});

t.test('--rename applies to what is inferred', async (t) => {
  const csv = 'code,label,rating\n10,Alpha,1\n11,Beta,2.5\n';
  const { infer, declared, serve } = await inferring(t, { 'shops.csv': csv });
  const renamed = words('--rename code=id --rename label=name --rename rating=stars');
  const outcome = await infer('shops', 'shops.csv', ...renamed);
  t.match(outcome, { code: 0, err: '', out: /shops: 2 stored/ });
  const { properties } = declared('shops');
  t.match(properties, {
    name: { type: 'string', 'x-search': true },
    stars: { type: 'number' },
    legacy_id: { type: 'integer' },
  });
  t.same(Object.keys(properties), ['name', 'stars', 'legacy_id']);
  const { send } = await serve();
  t.match((await send('GET', '/shops')).json, [
    { legacy_id: 10, name: 'Alpha', stars: 1 },
    { legacy_id: 11, stars: 2.5 },
  ]);
});

t.test('an array without objects is no collection', async (t) => {
  const { infer, cwd } = await inferring(t, {
    'grid.json': { width: 2, height: 2, values: [1, 2, 3, 4] },
    'lines.ndjson': '[1]\n[2]\n',
    'db.json': { words: ['a', 'b'], shops: [{ id: 1, name: 'Alpha' }], none: [] },
  });
  for (const file of ['grid.json', 'lines.ndjson']) {
    t.match(await infer('grid', file), { code: 64, err: `${file} has no object in its array of records` });
    t.notOk(readdirSync(cwd).includes('collections'));
  }
  const ended = await infer('db.json');
  t.match(ended, { code: 0, out: /words has no objects: left out\./ });
  t.match(ended.out, /shops: 1 stored, 0 refused/);
  t.same(readdirSync(join(cwd, 'collections')).sort(), ['none.json', 'shops.json']);
});

t.test('a name that a collection can have stays, and every other one becomes one', async (t) => {
  const rows: [given: string, name: string][] = [
    ['a'.repeat(40), 'a'.repeat(40)],
    ['a'.repeat(41), `${'a'.repeat(36)}_2`],
    ['Users List', 'users_list_2'],
    ['users_list', 'users_list'],
    ['2024', 'records'],
    ['数据', 'records_2'],
    ['api', 'legacy_api'],
  ];
  const db = Object.fromEntries(rows.map(([given], at) => [given, [{ at }]]));
  const { infer } = await inferring(t, { 'db.json': db });
  const { code, out } = await infer('db.json');
  t.equal(code, 0);
  for (const [given, name] of rows) {
    t.match(out, `${name}: 1 stored, 0 refused\n`, given);
    t.equal(out.includes(`${given} becomes ${name}: `), given !== name, given);
  }
});
