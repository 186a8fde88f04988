import Papa from 'papaparse';
import type { JsonObject } from '../../src/json.js';
import { connect } from '../features/mcp/session.js';
import { declare } from '../support/collections.js';
import { type ServiceResponse, type TestService, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { recordsIn } from '../support/words.js';

t.jobs = 2;

const DECLARATIONS = {
  'authors.json': {
    title: 'Author',
    type: 'object',
    properties: { name: { type: 'string', 'x-index': true } },
  },
  'books.json': {
    title: 'Book',
    type: 'object',
    properties: {
      title: { type: 'string', 'x-index': true, 'x-search': true },
      price: { type: 'number', 'x-index': true },
      authorId: { type: 'string', format: 'uuid', 'x-references': 'authors' },
    },
    'x-collection': { nested: true },
  },
};

/** The ways to query a list, each with the records that it selects, by their titles in order. */
const QUERIES: readonly (readonly [query: string, titles: string])[] = [
  ['page=1', 'abcd'],
  ['fields=title,authorId', 'abcd'],
  ['fields=title&limit=1&page=2', 'b'],
  ['filter[price][gte]=2', 'bcd'],
  ['filter[price][in]=1,3&fields=price', 'ac'],
  ['count=none', 'abcd'],
  ['sort=-price,title&page=1', 'dcba'],
  ['sort=-price,title&fields=text', 'dcba'],
  ['search=b&page=1', 'b'],
  ['include=author', 'abcd'],
  ['include=author&fields=title', 'abcd'],
  ['include=author&filter[title]=c&count=none', 'c'],
];

interface Library {
  readonly service: TestService;
  readonly author: JsonObject;
  readonly books: ReadonlyMap<string, JsonObject>;
}

/** Four books of an author; the author and the second and third book have texts of so many characters. */
async function library(t: Test, characters: number): Promise<Library> {
  const env = { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto', MCP: 'on' };
  const service = await testService(t, env);
  const text = 'é'.repeat(characters);
  const create = async (path: string, body: JsonObject) => {
    const { status, json } = await service.send('POST', path, { body });
    t.equal(status, 201);
    const { _links, ...record } = json;
    return record as JsonObject;
  };
  const author = await create('/authors', { name: 'Herbert', text });
  const books = new Map<string, JsonObject>();
  for (const [index, title] of ['a', 'b', 'c', 'd'].entries()) {
    const more = index === 1 || index === 2 ? { text } : {};
    books.set(title, await create('/books', { title, price: index + 1, authorId: author.id!, ...more }));
  }
  return { service, author, books };
}

/** The records of a query, computed from what was created. */
function expected({ author, books }: Library, query: string, titles: string): JsonObject[] {
  const given = new URLSearchParams(query);
  const fields = given.get('fields')?.split(',');
  return [...titles].map((title) => {
    const book = Object.entries(books.get(title)!);
    const shown = book.filter(([name]) => fields === undefined || name === 'id' || fields.includes(name));
    const included = given.get('include') === 'author' ? [['_included', { author }] as const] : [];
    return Object.fromEntries([...shown, ...included]);
  });
}

const NDJSON = 'application/x-ndjson';

for (const characters of [40_000, 400_000])
  t.test(`a list with records of ${characters} characters responds to each query`, async (t) => {
    const all = await library(t, characters);
    const { service, author } = all;
    const get = (path: string, accept: string) => service.send('GET', path, { headers: { accept } });
    for (const path of ['/books', `/authors/${author.id}/books`])
      for (const [query, titles] of QUERIES) {
        const about = `${path}?${query}`;
        const records = expected(all, query, titles);
        const page = await get(about, 'application/json');
        t.equal(page.status, 200, `${about} ${page.text.slice(0, 200)}`);
        t.same(page.json.data, records, about);
        t.equal(page.json.meta.total, query.includes('count=none') ? undefined : totalOf(query), about);
        t.same((await service.send('HEAD', about)).status, 200, about);
        const lines = await get(about, NDJSON);
        t.same(recordsIn(lines.text), records, `${about} as NDJSON`);
        if (query === 'page=1') t.equal(lines.headers['x-total-count'], '4', about);
        const [header = '', ...rows] = (await get(about, 'text/csv')).text.split('\r\n').slice(0, -1);
        const at = header.split(',').indexOf('id');
        t.same(
          rows.map((row) => Papa.parse<string[]>(row).data[0]![at]),
          records.map(({ id }) => id),
          `${about} as CSV`,
        );
        t.equal((await get(about, 'text/html')).status, 200, `${about} as HTML`);
        t.same((await bodyQuery(service, path, query)).json.data, records, `${about} by QUERY`);
      }
    if (characters < 400_000) return;
    // Each book that includes the author adds the bytes of the author: three books exceed a page that is read whole.
    await service.send('POST', '/books', { body: { title: 'e', authorId: author.id } });
    for (const accept of ['application/json', NDJSON, 'text/csv'])
      for (const limit of [1, 3]) {
        const { headers } = await get(`/books?include=author&filter[title][in]=a,d,e&limit=${limit}`, accept);
        t.equal(headers.etag === undefined, limit === 3, `${limit} books as ${accept}`);
        t.equal(headers['transfer-encoding'] === 'chunked', limit === 3, `${limit} books as ${accept}`);
      }
  });

const totalOf = (query: string): number =>
  query.includes('gte') ? 3 : query.includes('[in]') ? 2 : query.includes('search') ? 1 : 4;

/** A query in a body. */
function bodyQuery(service: TestService, path: string, query: string): Promise<ServiceResponse> {
  const body: Record<string, unknown> = { page: 1 };
  for (const [name, value] of new URLSearchParams(query)) {
    const [, field, operator = 'eq'] = /^filter\[(\w+)\](?:\[(\w+)\])?/.exec(name) ?? [];
    if (field === undefined) body[name] = name === 'page' ? Number(value) : value;
    else body.filter = { [field]: { [operator]: operator === 'in' ? value.split(',') : value } };
  }
  return service.send('QUERY', path, { body });
}

t.test('an agent and a batch get what fits into one response', async (t) => {
  const all = await library(t, 40_000);
  const { service } = all;
  const { call } = await connect(t, service.url);
  for (const [args, titles] of [
    [{}, 'abcd'],
    [{ fields: ['title'] }, 'abcd'],
    [{ filter: { price: { gte: 2 } } }, 'bcd'],
    [{ count: 'none', sort: ['-price', 'title'] }, 'dcba'],
    [{ include: ['author'], filter: { title: { eq: 'c' } } }, 'c'],
  ] as const) {
    const { isError, value } = await call('books_list', args as unknown as JsonObject);
    t.notOk(isError, JSON.stringify(value).slice(0, 200));
    t.same(
      value.data.map(({ title }: { title: string }) => title),
      [...titles],
    );
  }
  const body = QUERIES.map(([query]) => ({ method: 'GET', path: `/books?${query}` }));
  const { status, json } = await service.send('POST', '/batch', { body });
  t.equal(status, 200, JSON.stringify(json).slice(0, 200));
  for (const [index, [query, titles]] of QUERIES.entries())
    t.same(json.results[index].body.data, expected(all, query, titles), query);
});

t.test('an agent and a batch get 413 for a page beyond their limit, and can ask for less', async (t) => {
  const { service } = await library(t, 400_000);
  const { call } = await connect(t, service.url);
  const { isError, value } = await call('books_list', { count: 'none' });
  t.ok(isError);
  t.match(value.error, { status: 413, code: 'RESPONSE_TOO_LARGE', message: /smaller limit or fields/ });
  t.equal((await call('books_list', { count: 'none', fields: ['title'] })).value.data.length, 4);
  t.equal((await call('books_list', { limit: 2 })).value.data.length, 2);
  for (const [accept, query, status] of [
    ['application/json', 'count=none', 413],
    [NDJSON, 'page=1', 413],
    [NDJSON, 'limit=2', 200],
    ['text/csv', 'page=1', 200],
    ['text/csv', 'page=1&fields=text', 413],
  ] as const) {
    const body = [{ method: 'GET', path: `/books?${query}`, headers: { accept } }];
    const found = await service.send('POST', '/batch', { body });
    t.equal(found.status, status, `${accept} ${query}: CSV has no fields that are not declared`);
    if (status === 413) t.match(found.json.error, { code: 'RESPONSE_TOO_LARGE' });
  }
});

t.test('of large records that refer to a record, as many are included as fit', async (t) => {
  const { service, author, books } = await library(t, 400_000);
  for (const path of ['/authors?include=books', '/api/v2/authors?include=books'])
    for (const accept of ['application/json', NDJSON]) {
      const response = await service.send('GET', path, { headers: { accept } });
      t.equal(response.status, 200, path);
      const [first] = accept === NDJSON ? recordsIn(response.text) : response.json.data;
      t.equal(first.name, author.name, path);
      t.same(first._included.books, [books.get('a'), books.get('b')], path);
    }
});
