import type { JsonObject } from '../../src/json.js';
import { declare } from '../support/collections.js';
import { whenEventsAreFinal } from '../support/final-events.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { words } from '../support/words.js';

t.jobs = 2;

const FILES = {
  'authors.json': { type: 'object', properties: { name: { type: 'string', 'x-index': true } } },
  'books.json': {
    type: 'object',
    properties: {
      title: { type: 'string', 'x-index': true, 'x-search': true },
      state: { type: 'string', 'x-index': true },
      isbn: { type: 'string', 'x-unique': true },
      price: { type: 'number', 'x-index': true },
      authorId: { type: 'string', 'x-references': 'authors' },
    },
    'x-collection': { nested: true, history: true },
  },
  'items.json': {},
};

const BOOKS = [
  { title: 'Dune', state: 'b', isbn: '1', price: 10 },
  { title: 'Emma', state: 'a', isbn: '2', price: 5 },
  { title: 'Zebra', state: 'a', isbn: '3', price: 7 },
];

/** A service with three books of one author. */
async function library(t: Test, more: Record<string, string> = {}) {
  const service = await testService(t, { COLLECTIONS: declare(t, FILES), MIGRATE: 'auto', ...more });
  const { send } = service;
  const author = String((await send('POST', '/authors', { body: { name: 'Ann' } })).json.id);
  const ids: string[] = [];
  for (const book of BOOKS)
    ids.push(String((await send('POST', '/books', { body: { ...book, authorId: author } })).json.id));
  const stored = async () =>
    (await send('GET', '/books?page=1')).json.data.map(
      ({ title, _version }: JsonObject) => `${title} ${_version}`,
    );
  return { ...service, author, ids, stored };
}

const UNREAD = { status: 400, json: { error: { code: 'UNKNOWN_PARAMETER' } } };
/** Parameters that are lists of names. */
const LISTS = ['fields', 'include', 'sort', 'group', 'aggregate', 'types'];
/** Parameters whose names go on in brackets. */
const IN_PARTS = ['filter', 'fields'];

/** The operations of a service that have parameters, each with their names. */
function operationsIn(document: JsonObject) {
  const paths = Object.entries(document.paths as Record<string, Record<string, JsonObject>>);
  const components = (document.components as JsonObject).parameters as Record<string, JsonObject>;
  return paths.flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { parameters }]) => {
      const named = ((parameters ?? []) as JsonObject[])
        .map((each) => components[String(each.$ref ?? '').replace('#/components/parameters/', '')] ?? each)
        .filter((each) => each.in === 'query')
        .map(({ name }) => String(name).split('[', 1)[0]!);
      return named.length === 0 ? [] : [{ path, method: method.toUpperCase(), names: [...new Set(named)] }];
    }),
  );
}

t.test('each parameter of each endpoint is known by its whole name', async (t) => {
  const { send, stored, ids, author } = await library(t, { WEBHOOKS: 'on', JOBS: 'on' });
  const before = await stored();
  let count = 0;
  for (const version of ['1', '2']) {
    const headers = { 'api-version': version };
    const operations = operationsIn((await send('GET', '/openapi.json', { headers })).json);
    t.ok(operations.length > 20, `version ${version} has ${operations.length} such operations`);
    for (const { path, method, names } of operations)
      for (const name of names)
        for (const unread of [`${name}[]`, `${name}[x]`, `${name}[0]`, `x${name}`, name.toUpperCase()]) {
          if (unread === `${name}[]` && LISTS.includes(name)) continue;
          const address = path.replace(/\{[^}]+\}/g, path.startsWith('/authors') ? author : ids[0]!);
          const filter = names.includes('filter') && method !== 'GET' ? 'filter[isbn][eq]=2&' : '';
          const query = `${address}?${filter}${encodeURIComponent(unread)}=1`;
          const body = method === 'GET' || method === 'DELETE' ? {} : { body: { title: 'changed' } };
          const { status, json } = await send(method, query, { headers, ...body });
          const code = IN_PARTS.includes(name)
            ? /^(INVALID_QUERY|BAD_REQUEST|UNKNOWN_PARAMETER)$/
            : /^UNKNOWN_PARAMETER$/;
          t.match([status, (json.error ?? json).code], [400, code], `${version} ${method} ${query}`);
          count++;
        }
  }
  t.ok(count > 500, `${count} requests`);
  t.same(await stored(), before, 'nothing has changed');
});

