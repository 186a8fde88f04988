import http from 'node:http';
import { fill } from '../../bench/harness/data.js';
import { countRecords } from '../support/citus.js';
import { onlyBuiltIn } from '../support/names.js';
import { testProxy } from '../support/proxy.js';
import { testDatabase, testService } from '../support/service.js';
import { openSql, sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { notInDefault, some } from '../support/thorough.js';
import { until } from '../support/until.js';

const TABLES = ['users', 'items'] as const;

/** Some of the orders of the list of items. */
const ORDERS = some(
  ['created_at', 'name', 'price'].flatMap((sort) => ['asc', 'desc'].map((order) => ({ sort, order }))),
  2,
);

const MANY = 1500;

/** The URL of a database whose users are more than the buffers between the service and a reader hold. */
let manyUsers: Promise<string> | undefined;

function databaseWithManyUsers(): Promise<string> {
  manyUsers ??= testDatabase(t).then(async (url) => {
    await fillWithLongUsers(url, MANY);
    return url;
  });
  return manyUsers;
}

/** Few long records take less time than many short ones. */
async function fillWithLongUsers(url: string, count: number): Promise<void> {
  await fill(url, count, 0, TABLES);
  const sql = openSql(url, { max: 1 });
  await sql`set plinth.events = off`;
  await sql`update users set doc = '{"pad":"' || repeat('x', 10000) || '",' || substr(doc, 2)`;
  await sql.end();
}

t.test('the item list in both forms', async (t) => {
  const { send } = await testService(t);
  const prices = [3, null, 1, 2, null, 2];
  const names = ['beta', 'Alpha', 'gamma 100%', 'al_pha', 'Ünlü ALPHA', 'delta'];
  const ids: string[] = [];
  for (const [at, name] of names.entries())
    ids.push((await send('POST', '/items', { body: { name, price: prices[at] } })).json.id);
  const namesOf = async (query: string) => {
    const { json } = await send('GET', `/items${query}`);
    return (json.data ?? json).map((item: { name: string }) => item.name);
  };
  const newest = [...names].reverse();

  t.same(await namesOf(''), newest, 'created_at, newest first');
  t.same(await namesOf('?order=asc'), names);
  const sorted = ['Alpha', 'al_pha', 'beta', 'delta', 'gamma 100%', 'Ünlü ALPHA'];
  t.same(await namesOf('?sort=name&order=asc'), sorted);
  t.same(await namesOf('?sort=name'), sorted.toReversed(), 'desc is the default');
  t.same(
    await namesOf('?sort=price&order=asc'),
    ['gamma 100%', 'al_pha', 'delta', 'beta', 'Alpha', 'Ünlü ALPHA'],
    'absent last',
  );
  t.same(
    await namesOf('?sort=price&order=desc'),
    ['beta', 'delta', 'al_pha', 'gamma 100%', 'Ünlü ALPHA', 'Alpha'],
    'absent last',
  );
  t.same(await namesOf('?sort=colour&order=up'), newest, 'any other value gives the default');
  for (const search of ['alpha', 'ALPHA', ' alpha ', 'lph'])
    t.same(await namesOf(`?search=${encodeURIComponent(search)}&order=asc`), ['Alpha', 'Ünlü ALPHA'], search);
  t.same(await namesOf('?search=%C3%BC&order=asc'), ['Ünlü ALPHA'], 'any letter case');
  t.same(await namesOf('?search=%25'), ['gamma 100%'], '% is literal');
  t.same(await namesOf('?search=_'), ['al_pha'], '_ is literal');
  t.same(await namesOf('?search=%'), ['gamma 100%'], 'a percent sign that encodes nothing is itself');
  t.same(await namesOf('?search=a&sort=name&order=asc&page=1'), sorted);
  t.same(await namesOf('?search=al&sort=price&order=asc&limit=9'), ['al_pha', 'Alpha', 'Ünlü ALPHA']);
  t.same(await namesOf('?search=zzz'), []);
  t.same(await namesOf('?search=zzz&page=1'), []);
  t.ok(
    Array.isArray((await send('GET', '/items?search=')).json),
    'search given, though empty: the filtered form',
  );

  const page = async (query: string) => (await send('GET', `/items?${query}`)).json;
  t.match(await page('page=2&limit=2'), {
    data: [{ name: 'al_pha' }, { name: 'gamma 100%' }],
    meta: { page: 2, limit: 2, total: 6, totalPages: 3 },
    links: {
      self: '/items?page=2&limit=2',
      next: '/items?page=3&limit=2',
      prev: '/items?page=1&limit=2',
      first: '/items?page=1&limit=2',
      last: '/items?page=3&limit=2',
    },
  });
  t.same((await page('page=1&limit=6')).links, {
    self: '/items?page=1&limit=6',
    next: null,
    prev: null,
    first: '/items?page=1&limit=6',
    last: '/items?page=1&limit=6',
  });
  t.same(await page('page=9&limit=4'), {
    data: [],
    meta: { page: 9, limit: 4, total: 6, totalPages: 2 },
    links: {
      self: '/items?page=9&limit=4',
      next: null,
      prev: '/items?page=2&limit=4',
      first: '/items?page=1&limit=4',
      last: '/items?page=2&limit=4',
    },
  });
  const suffix = '&search=al+%26&order=asc&sort=price';
  t.match((await page(`search=al+%26&limit=3&order=asc&sort=price`)).links, {
    self: `/items?page=1&limit=3${suffix}`,
    last: `/items?page=1&limit=3${suffix}`,
  });
  t.match(await page('search=zzz&page=3'), {
    meta: { total: 0, totalPages: 0 },
    links: {
      next: null,
      prev: '/items?page=1&limit=20&search=zzz',
      last: '/items?page=1&limit=20&search=zzz',
    },
  });
  t.match((await page(`page=1&search=${'x'.repeat(150)}`)).links.self, /search=x{150}$/);

  await send('DELETE', `/items/${ids[0]}`);
  t.match(await page('page=1'), { meta: { total: 5 } }, 'the total follows a delete');
  t.match((await send('GET', '/api/v1/items?page=1')).json.links.self, '/items?page=1&limit=20');
});

t.test('pages of every order and search are the parts of the whole list', async (t) => {
  const databaseUrl = await testDatabase(t);
  await fill(databaseUrl, 0, 1100, TABLES);
  await countRecords(databaseUrl, TABLES[1]);
  const { send } = await testService(t, { DATABASE_URL: databaseUrl });
  // In all names, also beyond record 500, where another statement begins; in every tenth, at one end of the list, too
  // short for a trigram, in none.
  const ALL = '1x7 50x10 51x10 72x7 5x99 6x99 110x10 12x100';
  const FOUND = '1x7 1x20 3x20 1x60 2x50 2x100 9x100';
  for (const { sort, order } of ORDERS)
    for (const [search, total, pages] of [
      ['', 1100, ALL],
      ['zirconium', 1100, FOUND],
      ['lamp', 110, FOUND],
      ['obsidian', 68, FOUND],
      ['la', 308, FOUND],
      ['zzz', 0, FOUND],
    ] as const) {
      const at = async (query: string) =>
        (await send('GET', `/items?sort=${sort}&order=${order}${search && `&search=${search}`}${query}`))
          .json;
      const all: readonly { id: string }[] = await at(search === '' ? '&search=' : '');
      t.equal(new Set(all.map(({ id }) => id)).size, total);
      for (const each of pages.split(' ')) {
        const [page, limit] = each.split('x').map(Number) as [number, number];
        const { data, meta } = await at(`&page=${page}&limit=${limit}`);
        t.same(data, all.slice((page - 1) * limit, page * limit), `${sort} ${order} ${search}: ${each}`);
        t.equal(meta.total, total);
      }
    }
});

t.test('users and posts: arrays oldest first, and pages on request', async (t) => {
  const { send } = await testService(t);
  const users = [];
  for (let n = 0; n < 5; n++)
    users.push((await send('POST', '/users', { body: { email: `l${n}@example.org`, name: `L${n}` } })).json);
  for (let n = 0; n < 3; n++) await send('POST', `/users/${users[n % 2].id}/posts`, { body: { n } });
  const listed = (await send('GET', '/users')).json;
  t.same(
    listed.map((user: { name: string }) => user.name),
    ['L0', 'L1', 'L2', 'L3', 'L4'],
  );
  t.notOk('_links' in listed[0], 'no _links in lists');
  t.match((await send('GET', '/users?page=2&limit=2')).json, {
    data: [{ name: 'L2' }, { name: 'L3' }],
    meta: { total: 5, totalPages: 3 },
    links: { next: '/users?page=3&limit=2' },
  });
  t.match((await send('GET', '/posts')).json, [{ n: 0 }, { n: 1 }, { n: 2 }]);
  const path = `/users/${users[0].id}/posts`;
  t.match((await send('GET', path)).json, [{ n: 0 }, { n: 2 }]);
  t.match((await send('GET', `${path}?limit=1`)).json, {
    data: [{ n: 0 }],
    meta: { total: 2 },
    links: { next: `${path}?page=2&limit=1` },
  });
  t.same((await send('GET', `/users/${users[4].id}/posts`)).json, []);
  await send('DELETE', `/users/${users[0].id}`);
  t.match((await send('GET', '/posts?page=1')).json.meta, { total: 1 }, 'the total follows a cascade');
});

t.test('a long array is streamed whole, from one snapshot', async (t) => {
  const { url, send } = await testService(t, { DATABASE_URL: await databaseWithManyUsers() });
  const all = await new Promise<{ id: string }[]>((resolve, reject) => {
    http.get(`${url}/users`, { agent: false }, async (response) => {
      try {
        response.pause();
        // The rows were fixed when the statement began; what is written while the reader waits is not among them.
        const before = (await send('POST', '/users', { body: { email: 'late@example.org', name: 'Late' } }))
          .json;
        t.equal((await send('DELETE', `/users/${before.id}`)).status, 204);
        let text = '';
        for await (const chunk of response) text += chunk;
        resolve(JSON.parse(text));
      } catch (error) {
        reject(error as Error);
      }
    });
  });
  t.equal(all.length, MANY);
  t.equal(new Set(all.map(({ id }) => id)).size, MANY);
  t.same(
    all.map(({ id }) => id),
    all.map(({ id }) => id).sort(),
  );
});

t.test('a reader that stalls frees its connection', onlyBuiltIn('is about connections'), async (t) => {
  const databaseUrl = await databaseWithManyUsers();
  const { url, send } = await testService(
    t,
    { DATABASE_URL: databaseUrl },
    { dbStreams: 1, streamStallMs: 200 },
  );
  const stalled = await new Promise<http.IncomingMessage>((resolve) => {
    http.get(`${url}/users`, { agent: false }, (response) => resolve(response.pause()));
  });
  const outcome = new Promise((resolve) => {
    stalled.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    stalled.on('end', () => resolve('complete'));
  });
  // Not what PostgreSQL says of the COPY: the kernel's buffers may have taken the whole of it. The next list is short,
  // so that its reader does not stall, however slow it is.
  const again = await send('GET', '/posts');
  t.strictSame(again.json, [], 'the only stream connection serves the next reader');
  const patient = await testService(t, { DATABASE_URL: databaseUrl });
  t.equal((await patient.send('GET', '/users')).json.length, MANY);
  stalled.resume();
  t.equal(await outcome, 'ECONNRESET', 'aborted, not ended');
});

t.test(
  'a reader that leaves while the database takes no connections, or is away, takes nothing with it',
  onlyBuiltIn('is about connections'),
  async (t) => {
    const databaseUrl = await databaseWithManyUsers();
    const proxy = await testProxy(t, databaseUrl);
    const settings = { DATABASE_URL: proxy.url, DB_CONNECTIONS: '1' };
    const { url, send } = await testService(t, settings, { dbStreams: 1 });
    const leave = (first: () => void): Promise<void> =>
      new Promise((resolve) => {
        const request = http.get(`${url}/users`, { agent: false }, (response) => {
          response.once('data', () => {
            first();
            request.destroy();
          });
          response.once('error', () => undefined);
          response.once('close', () => resolve());
        });
      });
    await leave(() => proxy.refuse());
    t.equal((await send('GET', '/users')).json.length, MANY, 'the connections there are serve on');
    await leave(() => proxy.cut());
    t.match(await send('GET', '/items'), {
      status: 503,
      headers: { 'retry-after': '1' },
      json: { error: { code: 'SERVICE_UNAVAILABLE' } },
    });
    t.equal((await send('GET', '/users')).status, 503, 'a stream that cannot begin');
    await proxy.restore();
    const all = await until(
      'it is back',
      () => send('GET', '/users'),
      ({ status }) => status === 200,
    );
    t.equal(all.json.length, MANY);
  },
);

t.test(
  'a database error half way aborts the connection',
  { skip: notInDefault || onlyBuiltIn('is about connections').skip },
  async (t) => {
    const databaseUrl = await testDatabase(t);
    // More than the kernel's buffers hold on both ways: the COPY cannot be over while the reader takes nothing.
    await fillWithLongUsers(databaseUrl, 6000);
    const sql = sqlOf(t, databaseUrl);
    const { url, send } = await testService(t, { DATABASE_URL: databaseUrl });
    const outcome = await new Promise<string>((resolve) => {
      http.get(`${url}/users`, { agent: false }, async (response) => {
        response.pause();
        response.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
        response.on('end', () => resolve('complete'));
        const ended = await sql`
        select pg_terminate_backend(pid)
        from pg_stat_activity
        where datname = current_database() and state = 'active' and query like 'copy%'`;
        t.equal(ended.length, 1);
        response.resume();
      });
    });
    t.equal(outcome, 'ECONNRESET');
    t.equal((await send('GET', '/users')).json.length, 6000, 'and the service goes on');
  },
);
