import { once } from 'node:events';
import { connected, untilResponses } from '../support/connected.js';
import { GET, gate } from '../support/overload.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

t.test('requests over MAX_REQUESTS are 503 at once, and the others are not touched', async (t) => {
  const held = gate();
  const CORS_ORIGINS = 'https://app.example.org';
  const service = await testService(
    t,
    { MAX_REQUESTS: '2', AUTH: 'api-key', CORS_ORIGINS },
    {},
    { routes: held.routes },
  );
  const first = await held.occupy(service, 2);
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
  for (const response of await first.responses) t.equal(response.status, 204);
  t.equal((await service.send('GET', '/items')).status, 401, 'there is room again');
});

t.test('a refusal leaves the connection usable, unless a long body is on its way', async (t) => {
  const held = gate();
  const service = await testService(t, { MAX_REQUESTS: '1' }, {}, { routes: held.routes });
  const first = await held.occupy(service);
  const post = (length: number) =>
    `POST /items HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  const client = await connected(t, service);
  client.socket.write(`${post(13)}{"name": "a"}`);
  await until('it is refused', () => client.responses(), 1);
  t.notMatch(client.text, /Connection: close/);
  const long = await connected(t, service);
  long.socket.write(post(1_000_000));
  await until('it is refused and closed', () => long.ended || /Connection: close/.test(long.text));
  t.match(long.text, /^HTTP\/1\.1 503 /);
  held.open();
  await first.responses;
  client.socket.write(`${post(13)}{"name": "a"}`);
  await until('it is accepted', () => client.responses(), 2);
  t.match(client.text, /HTTP\/1\.1 201 Created/);
  t.equal((await service.send('GET', '/items')).json.meta.total, 1, 'what was refused was not done');
});

t.test('clients that retry after a 503 all get a response, served when there is room', async (t) => {
  const held = gate();
  const service = await testService(t, { MAX_REQUESTS: '1' }, {}, { routes: held.routes });
  const first = await held.occupy(service);
  const clients = await Promise.all(Array.from({ length: 150 }, () => connected(t, service)));
  for (let round = 1; round <= 3; round++) {
    for (const { socket } of clients) socket.write(GET('/users/1'));
    await untilResponses(clients, round);
  }
  t.ok(clients.every(({ text }) => text.split('HTTP/1.1 503').length === 4));
  held.open();
  await first.responses;
  for (const client of clients.slice(0, 5)) {
    client.socket.write(GET('/users/1'));
    await until('it has a response', () => client.responses(), 4);
    t.match(client.text, /HTTP\/1\.1 404/);
  }
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
  await until(
    'each has a response',
    () => clients.map(({ responses }) => responses()),
    (seen) => seen.every((count) => count > 0),
  );
  watcher.socket.write(GET('/readyz'));
  await once(watcher.socket, 'data');
  const before = refused;
  watcher.socket.write(GET('/readyz'));
  await once(watcher.socket, 'data');
  t.match(watcher.text, /HTTP\/1\.1 503/, 'a 503 as well');
  t.ok(refused - before <= 600, `at most two requests of each other client: ${refused - before}`);
});

t.test('refusals beyond the rate are sent in their turn, each before the next response', async (t) => {
  const held = gate();
  const service = await testService(t, { MAX_REQUESTS: '1' }, {}, { routes: held.routes });
  const first = await held.occupy(service);
  const clients = await Promise.all(Array.from({ length: 200 }, () => connected(t, service)));
  const [leaving, staying] = [clients.slice(0, 50), clients.slice(50)];
  const post = 'POST /users HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}';
  for (const { socket } of clients) socket.write(post + GET('/healthz'));
  for (const { socket } of leaving) socket.destroy();
  await untilResponses(staying, 2);
  const statuses = staying.map(({ text }) =>
    [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
  );
  t.same([...new Set(statuses.map(String))], ['503,200']);
  held.open();
  await first.responses;
  t.equal((await service.send('GET', '/users/1')).status, 404);
});

t.test('requests of one connection begin one after the other, and only so many wait', async (t) => {
  const held = gate();
  const service = await testService(t, {}, {}, { routes: held.routes });
  const client = await connected(t, service);
  client.socket.write(GET('/gate') + GET('/gate') + GET('/users/1'));
  await until('the first is in flight', () => held.waiting.length, 1);
  await service.send('GET', '/users/1');
  t.equal(held.waiting.length, 1, 'the second has not begun');
  held.open();
  await until('the second is in flight', () => held.waiting.length, 1);
  held.open();
  await until('all have a response', () => client.responses(), 3);

  const flooding = await connected(t, service);
  flooding.socket.write(GET('/gate') + GET('/users/1').repeat(300));
  await until('the first is in flight', () => held.waiting.length, 1);
  held.open();
  await until('it is closed', () => flooding.ended);
  const statuses = [...flooding.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  t.same(statuses, ['204', ...new Array(100).fill('404'), '503']);
  t.match(flooding.text, /Connection: close/);
});