t.test('names that nothing reads change and delete nothing', async (t) => {
  const { send, stored } = await library(t, { MCP: 'on' });
  const before = await stored();
  const all = 'filter[title][ne]=zz';
  for (const extra of [
    ...words(`
      search[]=nothing search[x]=nothing search%5B%5D=nothing Search=nothing search%00=nothing
      search%20=nothing =nothing filter=nothing filter[]=nothing filter[title=nothing
      filter[title]]=nothing filter[title][eq][x]=nothing filter[title]x=nothing Filter[title]=nothing
      filters[title]=nothing constructor=1 page[size]=1 limit=1 search=a&search=b
    `),
    `search=${'x'.repeat(101)}`,
  ])
    for (const version of ['1', '2'])
      for (const [method, body] of [
        ['DELETE', undefined],
        ['PATCH', { state: 'changed' }],
      ] as const) {
        const headers = { 'api-version': version };
        const path = `/books?${all}&${extra}`;
        const alone = await send(method, path, { headers, body });
        t.equal(alone.status, 400, `${version} ${method} ${extra}`);
        const operations = [{ method, path, ...(body && { body }) }];
        const batch = await send('POST', '/batch', { headers, body: { operations } });
        t.equal(batch.status, 400, `${version} ${method} ${extra} in a batch`);
      }
  t.same(await stored(), before);
  const ignored = await send('PATCH', `/books?${all}&_x[]=1&__proto__=1&&`, { body: { state: 'c' } });
  t.match(ignored, { status: 200, json: { meta: { matched: 3 } } }, 'names that begin with _ are free');
});

t.test('no endpoint ignores a parameter, or a second value of one with a single value', async (t) => {
  const { send, ids } = await library(t, { MCP: 'on' });
  const { paths } = (await send('GET', '/openapi.json')).json as { paths: JsonObject };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods as JsonObject).map((method) => [method.toUpperCase(), path] as const),
  );
  const own = [...operations, ['GET', '/docs'], ['POST', '/mcp']] as const;
  for (const [method, path] of own.filter(([method]) => method !== 'X-QUERY')) {
    const address = `${path.replace(/\{[^}]+\}/g, ids[0]!)}?unread=1`;
    const headers = { accept: '*/*' };
    const { status, json } = await send(
      method,
      address,
      method === 'GET' ? { headers } : { headers, body: {} },
    );
    if (/^\/(healthz|readyz|metrics)$/.test(path)) t.equal(status, 200, `${method} ${path}`);
    // Without a filter, these methods are none of a list.
    else if (status !== 405) t.match([status, json], [400, UNREAD.json], `${method} ${path}`);
  }
  const twice = { status: 400, json: { error: { code: 'INVALID_QUERY' } } };
  for (const [path, version] of [
    ['/books?count=none&count=exact', '1'],
    ['/events?limit=1&limit=2', '1'],
    [`/books/${ids[0]}/history?limit=1&limit=2`, '1'],
    ['/webhooks?after=1&after=1', '1'],
    ['/books?limit=1&limit=2', '2'],
    ['/books?search=a&search=b', '2'],
  ] as const)
    t.match(
      await send('GET', path, { headers: { 'api-version': version } }),
      version === '1' ? twice : { status: 400, json: twice.json.error },
      path,
    );
  const first = await send('GET', '/items?page=1&page=9&limit=1&limit=9&order=asc&order=x&search=e&search=z');
  t.match(first, { status: 200, json: { meta: { page: 1, limit: 1 } } }, 'of these the first applies');
});

