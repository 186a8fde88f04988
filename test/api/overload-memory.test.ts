import type { Route } from '../../src/http/router.js';
import { connected } from '../support/connected.js';
import { GET } from '../support/overload.js';
import { requiring } from '../support/requiring.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

t.test('bodies in all: BODY_BYTES', async (t) => {
  const env = { BODY_LIMIT: '1024', BODY_BYTES: '2048' };
  const service = await testService(t, env, { bodyBytesPerAddress: 0 });
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
  const refused = await until(
    'there is no room for a third',
    () => small(),
    (response) => response.status === 503,
  );
  t.equal(refused.headers['retry-after'], '1');
  const fields = 'Content-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n';
  const chunks = `c8\r\n{"name":"${'a'.repeat(189)}"}\r\n0\r\n\r\n`;
  const chunked = await service.raw(`POST /items HTTP/1.1\r\nHost: a\r\n${fields}\r\n${chunks}`);
  t.match(chunked, /^HTTP\/1\.1 503 /, 'also when its length is not given');
  for (const { socket } of clients) socket.write(body.slice(-1));
  await until(
    'both are accepted',
    () => clients.map(({ text }) => text),
    (seen) => seen.every((text) => /^HTTP\/1\.1 201 /.test(text)),
  );
  t.equal((await small()).status, 201, 'a response frees the memory of its request');
  const gone = await connected(t, service);
  gone.socket.write(head(body.length) + body.slice(0, -1));
  gone.socket.destroy();
  for (let count = 0; count < 5; count++)
    await until('what a client left is held no more', async () => (await small()).status, 201);
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

t.test('responses that their clients do not read, in all', async (t) => {
  const service = await testService(t, {}, { responseBytes: 1024 }, { routes: [LARGE] });
  const deaf = await connected(t, service);
  deaf.socket.pause();
  deaf.socket.write(GET('/large'));
  await until('others are refused', async () => (await service.send('GET', '/items/1')).status, 503);
  t.equal((await service.send('GET', '/healthz')).status, 200);
  deaf.socket.destroy();
  await until('there is room again', async () => (await service.send('GET', '/items/1')).status, 404);
  t.equal((await service.send('GET', '/large')).text.length, 20_000_000, 'one that is read comes whole');
});

t.test('a large response for which there is no memory is 503, a small one is served', async (t) => {
  const service = await testService(t, {}, { responseBytes: 20_500_000 }, { routes: [LARGE] });
  const created = await service.send('POST', '/items', { body: { name: 'a', x: 'a'.repeat(900_000) } });
  const { id } = created.json;
  const deaf = await connected(t, service);
  deaf.socket.pause();
  deaf.socket.write(GET('/large'));
  const refused = await until(
    'there is no memory left',
    () => service.send('GET', '/large'),
    (response) => response.status === 503,
  );
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
  await until('there is room again', async () => (await service.send('GET', `/items/${id}`)).status, 200);
});
