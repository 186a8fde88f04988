import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { fill } from '../../bench/harness/data.js';
import { type Route, requiring } from '../../src/http/router.js';
import { until } from '../support/process.js';
import { type TestService, testDatabase, testService } from '../support/service.js';
import { scrape } from '../telemetry/scraped.js';

const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

/** A route that responds when the test says so, and how many requests wait there. */
function gate() {
  const waiting: (() => void)[] = [];
  const route: Route = {
    path: '/gate',
    actions: {
      GET: requiring('nothing', {
        run: async () => {
          await new Promise<void>((open) => waiting.push(open));
          return { status: 204, headers: [] };
        },
      }),
    },
  };
  return {
    routes: [route],
    waiting,
    open: () => {
      for (const open of waiting.splice(0)) open();
    },
  };
}

/** A connection, all that came on it, and whether it has ended. */
async function connected(t: Test, { url }: TestService, localAddress = '127.0.0.1') {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ host: hostname, port: Number(port), localAddress });
  t.teardown(() => socket.destroy());
  const state = { socket, text: '', ended: false, responses: () => state.text.split('HTTP/1.1 ').length - 1 };
  socket.on('data', (bytes) => {
    state.text += bytes.toString('latin1');
  });
  socket
    .on('error', () => undefined)
    .on('close', () => {
      state.ended = true;
    });
  await once(socket, 'connect');
  return state;
}

t.test('requests over MAX_REQUESTS are 503 at once, and the others are not touched', async (t) => {
  const held = gate();
  const CORS_ORIGINS = 'https://app.example.org';
  const service = await testService(
    t,
    { MAX_REQUESTS: '2', AUTH: 'api-key', CORS_ORIGINS },
    {},
    { routes: held.routes },
  );
  const first = [service.send('GET', '/gate'), service.send('GET', '/gate')];
  await until('both are in flight', () => held.waiting.length === 2);
  const refused = await service.send('GET', '/items', {
    headers: { origin: CORS_ORIGINS, 'x-request-id': 'mine' },
  });
  t.equal(refused.status, 503, 'before anybody asks for a credential');
  t.equal(refused.headers['access-control-allow-origin'], CORS_ORIGINS, 'a page may read it');
  t.equal(refused.headers['x-request-id'], 'mine');
  t.equal(refused.headers['x-content-type-options'], 'nosniff');
  t.equal(refused.json.error.code, 'SERVICE_UNAVAILABLE');
  t.equal(refused.headers['retry-after'], '1');
  const head = await service.send('HEAD', '/items');
  t.same([head.status, head.text], [503, '']);
  const second = await service.send('GET', '/api/v2/items');
  t.match(second.headers['content-type'], 'application/problem+json');
  t.equal(second.json.type, '/api/v2/errors/SERVICE_UNAVAILABLE');
  for (const path of ['/healthz', '/readyz', '/api/v1/healthz', '/api/v2/healthz', '/healthz?a'])
    t.equal((await service.send('GET', path)).status, 200, `${path} gets a response`);
  t.equal((await service.send('GET', '/healthz/more')).status, 503);
  held.open();
  for (const response of await Promise.all(first)) t.equal(response.status, 204);
  t.equal((await service.send('GET', '/items')).status, 401, 'there is room again');
});

