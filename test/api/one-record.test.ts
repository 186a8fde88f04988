import type { JsonObject } from '../../src/json.js';
import { connect } from '../features/mcp/session.js';
import { declare } from '../support/collections.js';
import { makeKey } from '../support/credentials.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';

t.jobs = 2;

const DECLARATIONS = {
  'authors.json': { title: 'Author', type: 'object', properties: { name: { type: 'string' } } },
  'books.json': {
    title: 'Book',
    type: 'object',
    properties: {
      title: { type: 'string', 'x-search': true },
      price: { type: 'number', 'x-index': true },
      secret: { type: 'string', writeOnly: true },
      authorId: { type: 'string', format: 'uuid', 'x-references': 'authors' },
    },
    'x-collection': { nested: true },
  },
};

async function library(t: Test, more: Record<string, string> = {}, headers: Record<string, string> = {}) {
  const env = { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto', MCP: 'on', ...more };
  const service = await testService(t, env);
  const as = 'AUTH' in more ? { 'x-api-key': (await makeKey(service.db)).key } : headers;
  const create = async (path: string, body: JsonObject) =>
    (await service.send('POST', path, { body, headers: as })).json as JsonObject;
  const author = await create('/authors', { name: 'Herbert' });
  const book = await create('/books', { title: '=Dune', price: 10, secret: 's', authorId: author.id! });
  return { service, author, book, path: `/books/${book.id}` };
}

const without = (record: JsonObject, ...names: string[]) =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));

for (const mount of ['', '/api/v2'])
  t.test(`fields and include work on one record at ${mount}/`, async (t) => {
    const { service, author, book, path } = await library(t);
    const get = (query: string, accept = 'application/json') =>
      service.send('GET', `${mount}${path}${query}`, { headers: { accept } });
    const { id } = book;
    const whole = (await get('')).json;
    const related = without(author, '_links');
    for (const [query, expected] of [
      ['?fields=title', { id, title: '=Dune', _links: whole._links }],
      ['?fields=title&fields=price', { id, title: '=Dune', price: 10, _links: whole._links }],
      ['?fields=title,price,title', { id, title: '=Dune', price: 10, _links: whole._links }],
      ['?fields=', { id, _links: whole._links }],
      ['?include=', whole],
      ['?_cache=1', whole],
      ['?include=author', { ...whole, _included: { author: related } }],
      [
        '?fields=price&include=author',
        { id, price: 10, _included: { author: related }, _links: whole._links },
      ],
    ] as const) {
      const response = await get(query);
      t.equal(response.status, 200, query);
      t.same(response.json, expected, query);
      const head = await service.send('HEAD', `${mount}${path}${query}`);
      t.equal(head.headers.etag, response.headers.etag, query);
      const again = { headers: { 'if-none-match': response.headers.etag! } };
      t.equal((await service.send('GET', `${mount}${path}${query}`, again)).status, 304, query);
    }
    const csv = await get('?fields=title&include=author', 'text/csv');
    t.match(csv.text, /^id,title,_included\r\n/);
    t.match(csv.text, `${id},'=Dune,`);
    t.match(csv.text, 'Herbert');
    const html = await get('?fields=title', 'text/html');
    t.match(html.text, '=Dune');
    t.notMatch(html.text, /price/, 'nor is there a form with other fields');
    const of = await service.send('GET', `${mount}/authors/${author.id}?include=books`);
    t.same(
      of.json._included.books.map((each: JsonObject) => each.title),
      ['=Dune'],
    );
    const operations = ['?fields=title', '?include=author'].map((query) => ({
      method: 'GET',
      path: `${path}${query}`,
    }));
    const { results } = (await service.send('POST', `${mount}/batch`, { body: operations })).json;
    t.equal(results[0].body.price, undefined);
    t.equal(results[1].body._included.author.name, 'Herbert');
  });

