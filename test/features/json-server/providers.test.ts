import { createRequire } from 'node:module';
import { valuesOf } from '../../support/callers.js';
import { foreignFile } from '../../support/foreign.js';
import { jsonServer, LIBRARY } from '../../support/json-server.js';
import t, { type Test } from '../../support/test.js';
import { libraryService } from './library.js';

const require = createRequire(foreignFile('.'));

// biome-ignore lint/suspicious/noExplicitAny: the providers are used as a program without types would
type Any = any;

/** The addresses of the service and of json-server, with the same records. */
async function servers(t: Test): Promise<Record<string, string>> {
  return { 'json-server': await jsonServer(t, LIBRARY), 'the service': (await libraryService(t)).url };
}

const titles = (records: readonly Any[]) => records.map(({ title }) => title);
const cheap = LIBRARY.books!.filter(({ price }) => (price as number) <= 10);
const byPrice = LIBRARY.books!.toSorted((a, b) => (b.price as number) - (a.price as number));
const sf = LIBRARY.books!.filter(({ genre }) => genre === 'sf');

t.test('ra-data-json-server, unmodified: every method', async (t) => {
  const loaded = require('ra-data-json-server');
  const provider = loaded.default ?? loaded;
  for (const [name, url] of Object.entries(await servers(t)))
    await t.test(name, async (t) => {
      const api: Any = provider(url);
      const list = (more: object = {}) =>
        api.getList('books', {
          pagination: { page: 1, perPage: 5 },
          sort: { field: 'id', order: 'ASC' },
          filter: {},
          ...more,
        });
      t.match(await list(), { total: 40, data: { length: 5 } });
      t.same(titles((await list()).data), titles(LIBRARY.books!.slice(0, 5)));
      const last = await list({ pagination: { page: 8, perPage: 5 } });
      t.same(titles(last.data), titles(LIBRARY.books!.slice(35)));
      const falling = await list({ sort: { field: 'price', order: 'DESC' } });
      t.same(
        valuesOf(falling.data, 'price'),
        byPrice.slice(0, 5).map(({ price }) => price),
      );
      t.equal((await list({ filter: { genre: 'sf' } })).total, sf.length);
      t.equal((await list({ filter: { price_lte: 10 } })).total, cheap.length);
      t.ok((await list({ filter: { q: 'dune' } })).total > 0);
      t.equal((await list({ filter: { title_like: 'nothing' } })).total, 0);
      for (const { reviews } of (await list({ meta: { embed: 'reviews' } })).data) t.type(reviews, Array);
      const { data: book } = await api.getOne('books', { id: 3 });
      t.equal(book.title, LIBRARY.books![2]!.title);
      t.ok((await api.getOne('books', { id: 3, meta: { embed: 'reviews' } })).data.reviews);
      const many = await api.getMany('books', { ids: [1, 5, 9] });
      t.same(titles(many.data), titles([0, 4, 8].map((at) => LIBRARY.books![at])));
      const byId = await api.getMany('books', { ids: many.data.map(({ id }: Any) => id) });
      t.same(byId.data, many.data);
      const reference = await api.getManyReference('reviews', {
        ...{ target: 'bookId', id: book.id, pagination: { page: 1, perPage: 10 } },
        ...{ sort: { field: 'stars', order: 'DESC' }, filter: {} },
      });
      t.equal(reference.total, LIBRARY.reviews!.filter(({ bookId }) => bookId === 3).length);
      const { data: made } = await api.create('books', { data: { title: 'made', authorId: book.authorId } });
      const stored = { title: 'made', authorId: book.authorId };
      t.match(await api.getOne('books', { id: made.id }), { data: stored });
      const change = { id: made.id, data: { ...made, title: 'changed' }, previousData: made };
      for (const _ of [1, 2]) t.match((await api.update('books', change)).data, { title: 'changed' });
      t.equal((await api.updateMany('reviews', { ids: [1, 2], data: { text: 'seen' } })).data.length, 2);
      t.match((await api.getOne('reviews', { id: 2 })).data, { text: 'seen' });
      t.same((await api.delete('books', { id: made.id, previousData: made })).data, {});
      await t.rejects(api.getOne('books', { id: made.id }), { status: 404 } as Any);
      t.equal((await api.deleteMany('reviews', { ids: [1, 2] })).data.length, 2);
      await t.rejects(api.getOne('reviews', { id: 1 }), { status: 404 } as Any);
    });
});

t.test('@refinedev/simple-rest, unmodified: every method', async (t) => {
  const provider = require('@refinedev/simple-rest').default;
  for (const [name, url] of Object.entries(await servers(t)))
    await t.test(name, async (t) => {
      const api: Any = provider(url);
      const list = (more: object = {}) => api.getList({ resource: 'books', ...more });
      const filter = (field: string, operator: string, value: unknown) =>
        list({ filters: [{ field, operator, value }], pagination: { mode: 'off' } });
      t.match(await list(), { total: 40, data: { length: 10 } });
      const last = await list({ pagination: { currentPage: 4, pageSize: 12 } });
      t.match(last, { total: 40, data: { length: 4 } });
      t.equal((await list({ pagination: { mode: 'off' } })).data.length, 40);
      const sorters = [
        { field: 'price', order: 'desc' },
        { field: 'id', order: 'asc' },
      ];
      const sorted = await list({ sorters });
      t.same(
        valuesOf(sorted.data, 'price'),
        byPrice.slice(0, 10).map(({ price }) => price),
      );
      t.equal((await filter('genre', 'eq', 'sf')).data.length, sf.length);
      t.equal((await filter('genre', 'ne', 'sf')).data.length, 40 - sf.length);
      t.equal((await filter('price', 'lte', 10)).data.length, cheap.length);
      t.ok((await filter('price', 'gte', 10)).data.length > 0);
      t.ok((await filter('title', 'contains', 'sea')).data.length > 0);
      t.ok((await filter('q', 'eq', 'snow')).data.length > 0);
      t.equal((await api.getMany({ resource: 'books', ids: [1, 2, 3] })).data.length, 3);
      const { data: book } = await api.getOne({ resource: 'books', id: 7 });
      t.equal(book.title, LIBRARY.books![6]!.title);
      const variables = { title: 'made', authorId: book.authorId };
      const { data: made } = await api.create({ resource: 'books', variables });
      const own = { resource: 'books', id: made.id };
      const changed = await api.update({ ...own, variables: { title: 'changed' } });
      t.match(changed, { data: { title: 'changed', authorId: book.authorId } });
      const put = { ...own, variables: { ...made, title: 'put' }, meta: { method: 'put' } };
      t.match((await api.update(put)).data, { title: 'put' });
      t.same((await api.deleteOne(own)).data, {});
      await t.rejects(api.getOne(own), { statusCode: 404 } as Any);
      const custom = await api.custom({
        url: `${url}/books`,
        method: 'get',
        filters: [{ field: 'genre', operator: 'eq', value: 'sf' }],
        sorters: [{ field: 'price', order: 'asc' }],
      });
      t.equal(custom.data.length, sf.length);
    });
});