t.test('a refusal leaves the connection usable, unless a long body is on its way', async (t) => {
  const held = gate();
  const service = await testService(t, { MAX_REQUESTS: '1' }, {}, { routes: held.routes });
  const first = service.send('GET', '/gate');
  await until('it is in flight', () => held.waiting.length === 1);
  const post = (length: number) =>
    `POST /items HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  const client = await connected(t, service);
  client.socket.write(`${post(13)}{"name": "a"}`);
  await until('it is refused', () => client.responses() === 1);
  t.notMatch(client.text, /Connection: close/);
  const long = await connected(t, service);
  long.socket.write(post(1_000_000));
  await until('it is refused and closed', () => long.ended || /Connection: close/.test(long.text));
  t.match(long.text, /^HTTP\/1\.1 503 /);
  held.open();
  await first;
  client.socket.write(`${post(13)}{"name": "a"}`);
  await until('it is accepted', () => client.responses() === 2);
  t.match(client.text, /HTTP\/1\.1 201 Created/);
  t.equal((await service.send('GET', '/items')).json.meta.total, 1, 'what was refused was not done');
});

t.test(
  'clients that retry at once after a 503 all get a response, and are served when there is room',
  async (t) => {
    const held = gate();
    const service = await testService(t, { MAX_REQUESTS: '1' }, {}, { routes: held.routes });
    const first = service.send('GET', '/gate');
    await until('it is in flight', () => held.waiting.length === 1);
    const clients = await Promise.all(Array.from({ length: 150 }, () => connected(t, service)));
    for (let round = 1; round <= 3; round++) {
      for (const { socket } of clients) socket.write(GET('/users/1'));
      await until('each has a response', () => clients.every(({ responses }) => responses() === round));
    }
    t.ok(clients.every(({ text }) => text.split('HTTP/1.1 503').length === 4));
    held.open();
    await first;
    for (const client of clients.slice(0, 5)) {
      client.socket.write(GET('/users/1'));
      await until('it has a response', () => client.responses() === 4);
      t.match(client.text, /HTTP\/1\.1 404/);
    }
  },
);

t.test('so are those whose 503 came from further on', async (t) => {
  const service = await testService(t, { MAINTENANCE: 'on' });
  const clients = await Promise.all(Array.from({ length: 60 }, () => connected(t, service)));
  for (let round = 1; round <= 4; round++) {
    for (const { socket } of clients) socket.write(GET('/users/1'));
    await until('each has a response', () => clients.every(({ responses }) => responses() === round));
  }
  t.ok(clients.every(({ text }) => text.split('HTTP/1.1 503').length === 5));
});

t.test('a health probe does not wait behind the clients that got a 503', async (t) => {
  const service = await testService(t, { MAINTENANCE: 'on' });
  const clients = await Promise.all(Array.from({ length: 300 }, () => connected(t, service)));
  const watcher = await connected(t, service);
  let refused = 0;
  for (const { socket } of clients) {
    socket.on('data', () => {
      refused++;
      socket.write(GET('/users/1'));
    });
    socket.write(GET('/users/1'));
  }
  await until('each has a response', () => clients.every(({ responses }) => responses() > 0));
  watcher.socket.write(GET('/readyz'));
  await once(watcher.socket, 'data');
  const before = refused;
  watcher.socket.write(GET('/readyz'));
  await once(watcher.socket, 'data');
  t.match(watcher.text, /HTTP\/1\.1 503/, 'a 503 as well');
  t.ok(refused - before < 300, `after ${refused - before} others`);
});

t.test('behind a database that is stuck nothing piles up', async (t) => {
  const service = await testService(t, { MAX_REQUESTS: '40', DB_TIMEOUT_MS: '1000' });
  const { json: user } = await service.send('POST', '/users', {
    body: { email: 'a@example.org', name: 'A' },
  });
  const sql = postgres(service.databaseUrl, { max: 1 });
  t.teardown(() => sql.end());
  const statuses: number[] = [];
  let sent: Promise<unknown>[] = [];
  await sql.begin(async (locked) => {
    await locked`lock table users in access exclusive mode`;
    sent = Array.from({ length: 200 }, async (_, at) => {
      const path = at % 2 ? `/users/${user.id}` : '/users';
      const body = at % 2 ? undefined : { email: `b${at}@example.org`, name: 'B' };
      statuses.push((await service.send(at % 2 ? 'GET' : 'POST', path, { body })).status);
    });
    await until('all but forty have a response', () => statuses.length >= 160);
    await until('none waits longer than the time limit', () => statuses.length === 200);
  });
  await Promise.all(sent);
  t.same([...new Set(statuses)], [503]);
  await until('it works again', async () => (await service.send('GET', `/users/${user.id}`)).status === 200);
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
  await until('they are in flight', async () => {
    const active = (await scrape(url)).value('plinth_db_active_statements', { pool: 'stream' });
    return (active ?? 0) >= 8;
  });
  t.equal((await send('GET', '/users?page=1')).status, 200);
});

t.test('searches wait in a short queue of their own: reads go on', async (t) => {
  const service = await testService(t);
  const { json: user } = await service.send('POST', '/users', {
    body: { email: 'a@example.org', name: 'A' },
  });
  const sql = postgres(service.databaseUrl, { max: 1 });
  t.teardown(() => sql.end());
  const refused: number[] = [];
  let searches: Promise<number>[] = [];
  await sql.begin(async (locked) => {
    await locked`lock table items in access exclusive mode`;
    searches = Array.from({ length: 40 }, async (_, at) => {
      const { status } = await service.send('GET', `/items?page=1&search=lamp${at}`);
      if (status === 503) refused.push(status);
      return status;
    });
    await until('those that find no room are refused', () => refused.length >= 20);
    t.equal((await service.send('GET', `/users/${user.id}`)).status, 200);
  });
  const served = (await Promise.all(searches)).filter((status) => status === 200);
  t.equal(served.length + refused.length, 40);
  t.equal(served.length, 18, 'two ran and sixteen waited');
});

t.test('bodies in all: BODY_BYTES', async (t) => {
  const env = { BODY_LIMIT: '1024', BODY_BYTES: '2048', BODY_BYTES_PER_ADDRESS: '0' };
  const service = await testService(t, env);
  const body = JSON.stringify({ name: 'a'.repeat(100), x: 'a'.repeat(850) });
  const head = (length: number) =>
    `POST /items HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  const clients = await Promise.all([connected(t, service), connected(t, service)]);
  for (const { socket } of clients) {
    socket.write(head(body.length) + body.slice(0, -1));
    // Before anything else comes, what would take the room that this one needs.
    await service.send('GET', '/healthz');
  }
  const small = () => service.send('POST', '/items', { body: { name: 'a'.repeat(180) } });
  const refused = await until('there is no room for a third', async () => {
    const response = await small();
    return response.status === 503 ? response : undefined;
  });
  t.equal(refused.headers['retry-after'], '1');
  const fields = 'Content-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n';
  const chunks = `c8\r\n{"name":"${'a'.repeat(189)}"}\r\n0\r\n\r\n`;
  const chunked = await service.raw(`POST /items HTTP/1.1\r\nHost: a\r\n${fields}\r\n${chunks}`);
  t.match(chunked, /^HTTP\/1\.1 503 /, 'also when its length is not given');
  for (const { socket } of clients) socket.write(body.slice(-1));
  await until('both are accepted', () => clients.every(({ text }) => /^HTTP\/1\.1 201 /.test(text)));
  t.equal((await small()).status, 201, 'a response frees the memory of its request');
  const gone = await connected(t, service);
  gone.socket.write(head(body.length) + body.slice(0, -1));
  gone.socket.destroy();
  for (let count = 0; count < 5; count++)
    await until('what a client left is held no more', async () => (await small()).status === 201);
});

