import http from 'node:http';
import { fill } from '../../bench/harness/data.js';
import { unavailable } from '../../src/errors/service-errors.js';
import type { Route } from '../../src/http/router.js';
import { connected, untilResponses } from '../support/connected.js';
import { GET } from '../support/overload.js';
import { requiring } from '../support/requiring.js';
import { type TestService, testDatabase, testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { until, untilAtLeast, untilLength } from '../support/until.js';
import { scrape } from '../telemetry/scraped.js';

t.test('behind a database that is stuck nothing piles up', async (t) => {
  const { databaseUrl, ...other } = await testService(t);
  const env = { MAX_REQUESTS: '40', DB_TIMEOUT_MS: '1000', DATABASE_URL: databaseUrl };
  const service = await testService(t, env);
  const { json: user } = await other.send('POST', '/users', {
    body: { email: 'a@example.org', name: 'A' },
  });
  const sql = sqlOf(t, service.databaseUrl);
  const statuses: number[] = [];
  let sent: Promise<unknown>[] = [];
  await sql.begin(async (locked) => {
    await locked`lock table users in access exclusive mode`;
    sent = Array.from({ length: 200 }, async (_, at) => {
      const path = at % 2 ? `/users/${user.id}` : '/users';
      const body = at % 2 ? undefined : { email: `b${at}@example.org`, name: 'B' };
      statuses.push((await service.send(at % 2 ? 'GET' : 'POST', path, { body })).status);
    });
    await untilAtLeast('all but forty have a response', () => statuses, 160);
    await untilLength('none waits longer than the time limit', () => statuses, 200);
  });
  await Promise.all(sent);
  t.same([...new Set(statuses)], [503]);
  await until('it works again', async () => (await service.send('GET', `/users/${user.id}`)).status, 200);
});

t.test('readers of whole lists, however slow, take no places of requests', async (t) => {
  const databaseUrl = await testDatabase(t);
  await fill(databaseUrl, 60_000, 0);
  const { url, send } = await testService(t, { DATABASE_URL: databaseUrl, MAX_REQUESTS: '4' });
  for (let n = 0; n < 8; n++) {
    const request = http.get(`${url}/users`, { agent: false }, (response) => response.pause());
    request.on('error', () => undefined);
    t.teardown(() => request.destroy());
  }
  await until(
    'they are in flight',
    async () => {
      const active = (await scrape(url)).value('plinth_db_active_statements', { pool: 'stream' });
      return active ?? 0;
    },
    // The others wait for their turn: they have one address.
    (seen) => seen >= 3,
  );
  t.equal((await send('GET', '/users?page=1')).status, 200);
});

/** Holds a table locked while `work` runs, so that its searches wait. */
async function whileLocked(t: Test, databaseUrl: string, work: () => Promise<void>): Promise<void> {
  const sql = sqlOf(t, databaseUrl);
  await sql.begin(async (locked) => {
    await locked`lock table items in access exclusive mode`;
    await work();
  });
}

let searched = 0;

/** Sends searches at once, each with a term of its own. */
const searchesOf = (service: TestService, count: number) =>
  Array.from({ length: count }, () =>
    service.send('GET', `/items?page=1&search=lamp${searched++}`).then(({ status }) => status),
  );

/** Searches that run, and those that wait for their turn. */
async function searchLoad({ url }: TestService) {
  const { value } = await scrape(url);
  return {
    running: value('plinth_db_active_statements', { pool: 'search' }) ?? 0,
    waiting: value('plinth_db_queued_records', { collection: 'items', operation: 'search' }) ?? 0,
  };
}

t.test('searches of many clients wait for each other, and none that ends in time is refused', async (t) => {
  const service = await testService(t, { MAX_REQUESTS: '16' });
  const { json: item } = await service.send('POST', '/items', { body: { name: 'a' } });
  let searches: Promise<number>[] = [];
  await whileLocked(t, service.databaseUrl, async () => {
    searches = searchesOf(service, 2);
    await until(
      'two run',
      () => searchLoad(service),
      ({ running }) => running === 2,
    );
    for (let count = 0; count < 64; count += 8) {
      searches.push(...searchesOf(service, 8));
      await until(
        'they wait, or run beside some that may be lost',
        () => searchLoad(service),
        ({ running, waiting }) => running + waiting === count + 10,
      );
    }
  });
  t.same([...new Set(await Promise.all(searches))], [200]);
  t.equal((await service.send('GET', `/items/${item.id}`)).status, 200);
});

t.test('as many searches of one collection as there are connections run at once', async (t) => {
  const service = await testService(t, {}, { dbSearches: 8 });
  let searches: Promise<number>[] = [];
  await whileLocked(t, service.databaseUrl, async () => {
    searches = searchesOf(service, 40);
    const { running } = await until(
      'all run or wait',
      () => searchLoad(service),
      ({ running, waiting }) => running >= 8 && running + waiting === 40,
    );
    t.ok(running <= 16, `${running}; further ones beside some that may be lost`);
  });
  t.same([...new Set(await Promise.all(searches))], [200]);
});

t.test('searches that do not progress are refused at their deadline, and reads go on', async (t) => {
  const { databaseUrl, ...other } = await testService(t);
  const service = await testService(t, { QUERY_TIMEOUT_MS: '100', DATABASE_URL: databaseUrl });
  const { json: user } = await other.send('POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
  await whileLocked(t, databaseUrl, async () => {
    const statuses = await Promise.all(searchesOf(service, 40));
    t.same([...new Set(statuses)], [503]);
    t.equal((await service.send('GET', `/users/${user.id}`)).status, 200);
  });
  await until(
    'searches work again',
    async () => (await service.send('GET', '/items?page=1&search=lamp')).status,
    200,
  );
});

t.test('a 503 of a queue affects no other request, also on its connection', async (t) => {
  const route: Route = {
    path: '/full',
    actions: {
      GET: requiring('nothing', {
        run: () => {
          throw unavailable('The queue is full.');
        },
      }),
    },
  };
  const service = await testService(t, {}, {}, { routes: [route] });
  const absent = '/users/01900000-0000-7000-8000-000000000001';
  const rounds = 40;
  // As a proxy does: each connection takes the next request of any client.
  const proxy = await Promise.all(Array.from({ length: 80 }, () => connected(t, service)));
  for (const [at, { socket, responses }] of proxy.entries()) {
    const send = () => socket.write(GET((responses() + at) % 2 === 0 ? '/full' : absent));
    socket.on('data', () => responses() < rounds && send());
    send();
  }
  await untilResponses(proxy, rounds);
  const statuses = proxy.flatMap(({ text }, at) =>
    [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status], index) =>
      (index + at) % 2 === 0 ? `full: ${status}` : `read: ${status}`,
    ),
  );
  t.same([...new Set(statuses)].sort(), ['full: 503', 'read: 404']);
});