t.test('an encoded filter is one, and a name that only begins like it is none', async (t) => {
  const { send, ids } = await library(t);
  t.match(await send('DELETE', '/books?%66ilter%5Bisbn%5D=1'), { json: { meta: { matched: 1 } } });
  t.match(await send('DELETE', '/books?filterisbn=1'), { status: 405 });
  t.match(await send('HEAD', `/books/${ids[1]}?search[]=x`), { status: 400 });
  t.match(await send('QUERY', '/books?search[]=x', { body: {} }), UNREAD);
  t.match(await send('QUERY', '/books', { body: { 'search[]': 'x' } }), UNREAD);
  t.equal((await send('QUERY', '/books', { body: { 'include[]': 'author' } })).status, 400);
  const html = { headers: { accept: 'text/html' } };
  for (const query of ['search[]=x', 'limit[x]=1', 'filters=1'])
    t.equal((await send('GET', `/books?${query}`, html)).status, 400, query);
  t.match(await send('GET', `/books/${ids[1]}/history?limit[]=1`), UNREAD);
  t.match(await send('GET', '/events?ticket[]=x'), UNREAD);
});

t.test('a list of names may be repeated with or without brackets', async (t) => {
  const service = await library(t, { PAGES: 'on' });
  await whenEventsAreFinal(service);
  const { send, author } = service;
  for (const version of ['1', '2']) {
    const headers = { 'api-version': version };
    for (const [bracketed, plain] of [
      ['fields[]=title&fields[]=price', 'fields=title,price'],
      ['include[]=author', 'include=author'],
      [
        'include[]=author&fields[]=title&fields[author]=name',
        'include=author&fields=title&fields[author]=name',
      ],
      ['sort[]=state&sort[]=-title&limit=9', 'sort=state,-title&limit=9'],
      ['sort=state&sort[]=-title&limit=9', 'sort=state&sort=-title&limit=9'],
      ['group[]=state', 'group=state'],
      ['group[]=state&aggregate[]=count&aggregate[]=sum(price)', 'group=state&aggregate=count,sum(price)'],
    ] as const)
      for (const path of ['/books', `/authors/${author}/books`]) {
        const [given, expected] = [
          await send('GET', `${path}?${bracketed}`, { headers }),
          await send('GET', `${path}?${plain}`, { headers }),
        ];
        t.equal(given.status, 200, `${version} ${path}?${bracketed}`);
        t.same(given.json.data, expected.json.data, `${version} ${path}?${bracketed}`);
        const html = { accept: 'text/html' };
        t.equal((await send('GET', `${path}?${bracketed}`, { headers: html })).status, 200);
      }
    const types = async (query: string) =>
      (await send('GET', `/events?${query}`, { headers })).json.data.map(({ type }: JsonObject) => type);
    t.same(await types('types[]=books.*&types[]=authors.*'), await types('types=books.*,authors.*'));
    t.equal((await types('types=books.*&types=authors.*')).length, 4, 'a repeated list loses nothing');
  }
});

t.test('repeated sort is a list in version 1, except in lists with one key', async (t) => {
  const { send } = await library(t);
  const titles = async (query: string) =>
    (await send('GET', `/books?${query}`)).json.data.map(({ title }: JsonObject) => title);
  t.same(await titles('sort=state&sort=-title&limit=9'), ['Zebra', 'Emma', 'Dune']);
  t.same(await titles('sort=state&sort=title&limit=9'), ['Emma', 'Zebra', 'Dune']);
  t.same(await titles('sort=-state&sort=-title&page=1'), ['Dune', 'Zebra', 'Emma']);
  for (const [name, price] of [
    ['a', 2],
    ['b', 1],
  ] as const)
    await send('POST', '/items', { body: { name, price } });
  const items = await send('GET', '/items?sort=name&sort=price&order=asc');
  t.same(
    items.json.map(({ name }: JsonObject) => name),
    ['a', 'b'],
  );
});

t.test('with COMPAT=json-server, a parameter of this service has its whole name', async (t) => {
  const { send, stored } = await library(t, { COMPAT: 'json-server' });
  const before = await stored();
  for (const query of [
    'search[x]=Dune',
    'limit[]=1',
    'page[size]=1',
    'limit=5&title=Dune',
    'filter[state]=a&q=x',
  ])
    t.match(await send('GET', `/books?${query}`), { status: 400 }, query);
  for (const method of ['DELETE', 'PATCH'])
    t.match(
      await send(method, '/books?filter[title][ne]=zz&search[]=x', { body: {} }),
      { status: 400 },
      method,
    );
  t.same(await stored(), before);
  t.same(
    (await send('GET', '/books?title[]=Dune&title[]=Emma')).json.length,
    2,
    'lists of json-server remain',
  );
});