/** A response that no buffer of the system holds. */
const LARGE: Route = {
  path: '/large',
  actions: {
    GET: requiring('nothing', {
      run: () => ({ status: 200, headers: ['Content-Type', 'text/plain'], body: 'a'.repeat(20_000_000) }),
    }),
  },
};

t.test('responses that their clients do not read, in all: RESPONSE_BYTES', async (t) => {
  const service = await testService(t, { RESPONSE_BYTES: '1024' }, {}, { routes: [LARGE] });
  const deaf = await connected(t, service);
  deaf.socket.pause();
  deaf.socket.write(GET('/large'));
  await until('others are refused', async () => (await service.send('GET', '/items/1')).status === 503);
  t.equal((await service.send('GET', '/healthz')).status, 200);
  deaf.socket.destroy();
  await until('there is room again', async () => (await service.send('GET', '/items/1')).status === 404);
  t.equal((await service.send('GET', '/large')).text.length, 20_000_000, 'one that is read comes whole');
});

t.test('a large response for which there is no memory is 503, a small one is served', async (t) => {
  const service = await testService(t, { RESPONSE_BYTES: '20500000' }, {}, { routes: [LARGE] });
  const created = await service.send('POST', '/items', { body: { name: 'a', x: 'a'.repeat(900_000) } });
  const { id } = created.json;
  const deaf = await connected(t, service);
  deaf.socket.pause();
  deaf.socket.write(GET('/large'));
  const refused = await until('there is no memory left', async () => {
    const response = await service.send('GET', '/large');
    return response.status === 503 && response;
  });
  t.equal(refused.json.error.code, 'SERVICE_UNAVAILABLE');
  t.equal(refused.headers['retry-after'], '1');
  t.equal((await service.send('GET', '/items/1')).status, 404, 'a small response');
  t.equal((await service.send('GET', `/items/${id}`)).status, 503, 'a large record');
  const body = { price: 1 };
  const patched = await service.send('PATCH', `/items/${id}`, { body });
  t.same([patched.status, patched.text], [204, ''], 'a write takes place, and leaves the record out');
  t.equal(patched.headers.etag, '"2"');
  t.equal(patched.headers['content-type'], undefined);
  const batch = { method: 'POST', path: '/batch' };
  const read = await service.send(batch.method, batch.path, {
    body: [{ method: 'GET', path: `/items/${id}` }],
  });
  t.same([read.status, read.json.error.details], [503, { operation: 0 }]);
  deaf.socket.destroy();
  await until('there is room again', async () => (await service.send('GET', `/items/${id}`)).status === 200);
});

