import type { JsonObject } from '../../src/json.js';
import { MAX_QUERY } from '../../src/list/body-values.js';
import { MAX_VALUES } from '../../src/list/condition.js';
import { connect } from '../features/mcp/session.js';
import { declare } from '../support/collections.js';
import { text } from '../support/declared.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';
import { words } from '../support/words.js';

t.jobs = 2;

const DECLARATIONS = {
  'authors.json': { title: 'Author', type: 'object', properties: { name: { type: 'string' } } },
  'books.json': {
    title: 'Book',
    type: 'object',
    properties: {
      title: { type: 'string', 'x-index': true, 'x-search': true },
      price: { type: 'number', 'x-index': true },
      sold: { type: 'boolean', 'x-index': true },
      tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
      text: { type: 'string', 'x-search': true },
      rank: { type: 'object', readOnly: true },
      authorId: { type: 'string', format: 'uuid', 'x-references': 'authors' },
    },
    'x-collection': { nested: true, requireIfMatch: true },
  },
  'notes.json': { title: 'Note', type: 'object', properties: { first: text, second: text } },
};

const environment = (t: Test) => ({ COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto', MCP: 'on' });

async function library(t: Test) {
  const service = await testService(t, environment(t));
  const author = (await service.send('POST', '/authors', { body: { name: 'A' } })).json;
  for (const [index, title] of ['a', 'b,c', ''].entries()) {
    const body = { title, price: index, sold: index === 0, tags: [title], text: title, authorId: author.id };
    t.equal((await service.send('POST', '/books', { body })).status, 201);
  }
  return { service, author };
}

/** Conditions that have no value. */
const EMPTY: readonly JsonObject[] = [
  ...[
    { or: [] },
    { or: [{}] },
    { not: {} },
    { not: { price: {} } },
    { author: {} },
    { author: { name: {} } },
  ],
  { title: {} },
  { title: { in: [] } },
  { price: { in: [] } },
  { sold: { in: [] } },
  { authorId: { in: [] } },
  { price: { gte: [] } },
  { title: { prefix: [] } },
  { title: { null: [] } },
  { tags: { has: [] } },
  { text: { contains: [] } },
  { title: [] },
  { title: { eq: ['a'] } },
  { title: { eq: {} } },
  { title: { eq: null } },
  { title: null },
  { price: { gte: 0 }, title: {} },
];

t.test('a condition without a value is 400 by QUERY, by an agent and by GET', async (t) => {
  const { service, author } = await library(t);
  const { call } = await connect(t, service.url);
  for (const filter of EMPTY) {
    const about = JSON.stringify(filter);
    for (const path of ['/books', `/authors/${author.id}/books`])
      t.match(await service.send('QUERY', path, { body: { filter } }), { status: 400 }, `${path} ${about}`);
    const { isError, value } = await call('books_list', { filter });
    t.ok(isError, about);
    t.equal(value.error.status, 400, about);
  }
  for (const query of words('filter[price][in]= filter[price]= filter[sold]= filter= filter[]='))
    t.equal((await service.send('GET', `/books?${query}`)).status, 400, query);
  t.equal(
    (await service.send('GET', '/books?filter[title]')).json.data.length,
    1,
    'an empty text is a value',
  );
  for (const body of [{ limit: [5] }, { search: ['a'] }, { count: ['none'] }, { page: [1, 2] }])
    t.equal((await service.send('QUERY', '/books', { body })).status, 400, JSON.stringify(body));
});

t.test('the same conditions select the same by GET, by QUERY and by an agent', async (t) => {
  const { service, author } = await library(t);
  const { call } = await connect(t, service.url);
  for (const [filter, query, count] of [
    [{ title: 'a' }, 'filter[title]=a', 1],
    [{ title: { eq: 'b,c' } }, 'filter[title]=b,c', 1],
    [{ title: '' }, 'filter[title]=', 1],
    [{ title: { in: ['b,c'] } }, 'filter[title][in]=b,c&filter[title][in]=b,c', 1],
    [{ title: { in: ['a', 'b,c'] } }, 'filter[title][in]=a&filter[title][in]=b,c', 2],
    [{ title: { in: [''] } }, 'filter[title][in]=', 1],
    [{ price: 1 }, 'filter[price]=1', 1],
    [{ price: { in: [0, 2] } }, 'filter[price][in]=0,2', 2],
    [{ price: { gte: 1 }, sold: false }, 'filter[price][gte]=1&filter[sold]=false', 2],
    [{ sold: true }, 'filter[sold]=true', 1],
    [{ tags: { has: 'b,c' } }, 'filter[tags][has]=b,c', 1],
    [{ authorId: author.id }, `filter[authorId]=${author.id}`, 3],
    [{}, '', 3],
  ] as const) {
    const read = await service.send('GET', `/books?page=1&${query}`);
    t.equal(read.json.meta.total, count, query);
    const queried = await service.send('QUERY', '/books', { body: { page: 1, filter } });
    t.same(queried.json.data, read.json.data, JSON.stringify(filter));
    const { value } = await call('books_list', { filter: filter as JsonObject });
    t.same(value.data, read.json.data, JSON.stringify(filter));
  }
});

t.test('where writes need If-Match, one to all that match needs If-Match: *', async (t) => {
  const { service } = await library(t);
  for (const method of ['PATCH', 'DELETE']) {
    const send = (headers = {}) =>
      service.send(method, '/books?filter[price][gte]=1', {
        ...(method === 'PATCH' && { body: { seen: true } }),
        headers,
      });
    t.match(await send(), { status: 428, text: /If-Match: \*/ }, method);
    t.match(await send({ 'if-match': '"1"' }), { status: 400, text: /If-Match: \*/ }, method);
    t.same((await send({ 'if-match': '*' })).json.meta, { matched: 2 }, method);
  }
  t.equal((await service.send('GET', '/books?page=1')).json.meta.total, 1);
  const of = (await service.send('GET', '/books')).json[0];
  const one = await service.send('PATCH', `/books/${of.id}`, { body: {} });
  t.equal(one.status, 428, 'one record needs its ETag');
});

t.test('a patch that changes a read-only field is 400, and writes nothing', async (t) => {
  const { service } = await library(t);
  const [{ id }] = (await service.send('GET', '/books')).json;
  const { call } = await connect(t, service.url);
  const patch = (body: unknown, type = 'application/merge-patch+json') =>
    service.send('PATCH', `/books/${id}`, {
      body: JSON.stringify(body),
      headers: { 'content-type': type, 'if-match': '*' },
    });
  const json = 'application/json';
  const operations = 'application/json-patch+json';
  for (const [body, type] of [
    [{ rank: { a: 1 }, title: 'x' }, json],
    [{ rank: { a: 1 } }, 'application/merge-patch+json'],
    [{ rank: 'x' }, 'application/merge-patch+json'],
    [[{ op: 'add', path: '/rank', value: { a: 1 } }], operations],
    [[{ op: 'copy', from: '/tags', path: '/rank' }], operations],
  ] as const) {
    const refused = await patch(body, type);
    t.equal(refused.status, 400, JSON.stringify(body));
    t.match(refused.json.errors, [{ path: '/rank', keyword: 'readOnly' }]);
  }
  const all = { body: { rank: { a: 1 } }, headers: { 'if-match': '*' } };
  t.equal((await service.send('PATCH', '/books?filter[price][gte]=0', all)).status, 400);
  t.equal((await call('books_update', { id, patch: { rank: { a: 1 } }, ifMatch: '*' })).isError, true);
  t.equal((await service.send('GET', `/books/${id}`)).json._version, 1);
  t.equal((await patch({ rank: null })).status, 200, 'it has no value');
  t.equal((await patch({ price: 3 })).status, 200);
  const types = await until(
    'both changes are events',
    async (): Promise<string[]> =>
      (await service.send('GET', '/events')).json.data.map(({ type }: JsonObject) => type),
    ({ length }) => length >= 6,
  );
  t.same(types, ['authors.created', ...Array(3).fill('books.created'), 'books.updated', 'books.updated']);
});

/** A query of exactly so many bytes: JSON may have blanks. */
const padded = (query: object, bytes: number) => JSON.stringify(query).padEnd(bytes);
const values = (count: number) => ({ filter: { title: { in: Array.from({ length: count }, () => 'a') } } });

t.test('QUERY is bounded in bytes and in values', async (t) => {
  const { service } = await library(t);
  const query = (body: string | object) =>
    service.send('QUERY', '/books', { body, type: 'application/json' });
  const longest = await query(padded(values(MAX_VALUES), MAX_QUERY));
  t.same([longest.status, longest.json.data.length], [200, 1]);
  const longer = await query(padded(values(MAX_VALUES), MAX_QUERY + 1));
  t.match(longer, { status: 413, json: { error: { code: 'PAYLOAD_TOO_LARGE' } }, text: String(MAX_QUERY) });
  const more = await query(values(MAX_VALUES + 1));
  t.match(more, {
    status: 400,
    json: { error: { code: 'INVALID_QUERY' } },
    text: /has more than 100 values/,
  });
});

const TEXTS = ['a\nb', 'a', 'b', 'b\nc', 'c', 'a\nb\nc', 'b\na\nc'];

t.test('queries at once whose values have line breaks find their own records', async (t) => {
  const service = await testService(t, environment(t), { dbSearches: 1 });
  const notes = TEXTS.flatMap((first) => TEXTS.map((second) => ({ first, second })));
  const ids: string[] = [];
  for (const body of notes) ids.push((await service.send('POST', '/notes', { body })).json.id);
  const found = await Promise.all(
    notes.map((filter) => service.send('QUERY', '/notes', { body: { filter, page: 1 } })),
  );
  t.same(
    found.map(({ status, json }) => [status, json.data?.map(({ id }: { id: string }) => id)]),
    ids.map((id) => [200, [id]]),
  );
});
