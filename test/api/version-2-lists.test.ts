import { CITUS_URL } from '../support/citus.js';
import { declare } from '../support/collections.js';
import { type TestService, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { words } from '../support/words.js';

t.jobs = 2;

const BOOKS = {
  'books.json': {
    title: 'Book',
    type: 'object',
    required: ['title'],
    properties: {
      title: { type: 'string', maxLength: 200, 'x-index': true, 'x-search': true },
      price: { type: ['number', 'null'], 'x-index': true },
      inPrint: { type: 'boolean', 'x-index': true },
      due: { type: 'string', format: 'date-time', 'x-index': true },
      authorId: { type: 'string', format: 'uuid', 'x-references': 'authors' },
    },
    'x-collection': { list: 'page', nested: true },
  },
  'authors.json': {
    title: 'Author',
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string' } },
  },
};

const library = (t: Test, env: Record<string, string> = {}) =>
  testService(t, { COLLECTIONS: declare(t, BOOKS), MIGRATE: 'auto', ...env });

type Send = TestService['send'];

const titlesOf = (json: { data: { title: string }[] }) => json.data.map(({ title }) => title).join('');

/** The titles of all pages, as links lead from one to the next. */
async function pagesFrom(send: Send, first: string, side: 'next' | 'prev' = 'next'): Promise<string[]> {
  const pages: string[] = [];
  for (let path: string | null = first; path !== null; ) {
    const { status, json } = await send('GET', path);
    if (status !== 200) throw new Error(JSON.stringify(json));
    pages.push(titlesOf(json));
    path = json.links[side];
  }
  return pages;
}

const titled = (titles: string) => [...titles].map((title) => ({ title }));
const PRICED = [1, 2, 3].map((price) => ({ title: `a${price}`, price }));

async function addBooks(send: Send, books: readonly Record<string, unknown>[]): Promise<void> {
  for (const book of books)
    if ((await send('POST', '/api/v2/books', { body: book })).status !== 201) throw new Error('not created');
}

t.test('links lead through all pages, forward and back', async (t) => {
  const { send } = await library(t);
  await addBooks(send, titled('abcdefg'));
  t.same(await pagesFrom(send, '/api/v2/books?limit=3'), ['abc', 'def', 'g']);
  t.same(await pagesFrom(send, '/api/v2/books?limit=3&sort=-created_at'), ['gfe', 'dcb', 'a']);
  const first = await send('GET', '/api/v2/books?limit=3');
  t.same([first.json.links.prev, first.json.links.self], [null, '/api/v2/books?limit=3']);
  const second = await send('GET', first.json.links.next);
  t.equal(second.json.links.self, first.json.links.next);
  t.equal(second.json.links.first, first.json.links.self);
  const third = await send('GET', second.json.links.next);
  t.equal(third.json.links.next, null);
  const back = await send('GET', third.json.links.prev);
  t.same(back.json.data, second.json.data);
  const start = await send('GET', back.json.links.prev);
  t.same(start.json.data, first.json.data);
  t.equal(start.json.links.prev, null);
  t.equal(titlesOf((await send('GET', start.json.links.next)).json), 'def');
  t.match(second.headers.link, `<${second.json.links.next}>; rel="next", <`);
  for (const rel of ['next', 'prev', 'first'])
    t.match(second.headers.link, `<${second.json.links[rel]}>; rel="${rel}"`);
});

t.test('records that come and go between pages are neither repeated nor skipped', async (t) => {
  const { send } = await library(t);
  await addBooks(send, titled('bdfhj'));
  const first = await send('GET', '/api/v2/books?sort=title&limit=2');
  t.equal(titlesOf(first.json), 'bd');
  // The record of the cursor itself goes, and others come on both sides of it.
  await send('DELETE', first.json.data[1]._links.self.href);
  await addBooks(send, titled('aceg'));
  const second = await send('GET', first.json.links.next);
  t.equal(titlesOf(second.json), 'ef');
  t.equal(titlesOf((await send('GET', second.json.links.prev)).json), 'bc');
  const third = await send('GET', second.json.links.next);
  t.equal(titlesOf(third.json), 'gh');
  const last = await send('GET', third.json.links.next);
  await send('DELETE', last.json.data[0]._links.self.href);
  const empty = await send('GET', third.json.links.next);
  t.same([empty.status, empty.json.data, empty.json.links.next], [200, [], null]);
  t.equal(
    titlesOf((await send('GET', empty.json.links.prev)).json),
    'gh',
    'nothing is skipped on the way back',
  );
});

t.test('the neighbour of an empty page includes the record at its cursor', async (t) => {
  const { send } = await library(t);
  await addBooks(send, [{ title: 'a' }, { title: 'b' }]);
  const first = await send('GET', '/api/v2/books?sort=title&limit=1');
  const second = await send('GET', first.json.links.next);
  await send('DELETE', second.json.data[0]._links.self.href);
  const empty = await send('GET', first.json.links.next);
  t.equal(titlesOf(empty.json), '');
  t.equal(titlesOf((await send('GET', empty.json.links.prev)).json), 'a');
  await send('DELETE', first.json.data[0]._links.self.href);
  const before = await send('GET', second.json.links.prev);
  t.same([before.json.data, before.json.links.prev], [[], null]);
  await addBooks(send, [{ title: 'c' }]);
  t.equal(titlesOf((await send('GET', before.json.links.next)).json), 'c');
  await send('DELETE', `/api/v2/books?filter[title]=c`);
  const none = await send('GET', before.json.links.next);
  t.same([none.json.data, none.json.links.next], [[], null]);
  t.equal((await send('GET', none.json.links.prev)).json.data.length, 0);
});

t.test('a cursor belongs to one list, one filter and one order', async (t) => {
  const { send } = await library(t);
  await addBooks(send, PRICED);
  const { json } = await send('GET', '/api/v2/books?limit=1&sort=price');
  const cursor = new URL(json.links.next, 'http://a').searchParams.get('after')!;
  t.equal((await send('GET', `/api/v2/books?sort=price&limit=2&after=${cursor}`)).status, 200);
  const parts = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  const made = (...changed: unknown[]) =>
    Buffer.from(JSON.stringify([...changed, ...parts.slice(changed.length)])).toString('base64url');
  for (const query of [
    `after=${cursor}`,
    `sort=-price&after=${cursor}`,
    `sort=price&filter[price][gt]=0&after=${cursor}`,
    `sort=price&search=a&after=${cursor}`,
    'sort=price&after=',
    'sort=price&after=abc',
    'sort=price&after=%00',
    `sort=price&after=${cursor.slice(0, -3)}`,
    `sort=price&before=${made('other')}`,
    `sort=price&before=${made(parts[0], 2)}`,
    `sort=price&before=${made(parts[0], 0, 'x')}`,
    `sort=price&before=${made(parts[0], 0, parts[2], 'no number')}`,
    `sort=price&before=${made(parts[0], 0, parts[2], 7)}`,
    `sort=price&before=${made(parts[0], 0, parts[2], '1', '2')}`,
    `sort=price&before=${Buffer.from('{}').toString('base64url')}`,
  ]) {
    const { status, json, headers } = await send('GET', `/api/v2/books?${query}`);
    t.equal(status, 400, query);
    t.equal(json.code, 'INVALID_CURSOR');
    t.equal(headers['content-type'], 'application/problem+json');
  }
  t.equal((await send('GET', `/api/v2/authors?after=${cursor}`)).json.code, 'INVALID_CURSOR');
});

t.test('parameters that have no meaning are refused', async (t) => {
  const { send } = await library(t);
  for (const [query, code] of [
    ['limit=0', 'INVALID_QUERY'],
    ['limit=101', 'INVALID_QUERY'],
    ['limit=x', 'INVALID_QUERY'],
    ['limit=', 'INVALID_QUERY'],
    ['limit=1&limit=2', 'INVALID_QUERY'],
    ['after=a&before=b', 'INVALID_QUERY'],
    ['sort=colour', 'INVALID_QUERY'],
    ['sort=', 'INVALID_QUERY'],
    ['search=x&search=y', 'INVALID_QUERY'],
    [`search=${'x'.repeat(101)}`, 'INVALID_QUERY'],
    ['search=%00', 'INVALID_QUERY'],
    ['filter[price]=x', 'INVALID_QUERY'],
    ['include=nobody', 'INVALID_QUERY'],
    ['page=1', 'UNKNOWN_PARAMETER'],
    ['order=asc', 'UNKNOWN_PARAMETER'],
  ] as const) {
    const { status, json } = await send('GET', `/api/v2/books?${query}`);
    t.equal(status, 400, query);
    t.equal(json.code, code, query);
  }
  const unknown = await send('GET', '/api/v2/authors?search=a');
  const supported = words('after before limit sort filter fields include count group aggregate');
  t.same(unknown.json.details.supported, supported);
  t.equal((await send('GET', '/api/v2/books?_mine=1')).status, 200);
});

t.test('a total is only counted when it is wanted', async (t) => {
  const { send } = await library(t);
  await addBooks(send, PRICED);
  t.same((await send('GET', '/api/v2/books?limit=1')).json.meta, { limit: 1 });
  t.same((await send('GET', '/api/v2/books?limit=1&count=exact')).json.meta, { limit: 1, total: 3 });
  const few = await send('GET', '/api/v2/books?limit=1&count=exact&filter[price][gt]=1');
  t.same(few.json.meta, { limit: 1, total: 2 });
  t.match(few.json.links.next, /count=exact/);
  t.same((await send('GET', few.json.links.next)).json.meta, { limit: 1, total: 2 });
  t.same((await send('GET', '/api/v2/books?count=exact&search=A3')).json.meta, { limit: 20, total: 1 });
  t.same((await send('GET', '/api/v2/books?count=exact&search=zz')).json, {
    data: [],
    meta: { limit: 20, total: 0 },
    links: {
      self: '/api/v2/books?limit=20&count=exact&search=zz',
      next: null,
      prev: null,
      first: '/api/v2/books?limit=20&count=exact&search=zz',
    },
  });
});

t.test('fields, related records and nested lists have links of version 2', async (t) => {
  const { send } = await library(t);
  const author = await send('POST', '/api/v2/authors', { body: { name: 'Ann' } });
  for (const title of ['a', 'b', 'c'])
    await send('POST', author.json._links.books.href, { body: { title, price: 1 } });
  const { json } = await send('GET', '/api/v2/books?fields=title&include=author&limit=2');
  const [book] = json.data;
  t.same(Object.keys(book), ['id', 'title', '_included', '_links']);
  t.equal(book._included.author.name, 'Ann');
  t.equal(book._links.self.href, `/api/v2/books/${book.id}`);
  t.match(json.links.next, 'limit=2&fields=title&include=author');
  t.same(await pagesFrom(send, `${author.json._links.books.href}?limit=2`), ['ab', 'c']);
  const nested = await send('GET', `${author.json._links.books.href}?sort=-title&limit=2`);
  t.equal(titlesOf(nested.json), 'cb');
  const cursor = new URL(nested.json.links.next, 'http://a').searchParams.get('after');
  t.equal((await send('GET', `/api/v2/books?sort=-title&after=${cursor}`)).json.code, 'INVALID_CURSOR');
  const foreign = `${author.json._links.books.href}?after=${cursor}`;
  t.equal((await send('GET', foreign)).json.code, 'INVALID_CURSOR');
  const queried = await send('QUERY', author.json._links.books.href, { body: { after: cursor } });
  t.same([queried.status, queried.json.code], [400, 'INVALID_CURSOR']);
  const authors = await send('GET', '/api/v2/authors?include=books');
  t.equal(authors.json.data[0]._included.books.length, 3);
});

t.test('QUERY reads the same from a body, and its Location is the same list by GET', async (t) => {
  const { send } = await library(t);
  await addBooks(send, PRICED);
  const body = { filter: { price: { gt: 1 } }, sort: ['-price'], limit: 1, count: 'exact' };
  const found = await send('QUERY', '/api/v2/books', { body });
  t.equal(titlesOf(found.json), 'a3');
  t.match(found.headers.location, /^\/api\/v2\/books\?/);
  const got = await send('GET', found.headers.location!);
  t.same(got.json, found.json);
  const after = new URL(found.json.links.next, 'http://a').searchParams.get('after');
  t.equal(titlesOf((await send('QUERY', '/api/v2/books', { body: { ...body, after } })).json), 'a2');
  t.equal((await send('QUERY', '/api/v2/books', { body: { page: 1 } })).json.code, 'UNKNOWN_PARAMETER');
});

t.test('CSV and NDJSON are one page, or everything that is selected', async (t) => {
  const { send } = await library(t);
  await addBooks(send, PRICED);
  for (const accept of ['text/csv', 'application/x-ndjson']) {
    const lines = ({ text }: { text: string }) => [...text.matchAll(/\ba\d\b/g)].map(([title]) => title);
    const all = await send('GET', '/api/v2/books?sort=-price', { headers: { accept } });
    t.same([lines(all), all.headers.link], [['a3', 'a2', 'a1'], undefined]);
    const page = await send('GET', '/api/v2/books?sort=-price&limit=2&count=exact', { headers: { accept } });
    t.same(lines(page), ['a3', 'a2']);
    t.equal(page.headers['x-total-count'], '3');
    const [, next] = /<([^>]*)>; rel="next"/.exec(String(page.headers.link))!;
    t.same(lines(await send('GET', next!, { headers: { accept } })), ['a1']);
  }
});

t.test('a page is revalidated, and ends early when its records are large', async (t) => {
  const { send } = await library(t);
  await addBooks(
    send,
    [...'abcde'].map((title) => ({ title, text: 'x'.repeat(400_000) })),
  );
  t.same(await pagesFrom(send, '/api/v2/books?limit=5'), ['ab', 'cd', 'e']);
  const last = await send('GET', '/api/v2/books?limit=5&sort=-title');
  const second = await send('GET', last.json.links.next);
  t.equal(titlesOf((await send('GET', second.json.links.prev)).json), 'ed');
  const { etag } = last.headers;
  const again = await send('GET', last.json.links.self, { headers: { 'if-none-match': etag } });
  t.same([again.status, again.headers.link], [304, last.headers.link]);
  const failed = await send('GET', last.json.links.self, { headers: { 'if-match': '"x"' } });
  t.same([failed.status, failed.json.code], [412, 'PRECONDITION_FAILED']);
});

const NOT_ON_CITUS = { skip: CITUS_URL !== '' && 'COMPAT=json-server is refused on Citus' };
t.test('COMPAT=json-server is about version 1', NOT_ON_CITUS, async (t) => {
  const { send } = await library(t, { COMPAT: 'json-server' });
  await addBooks(send, [{ title: 'a' }]);
  t.equal(titlesOf((await send('GET', '/api/v2/books?_page=1&limit=1')).json), 'a');
  t.ok(Array.isArray((await send('GET', '/books?_page=1')).json));
});

t.test('each list of the service has the same form', async (t) => {
  const { send } = await testService(t, { WEBHOOK_DELIVERY: 'off' });
  await send('POST', '/api/v2/items', { body: { name: 'a' } });
  const webhook = await send('POST', '/api/v2/webhooks', {
    body: { url: 'https://example.org/hook', types: ['items.*'] },
  });
  t.equal(webhook.status, 201);
  const { href } = webhook.json._links.self;
  await send('POST', `${href}/test`);
  for (const path of ['/webhooks', `${href.slice('/api/v2'.length)}/deliveries`, '/events', '/errors']) {
    const { status, json } = await send('GET', `/api/v2${path}`);
    t.equal(status, 200);
    t.same(Object.keys(json), ['data', 'meta', 'links']);
    t.same(Object.keys(json.links), ['self', 'next', 'prev', 'first'], path);
    t.type(json.meta.limit, 'number');
    t.match(json.links.first, `/api/v2${path}`);
    // Events follow later.
    if (path !== '/events') t.ok(json.data.length > 0, path);
  }
  const hooks = await send('GET', '/api/v2/webhooks');
  t.equal(hooks.json.data[0]._links.self.href, href);
  t.match(hooks.headers.link, '</api/v2/webhooks>; rel="first"');
  const deliveries = await send('GET', `${href}/deliveries`);
  t.equal((await send('GET', deliveries.json.data[0]._links.self.href)).status, 200);
  const events = await send('GET', '/api/v2/events?limit=1');
  t.match(events.json.links.next, /^\/api\/v2\/events\?after=/);
});