t.test('connections over MAX_CONNECTIONS get a 503, and those far beyond are closed', async (t) => {
  const service = await testService(t, { MAX_CONNECTIONS: '2' });
  const [first, second] = [await connected(t, service), await connected(t, service)];
  const third = await connected(t, service);
  for (const { socket } of [first, second, third]) socket.write(GET('/users/1'));
  await until('the third is closed', () => third.ended);
  t.match(third.text, /^HTTP\/1\.1 503 Service Unavailable\r\n/);
  t.match(third.text, /\r\nRetry-After: 1\r\n/);
  t.match(third.text, /\r\nConnection: close\r\n/);
  await until('the others have a response', () => first.responses() === 1 && second.responses() === 1);
  first.socket.destroy();
  await until('there is room again', async () => (await service.send('GET', '/users/1')).status === 404);
  const many = await Promise.all(
    Array.from({ length: 100 }, () => connected(t, service).catch(() => undefined)),
  );
  await until('some are closed without a word', () =>
    many.some((client) => client?.ended && client.text === ''),
  );
  second.socket.write(GET('/users/1'));
  await until('the first connection goes on', () => second.responses() === 2);
});

t.test('CONNECTIONS_PER_ADDRESS', async (t) => {
  const service = await testService(t, { CONNECTIONS_PER_ADDRESS: '2' });
  const first = [await connected(t, service), await connected(t, service)];
  const clients = [...first, await connected(t, service)];
  for (const { socket } of clients) socket.write(GET('/users/1'));
  await until('each has a response', () => clients.every(({ responses }) => responses() === 1));
  t.same(
    clients.map(({ text }) => text.slice(9, 12)),
    ['404', '404', '503'],
  );
  const other = await connected(t, service, '127.0.0.2');
  other.socket.write(GET('/users/1'));
  await until('another address has a response', () => other.responses() === 1);
  t.match(other.text, /^HTTP\/1\.1 404/);
  clients[0]!.socket.destroy();
  await until('there is room again', async () => (await service.send('GET', '/users/1')).status === 404);

  const proxied = await testService(t, { CONNECTIONS_PER_ADDRESS: '1', TRUST_PROXY: '127.0.0.1' });
  const through = [await connected(t, proxied), await connected(t, proxied)];
  for (const { socket } of through) socket.write(GET('/users/1'));
  await until('both have a response', () => through.every(({ responses }) => responses() === 1));
  t.ok(
    through.every(({ text }) => text.startsWith('HTTP/1.1 404')),
    "a trusted proxy's are not counted",
  );
});

t.test('requests of one connection begin one after the other, and only so many wait', async (t) => {
  const held = gate();
  const service = await testService(t, {}, {}, { routes: held.routes });
  const client = await connected(t, service);
  client.socket.write(GET('/gate') + GET('/gate') + GET('/users/1'));
  await until('the first is in flight', () => held.waiting.length === 1);
  await service.send('GET', '/users/1');
  t.equal(held.waiting.length, 1, 'the second has not begun');
  held.open();
  await until('the second is in flight', () => held.waiting.length === 1);
  held.open();
  await until('all have a response', () => client.responses() === 3);

  const flooding = await connected(t, service);
  flooding.socket.write(GET('/gate') + GET('/users/1').repeat(300));
  await until('the first is in flight', () => held.waiting.length === 1);
  held.open();
  await until('it is closed', () => flooding.ended);
  const statuses = [...flooding.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  t.same(statuses, ['204', ...new Array(100).fill('404'), '503']);
  t.match(flooding.text, /Connection: close/);
});
