import { declare } from '../support/collections.js';
import { makeKey } from '../support/credentials.js';
import { type TestService, testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

t.jobs = 2;

const DECLARATIONS = {
  'authors.json': {
    title: 'Author',
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string', minLength: 1, 'x-index': true } },
  },
  'books.json': {
    title: 'Book',
    type: 'object',
    required: ['title'],
    properties: {
      title: { type: 'string', maxLength: 200, 'x-index': true, 'x-search': true },
      isbn: { type: 'string', 'x-unique': true },
      price: { type: 'number', 'x-index': true },
      published: { type: 'string', format: 'date-time', 'x-index': true },
      inPrint: { type: 'boolean', 'x-index': true },
      tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
      printed: { type: 'array', items: { type: 'string', format: 'date-time' }, 'x-index': true },
      notes: { type: 'string' },
      secret: { type: 'string', writeOnly: true },
      authorId: { type: 'string', format: 'uuid', 'x-references': 'authors', 'x-on-delete': 'cascade' },
    },
    'x-collection': { list: 'page', sort: '-created_at', nested: true },
  },
};

const BOOKS = [
  {
    title: 'Dune',
    isbn: '1',
    price: 10,
    tags: ['sf', 'desert'],
    inPrint: true,
    published: '1965-08-01T00:00:00Z',
    printed: ['1970-01-01T02:00:00+02:00', '1984-12-14T12:30:00.5Z'],
  },
  { title: 'Dune Messiah', isbn: '2', price: 12.5, tags: ['sf'], inPrint: false },
  { title: 'Emma', isbn: '3', price: 5, tags: ['classic'], published: '1815-12-23T00:00:00+01:00' },
  { title: 'Éclair, 100%', isbn: '4,5', price: 5, notes: 'cake' },
  { title: 'Zebra' },
];

async function library(t: Test, more: Record<string, string> = {}) {
  const env = { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto', ...more };
  const service = await testService(t, env);
  const author = (await service.send('POST', '/authors', { body: { name: 'Herbert' } })).json;
  for (const [index, book] of BOOKS.entries()) {
    const body = index < 2 ? { ...book, authorId: author.id, secret: 's' } : book;
    t.equal((await service.send('POST', '/books', { body })).status, 201);
  }
  return { service, author, env };
}

const titles = async ({ send }: TestService, query: string) => {
  const { status, json } = await send('GET', `/books?${query}`);
  if (status !== 200) throw new Error(JSON.stringify(json));
  return json.data.map(({ title }: { title: string }) => title);
};

t.test('each operator selects what it says', async (t) => {
  const { service, author } = await library(t);
  for (const [filter, found] of [
    ['filter[title]=Dune', ['Dune']],
    ['filter[title][eq]=Dune', ['Dune']],
    ['filter[title][ne]=Dune', ['Dune Messiah', 'Emma', 'Zebra', 'Éclair, 100%']],
    ['filter[price][gte]=10', ['Dune', 'Dune Messiah']],
    ['filter[price][gt]=10', ['Dune Messiah']],
    ['filter[price][lt]=10', ['Emma', 'Éclair, 100%']],
    ['filter[price][lte]=1e1', ['Dune', 'Emma', 'Éclair, 100%']],
    ['filter[price][gte]=6&filter[price][lt]=12', ['Dune']],
    ['filter[price][in]=5,12.5', ['Dune Messiah', 'Emma', 'Éclair, 100%']],
    ['filter[price][nin]=5,12.5', ['Dune']],
    ['filter[price][between]=5,10', ['Dune', 'Emma', 'Éclair, 100%']],
    ['filter[title][between]=Dune&filter[title][between]=Emma', ['Dune', 'Dune Messiah', 'Emma']],
    ['filter[tags][any]=desert,classic', ['Dune', 'Emma']],
    ['filter[or][0][title]=Zebra&filter[or][1][price]=12.5', ['Dune Messiah', 'Zebra']],
    ['filter[not][price]=5', ['Dune', 'Dune Messiah', 'Zebra']],
    ['filter[author][name]=Herbert', ['Dune', 'Dune Messiah']],
    ['filter[author][books][some][tags][has]=desert&filter[price][gt]=10', ['Dune Messiah']],
    ['filter[_version]=1&filter[title]=Emma', ['Emma']],
    ['filter[created_at][lt]=2020-01-01', []],
    ['filter[updated_at][gt]=2020-01-01&filter[title]=Emma', ['Emma']],
    ['filter[isbn][in]=4,5', []],
    ['filter[isbn][in]=4,5&filter[isbn][in]=1', ['Dune', 'Éclair, 100%']],
    ['filter[tags][has]=sf', ['Dune', 'Dune Messiah']],
    ['filter[tags][has]=none', []],
    ['filter[printed][has]=1970-01-01', ['Dune']],
    ['filter[printed][has]=1984-12-14T11:30:00.500-01:00', ['Dune']],
    ['filter[printed][has]=1970-01-01T02:00:00Z', []],
    ['filter[title][prefix]=Dune', ['Dune', 'Dune Messiah']],
    ['filter[title][prefix]=dune', []],
    ['filter[title][prefix]=%C3%89', ['Éclair, 100%']],
    ['filter[title][contains]=MESS', ['Dune Messiah']],
    ['filter[title][contains]=100%25', ['Éclair, 100%']],
    ['filter[title][contains]=_', []],
    ['filter[price][null]=true', ['Zebra']],
    ['filter[inPrint][null]=false', ['Dune', 'Dune Messiah']],
    ['filter[inPrint]=true', ['Dune']],
    ['filter[published][lt]=1900-01-01T00:00:00Z', ['Emma']],
    ['filter[published]=1815-12-22T23:00:00Z', ['Emma']],
    [`filter[authorId]=${author.id.toUpperCase()}`, ['Dune', 'Dune Messiah']],
    ['search=dune&filter[price][gt]=10', ['Dune Messiah']],
  ] as const)
    t.same(await titles(service, `${filter}&sort=title&order=asc`), found, filter);
  t.same((await service.send('GET', `/authors/${author.id}/books?filter[price][gt]=10`)).json.meta, {
    page: 1,
    limit: 20,
    total: 1,
    totalPages: 1,
  });
});

t.test('several sort keys, pages, counts and fields', async (t) => {
  const { service } = await library(t);
  t.same(await titles(service, 'sort=price,-title'), [
    'Éclair, 100%',
    'Emma',
    'Dune',
    'Dune Messiah',
    'Zebra',
  ]);
  t.same(await titles(service, 'sort=-price,title'), [
    'Dune Messiah',
    'Dune',
    'Emma',
    'Éclair, 100%',
    'Zebra',
  ]);
  t.same(await titles(service, 'sort=-created_at'), BOOKS.map(({ title }) => title).reverse());
  const first = (await service.send('GET', '/books?sort=price,title&limit=2&filter[price][gt]=0')).json;
  t.match(first.meta, { page: 1, limit: 2, total: 4, totalPages: 2 });
  const second = (await service.send('GET', first.links.next)).json;
  t.same(
    second.data.map(({ title }: { title: string }) => title),
    ['Dune', 'Dune Messiah'],
  );
  t.equal(second.links.next, null);
  const uncounted = (await service.send('GET', '/books?count=none&limit=2')).json;
  t.same(uncounted.meta, { page: 1, limit: 2 });
  t.match(uncounted.links.next, /count=none/);
  t.notOk('last' in uncounted.links);
  const shown = (await service.send('GET', '/books?fields=title,price&filter[title]=Dune')).json.data[0];
  t.same(Object.keys(shown), ['id', 'title', 'price']);
  const tagged = await service.send('GET', '/books?fields=title&filter[title]=Dune');
  const same = { headers: { 'if-none-match': tagged.headers.etag } };
  t.equal((await service.send('GET', '/books?fields=title&filter[title]=Dune', same)).status, 304);
  const html = await service.send('GET', '/books?filter[title]=Dune', { headers: { accept: 'text/html' } });
  t.match(html.text, />Dune</);
  t.notMatch(html.text, /Emma/);
});

t.test('a filter by related records needs permission to read them', async (t) => {
  const { service, env } = await library(t);
  const settings = { ...env, DATABASE_URL: service.databaseUrl, AUTH: 'api-key' };
  const restricted = await testService(t, settings);
  const { key } = await makeKey(restricted.db, { scopes: ['books:read'] });
  const headers = { 'x-api-key': key };
  t.equal((await restricted.send('GET', '/books?filter[price][gt]=1', { headers })).status, 200);
  for (const filter of ['filter[author][name]=Herbert', 'filter[or][0][not][author][name]=Herbert'])
    for (const path of [`/books?${filter}`, `/books?${filter}&limit=1`, `/api/v2/books?${filter}`])
      t.equal((await restricted.send('GET', path, { headers })).status, 403, path);
  const body = { filter: { author: { books: { some: true } } } };
  t.equal((await restricted.send('QUERY', '/books', { headers, body })).status, 403);
  const writer = { 'x-api-key': (await makeKey(restricted.db, { scopes: ['books:write'] })).key };
  t.equal(
    (await restricted.send('DELETE', '/books?filter[author][name]=Herbert', { headers: writer })).status,
    403,
  );
  t.equal((await restricted.send('PATCH', '/books?filter[price]=1', { headers, body: {} })).status, 403);
});

t.test('what is not valid is 400 and names what is', async (t) => {
  const { service } = await library(t);
  for (const [query, parameter, message] of [
    ['filter[colour]=red', 'filter[colour]', /title, isbn, price/],
    ['filter[notes]=x', 'filter[notes]', /names no field/],
    ['filter[price][near]=1', 'filter[price][near]', /eq, ne, lt, lte, gt, gte, between, in, nin, null/],
    ['filter[price][has]=1', 'filter[price][has]', /operators/],
    ['filter[price]=cheap', 'filter[price]', /must be a number/],
    ['filter[price]=', 'filter[price]', /must be a number/],
    // The value of a double near it would find other records.
    ['filter[price]=9007199254740993', 'filter[price]', /fits a double/],
    ['filter[price][in]=1,9007199254740993', 'filter[price][in]', /fits a double/],
    ['filter[price][lt]=-12345678901234567890', 'filter[price][lt]', /fits a double/],
    ['filter[price][gte]=0.30000000000000000001', 'filter[price][gte]', /fits a double/],
    ['filter[price]=1e-400', 'filter[price]', /fits a double/],
    ['filter[inPrint]=yes', 'filter[inPrint]', /true or false/],
    ['filter[authorId]=7', 'filter[authorId]', /id of a record/],
    ['filter[published]=soon', 'filter[published]', /RFC 3339/],
    ['filter[printed][has]=1970-01-01T00:00:00', 'filter[printed][has]', /RFC 3339, with its zone/],
    ['filter[title]=a&filter[title]=b', 'filter[title]', /once/],
    ['filter=x', 'filter', /like filter\[field\]/],
    ['filter[title][eq][x]=1', 'filter[title][eq][x]', /like filter/],
    ['filter[price][between]=1', 'filter[price][between]', /two values/],
    ['filter[or][title]=a', 'filter[or][title]', /number/],
    ['filter[or]=a', 'filter[or]', /followed by a number/],
    ['filter[or][0]=a', 'filter[or][0]', /followed by the name of a field/],
    ['filter[not]=a', 'filter[not]', /followed by the name of a field/],
    ['filter[author]=a', 'filter[author]', /a field must follow/],
    [
      'filter[author][colour]=red',
      'filter[author][colour]',
      /name, id, created_at, updated_at, _version, books/,
    ],
    ['filter[author][books]=a', 'filter[author][books]', /some, none, every must follow/],
    ['filter[author][books][all][price]=1', 'filter[author][books][all]', /some, none, every/],
    ['filter[author][books][every]=true', 'filter[author][books][every]', /name of a field/],
    ['filter[author][books][some]=yes', 'filter[author][books][some]', /name of a field, or be true/],
    [
      `filter${'[author][books][some]'.repeat(3)}[price]=1`,
      `filter${'[author][books][some]'.repeat(2)}[author][books]`,
      /more than 5 relations/,
    ],
    [
      `filter${'[not]'.repeat(30)}[price]=1`,
      `filter${'[not]'.repeat(30)}[price]`.slice(0, 100),
      /at most 24 names/,
    ],
    [`filter[price][in]=${'1,'.repeat(200)}`, 'filter[price][in]', /100 values/],
    ['include=publisher', 'include', /author/],
    ['count=some', 'count', /exact or none/],
    ['fields=secret', 'fields', /unknown field/],
  ] as const) {
    const { status, json } = await service.send('GET', `/books?${query}`);
    t.equal(status, 400, query);
    t.equal(json.error.code, 'INVALID_QUERY', query);
    t.equal(json.error.details.parameter, parameter, query);
    t.match(json.error.message, message, query);
  }
  t.equal(
    (await service.send('GET', `/books?filter[title]=${encodeURIComponent("'; drop table books; --")}`))
      .status,
    200,
  );
  t.equal((await service.send('GET', '/books?filter[title]=%00')).json.error.code, 'INVALID_QUERY');
});

t.test('QUERY reads the same from a body, and repeats it as an address', async (t) => {
  const { service } = await library(t);
  const query = (body: unknown, path = '/books') => service.send('QUERY', path, { body });
  const found = await query({
    filter: { price: { gte: 5, lt: 12 }, tags: { has: 'sf' }, isbn: { in: ['1', '4,5'] }, inPrint: true },
    sort: ['-price', 'title'],
    fields: ['title'],
    limit: 5,
  });
  t.match(found, { status: 200, headers: { 'accept-query': 'application/json' } });
  t.same(
    found.json.data.map(({ title }: { title: string }) => title),
    ['Dune'],
  );
  const again = await service.send('GET', found.headers.location!);
  t.same(again.json.data, found.json.data);
  t.same((await query({ filter: { isbn: { in: ['4,5'] } } })).json.meta.total, 1, 'a comma in a value');
  t.equal((await query({})).json.meta.total, BOOKS.length);
  const long = await query({
    filter: { isbn: { in: ['1', '2', 'ä'.repeat(5000)] } },
    sort: ['-price'],
    limit: 1,
  });
  t.match(long, { status: 200, json: { meta: { total: 2 } } });
  t.notOk('location' in long.headers, 'no address that GET would refuse');
  const lines = await service.send('QUERY', '/books', {
    body: { filter: { isbn: { in: ['1', 'ä'.repeat(5000)] } }, limit: 1, page: 1 },
    headers: { accept: 'application/x-ndjson' },
  });
  t.equal(lines.status, 200);
  t.notOk('link' in lines.headers);
  const neighbours = await service.send('QUERY', '/books', {
    body: { filter: { isbn: { in: ['1', '2', '3', 'x'.repeat(3000)] } }, limit: 1, page: 2 },
    headers: { accept: 'application/x-ndjson' },
  });
  t.same(
    [...String(neighbours.headers.link).matchAll(/rel="(\w+)"/g)].map(([, relation]) => relation),
    ['next', 'prev'],
    'the other relations would make the field too long',
  );
  t.match(await query({ colour: 1 }), { status: 400, json: { error: { code: 'UNKNOWN_PARAMETER' } } });
  t.match(await query([]), { status: 400, json: { errors: [{ message: 'must be an object' }] } });
  for (const value of [[], {}, 'x', null, [{}]] as never[])
    t.match(await query({ srot: value }), {
      status: 400,
      json: { error: { code: 'UNKNOWN_PARAMETER', message: /srot/ } },
    });
  t.match(await query({ filter: { price: { gte: null } } }), {
    status: 400,
    json: { errors: [{ path: '/filter/price/gte' }] },
  });
  t.match(await service.send('QUERY', '/books', { body: 'x', type: 'text/plain' }), {
    status: 415,
    headers: { 'accept-query': 'application/json' },
  });
  t.match((await service.send('OPTIONS', '/books')).headers, {
    allow: 'GET, HEAD, QUERY, POST, OPTIONS',
    'accept-query': 'application/json',
  });
});

t.test('all records that match a filter are changed or deleted, with one event each', async (t) => {
  const { service } = await library(t);
  const { send } = service;
  t.match(await send('PATCH', '/books', { body: { price: 1 } }), {
    status: 405,
    json: { error: { code: 'METHOD_NOT_ALLOWED' } },
  });
  t.match(await send('DELETE', '/books'), { status: 405, json: { error: { code: 'METHOD_NOT_ALLOWED' } } });
  t.match(await send('PATCH', '/books?filter[price][lt]=6', { body: { price: 6, tags: ['cheap'] } }), {
    status: 200,
    json: { meta: { matched: 2 } },
  });
  t.same((await titles(service, 'filter[tags][has]=cheap')).sort(), ['Emma', 'Éclair, 100%']);
  const failed = await send('PATCH', '/books?filter[price][gte]=6', { body: { title: '', isbn: 'same' } });
  t.equal(failed.status, 409, 'a duplicate');
  t.equal((await titles(service, 'filter[isbn]=same')).length, 0, 'nothing was changed');
  t.match(await send('DELETE', '/books?filter[author][name]=Herbert&filter[not][title]=Emma'), {
    status: 200,
    json: { meta: { matched: 2 } },
  });
  t.equal((await send('GET', '/books')).json.meta.total, 3);
  const types = await until('the events are there', async () => {
    const { data } = (await send('GET', '/events?types=books.*&limit=100')).json;
    return data.length === 9 && data.map(({ type }: { type: string }) => type);
  });
  t.same(types.slice(5), ['books.updated', 'books.updated', 'books.deleted', 'books.deleted']);
});

t.test('more matches than the limit change nothing; a query that takes too long is 503', async (t) => {
  const { service, env } = await library(t);
  const sql = sqlOf(t, service.databaseUrl);
  const [{ id, doc }] = (await sql`select id, doc from books limit 1`) as unknown as [
    { id: string; doc: string },
  ];
  await sql`insert into books (id, version, updated_at, doc, title, price)
    select id, 1, now(), replace(${doc}, ${id}, id::text), 'b' || n, 77
    from (select gen_random_uuid() as id, n from generate_series(1, 10001) n) as made`;
  t.match(await service.send('PATCH', '/books?filter[price]=77', { body: { price: 78 } }), {
    status: 413,
    json: { error: { code: 'TOO_MANY_MATCHES' } },
  });
  t.match(await service.send('DELETE', '/books?filter[price]=77'), {
    status: 413,
    json: { error: { code: 'TOO_MANY_MATCHES', details: { limit: 10_000, last: String } } },
  });
  t.equal((await service.send('GET', '/books?filter[price]=77')).json.meta.total, 10_001);
  const hasty = await testService(t, { ...env, DATABASE_URL: service.databaseUrl, QUERY_TIMEOUT_MS: '50' });
  await sql.begin(async (run) => {
    await run`lock table books in access exclusive mode`;
    t.match(await hasty.send('GET', '/books?filter[price]=77'), { status: 503 });
  });
});
