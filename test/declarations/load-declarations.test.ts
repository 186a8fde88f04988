import { valuesOf } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { declared, text } from '../support/declared.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

const AUTHORS = {
  title: 'Author',
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string', minLength: 1, 'x-index': true } },
};
const BOOKS = declared(
  {
    title: { ...text, minLength: 1, maxLength: 200, 'x-normalize': ['trim'], 'x-search': true },
    isbn: { type: 'string', pattern: '^[0-9]{13}$', 'x-unique': true },
    price: { type: 'number', minimum: 0, 'x-index': true },
    published: { type: 'string', format: 'date', 'x-index': true },
    tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
    order: { type: 'boolean', 'x-index': true },
    sold: { type: 'string', format: 'date-time', 'x-index': true },
    language: { type: 'string', default: 'en' },
    rank: { type: 'integer', readOnly: true },
    pin: { type: 'string', writeOnly: true },
    authorId: { type: 'string', format: 'uuid', 'x-references': 'authors', 'x-on-delete': 'cascade' },
    editorId: { type: 'string', 'x-references': 'authors', 'x-on-delete': 'null' },
  },
  { list: 'page', sort: '-created_at', nested: true },
  {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Book',
    required: ['title', 'isbn'],
    additionalProperties: true,
  },
);
const ISBN = (n: number) => String(9_780_000_000_000 + n);

t.test('a file declares a collection', async (t) => {
  const folder = declare(t, { 'authors.json': AUTHORS, 'books.json': BOOKS });
  const { send } = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
  t.equal((await send('GET', '/items')).status, 404, 'items are left out');
  t.equal((await send('GET', '/users')).status, 200, 'users are always there');
  const author = (await send('POST', '/authors', { body: { name: 'Ann' } })).json;
  const editor = (await send('POST', '/authors', { body: { name: 'Ed' } })).json;
  const body = {
    ...{ title: '  Dune ', isbn: ISBN(1), price: 9.5, tags: ['a', 'b'], order: true },
    ...{ sold: '2026-01-01T02:00:00+02:00', rank: 7, pin: 'secret', extra: { deep: [1] } },
    editorId: editor.id,
  };
  const created = await send('POST', `/authors/${author.id}/books`, { body });
  const shown = { title: 'Dune', language: 'en', extra: { deep: [1] }, _version: 1 };
  t.match(created, { status: 201, json: { ...shown, authorId: author.id, editorId: editor.id } });
  t.notOk('rank' in created.json, 'a read-only field is ignored');
  t.notOk('pin' in created.json, 'a write-only field is not returned');
  const path = `/books/${created.json.id}`;
  const post = (more: object) => send('POST', '/books', { body: { title: 'x', isbn: ISBN(2), ...more } });
  const again = await post({ isbn: ISBN(1) });
  t.match([again.status, again.json.error], [409, { code: 'DUPLICATE', details: { field: 'isbn' } }]);
  const invalid = await post({ isbn: '1', price: -1, published: 'x' });
  t.match([invalid.status, valuesOf(invalid.json.errors, 'path')], [400, ['/isbn', '/price', '/published']]);
  t.equal((await post({ title: 'x'.repeat(201) })).status, 400);
  const long = await post({ tags: ['y'.repeat(3000)] });
  t.match([long.status, long.json.errors], [400, [{ path: '/tags', keyword: 'maxBytes' }]]);
  t.match((await send('GET', '/books?search=dun')).json.data, [{ title: 'Dune' }]);
  t.match((await send('PATCH', path, { body: { price: 3 } })).json, { price: 3, _version: 2 });
  await Promise.all([3, 4, 5].map((n) => post({ title: `B${n}`, isbn: ISBN(n), price: n, tags: [] })));
  const { data } = (await send('GET', '/books?sort=price&order=asc')).json;
  t.same(valuesOf(data, 'title'), ['Dune', 'B3', 'B4', 'B5']);

  t.equal((await send('DELETE', `/authors/${editor.id}`)).status, 204);
  const after = (await send('GET', path)).json;
  t.match(after, { _version: 3, price: 3, title: 'Dune' });
  t.notOk('editorId' in after, 'a reference to a deleted record is removed');
  t.ok(after.updated_at > created.json.updated_at);
  t.equal((await send('DELETE', `/authors/${author.id}`)).status, 204);
  t.equal((await send('GET', path)).status, 404, 'deleted with its author');
  t.match((await send('GET', '/books')).json.meta, { total: 3 });
  const types = async () =>
    (await send('GET', '/events?types=books.*')).json.data.map(({ type }: { type: string }) => type);
  await until('the events are final', types, ({ length }) => length === 7);
});

t.test('passwords are write-only fields like others where nobody signs in', async (t) => {
  const password = { type: 'string', minLength: 8, writeOnly: true };
  const doors = { title: 'Door', type: 'object', required: ['name'], properties: { name: {}, password } };
  const service = await testService(t, { COLLECTIONS: declare(t, { 'doors.json': doors }), MIGRATE: 'auto' });
  const { send, db } = service;
  const created = await send('POST', '/doors', { body: { name: 'front', password: 'open sesame' } });
  t.equal(created.status, 201);
  const path = `/doors/${created.json.id}`;
  const short = await send('PATCH', path, { body: { password: 'short' } });
  t.match(short, { status: 400, json: { errors: [{ path: '/password' }] } });
  const written = await send('PATCH', path, { body: { password: 'close sesame' } });
  t.equal(written.status, 200);
  for (const { text } of [created, written, await send('GET', path)]) t.notMatch(text, /sesame|password/);
  const [stored] = await db.run('select write_only from public_collections.doors', []);
  t.same(stored, { write_only: { password: 'close sesame' } });
  t.same(await db.run('select 1 from passwords', []), []);
});