t.test('the ETag of a part guards a write of the record', async (t) => {
  const { service, path } = await library(t);
  const tagOf = async (query: string, accept = 'application/json') =>
    (await service.send('GET', `${path}${query}`, { headers: { accept } })).headers.etag!;
  const tags = new Set<string>();
  for (const query of ['', '?fields=title', '?fields=price', '?include=author'])
    for (const accept of ['application/json', 'text/csv', 'text/html']) tags.add(await tagOf(query, accept));
  t.equal(tags.size, 9, 'each representation has its own; the page of a record is one');
  const etag = await tagOf('?fields=price');
  const change = (body: object) => service.send('PATCH', path, { headers: { 'if-match': etag }, body });
  t.equal((await change({ price: 11 })).status, 200);
  t.equal((await change({ price: 12 })).status, 412);
  const included = await tagOf('?include=author');
  const { authorId } = (await service.send('GET', path)).json;
  t.equal((await service.send('PATCH', `/authors/${authorId}`, { body: { name: 'Frank' } })).status, 200);
  t.not(await tagOf('?include=author'), included, 'a change of what is included changes it');
});

t.test('what one record does not have is 400', async (t) => {
  const { service, author, path } = await library(t);
  for (const mount of ['', '/api/v2'])
    for (const [query, code, message] of [
      ['?include=editor', 'INVALID_QUERY', /there are author/],
      ['?fields=secret', 'INVALID_QUERY', /secret/],
      [`?fields=${Array.from({ length: 51 }, (_, at) => `f${at}`)}`, 'INVALID_QUERY', /50/],
      ['?colour=red', 'UNKNOWN_PARAMETER', /Supported: fields, include/],
      ['?limit=1', 'UNKNOWN_PARAMETER', /fields, include/],
      ['?filter[price]=1', 'UNKNOWN_PARAMETER', /fields, include/],
    ] as const) {
      const { status, json } = await service.send('GET', `${mount}${path}${query}`);
      t.equal(status, 400, query);
      t.match(JSON.stringify(json), code, query);
      t.match(JSON.stringify(json), message, query);
    }
  for (const [method, target, body] of [
    ['PUT', path, { title: 'x' }],
    ['PATCH', path, { title: 'x' }],
    ['DELETE', path, undefined],
    ['POST', '/books', { title: 'x' }],
    ['POST', `/authors/${author.id}/books`, { title: 'x' }],
    ['QUERY', '/books', {}],
  ] as const) {
    const send = (query: string) =>
      service.send(method, `${target}${query}`, body === undefined ? {} : { body });
    for (const query of ['?dry_run=true', '?fields=title', '?search=x']) {
      const refused = await send(query);
      t.equal(refused.status, 400, `${method} ${query}`);
      t.match(refused.json.error, { code: 'UNKNOWN_PARAMETER', message: /Supported: none/ });
    }
  }
  t.equal((await service.send('GET', path)).json._version, 1, 'nothing was written');
  t.equal((await service.send('PATCH', `${path}?_note=1`, { body: { price: 2 } })).status, 200);
});

t.test('a record of another collection is included with permission', async (t) => {
  const { service, path } = await library(t, { AUTH: 'api-key' });
  const { key } = await makeKey(service.db, { scopes: ['books:read'] });
  const get = (query: string) => service.send('GET', `${path}${query}`, { headers: { 'x-api-key': key } });
  t.equal((await get('?fields=title')).status, 200);
  t.equal((await get('?include=author')).status, 403);
});

t.test('an agent reads a part of a record, and changes the record', async (t) => {
  const { service, book } = await library(t);
  const { call } = await connect(t, service.url);
  const { id } = book;
  const { value } = await call('books_get', { id: id!, fields: ['price'], include: ['author'] });
  t.same(Object.keys(value.record), ['id', 'price', '_included', '_links']);
  t.equal(value.record._included.author.name, 'Herbert');
  const changed = await call('books_update', { id: id!, patch: { price: 1 }, ifMatch: value.etag });
  t.equal(changed.value.record.price, 1);
  t.ok((await call('books_get', { id: id!, include: ['editor'] })).isError);
});
