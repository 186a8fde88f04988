import net from 'node:net';
import { makeKey } from '../support/credentials.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';
import { untilAtLeast } from '../support/until.js';

const ON = { ACCESS_LOG: 'on', LOG_LEVEL: 'info' };

t.test('a line a request, at info, with what identifies it and neither query nor body', async (t) => {
  const { send, logged } = await testService(t, ON);
  const began = Date.now();
  const body = { email: 'ann@example.org', name: 'A name nobody logs' };
  const created = await send('POST', '/api/v1/users', {
    body,
    headers: { 'x-request-id': 'mine-1' },
  });
  t.equal(created.headers['x-request-id'], 'mine-1');
  t.equal(logged.length, 1);
  const { time, durationMs, ...line } = JSON.parse(logged[0]!);
  t.ok(time >= began && time <= Date.now());
  t.ok(durationMs > 0 && durationMs < 60_000);
  t.same(line, {
    level: 30,
    requestId: 'mine-1',
    method: 'POST',
    route: '/users',
    path: '/api/v1/users',
    status: 201,
    received: Buffer.byteLength(JSON.stringify(body)),
    sent: Buffer.byteLength(created.text),
    msg: 'request',
  });
  await send('GET', '/users?token=swordfish');
  t.match(JSON.parse(logged[1]!), { method: 'GET', path: '/users' });
  t.notMatch(logged[1], /swordfish/);
});

t.test('what finds no route, what is refused, what is streamed', async (t) => {
  const { send, logged } = await testService(t, ON);
  await send('GET', '/nowhere?x=1', { headers: { 'x-request-id': 'not valid!' } });
  await send('DELETE', '/users');
  const list = await send('GET', '/users');
  const lines = logged.map((line) => JSON.parse(line));
  t.match(lines[0], { path: '/nowhere', status: 404 });
  t.equal(lines[0].route, undefined);
  t.not(lines[0].requestId, 'not valid!');
  t.match(lines[1], { route: '/users', status: 405 });
  t.match(lines[2], { route: '/users', status: 200, sent: Buffer.byteLength(list.text) });
});

t.test('the caller, and never its credentials', async (t) => {
  const { send, db, logged } = await testService(t, { ...ON, AUTH: 'api-key' });
  const { key } = await makeKey(db, { subject: 'reports', scopes: ['users:read'] });
  await send('GET', '/users', { headers: { 'x-api-key': key } });
  await send('GET', `/users?api_key=${key}`);
  const lines = logged.filter((line) => line.includes('"msg":"request"')).map((line) => JSON.parse(line));
  t.match(lines[0], { subject: 'reports', scheme: 'api-key', status: 200 });
  t.match(lines[1], { path: '/users', status: 400 });
  t.notOk(logged.join('').includes(key));
});

t.test('an authority in the request target is left out', async (t) => {
  const { raw, logged } = await testService(t, ON);
  await raw('GET http://user:swordfish@a/users?x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  t.match(JSON.parse(logged[0]!), { path: '/users' });
  t.notMatch(logged[0], /swordfish/);
});

t.test('a client that leaves has a line that says so', async (t) => {
  const { url, logged } = await testService(t, ON);
  const { hostname, port } = new URL(url);
  const fields = 'Content-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue';
  const socket = net.connect(Number(port), hostname, () =>
    socket.write(`POST /users HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`),
  );
  socket.once('data', () => socket.destroy());
  await untilAtLeast('it is logged', () => logged, 1);
  const line = JSON.parse(logged[0]!);
  t.match(line, { route: '/users', aborted: 'body', received: 0, sent: 0 });
  t.equal(line.status, undefined);
});

t.test('an internal error is logged with the request it belongs to', async (t) => {
  const { send, db, logged } = await testService(t, { LOG_LEVEL: 'info' });
  await db.run('alter table public_collections.users rename to away', []);
  const response = await send('GET', '/users/0192f7b0-0000-7000-8000-000000000000', {
    headers: { 'x-request-id': 'mine-1' },
  });
  t.equal(response.status, 500);
  const line = JSON.parse(logged[0]!);
  t.match(line, { level: 50, msg: 'request failed', requestId: 'mine-1', method: 'GET' });
  t.equal(logged.length, 1, 'and no line a request, unless it is configured');
});
