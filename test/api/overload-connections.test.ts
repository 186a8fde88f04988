import { connected } from '../support/connected.js';
import { GET } from '../support/overload.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

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
  await until('there is room again', async () => (await service.send('GET', '/users/1')).status, 404);
  const many = await Promise.all(
    Array.from({ length: 100 }, () => connected(t, service).catch(() => undefined)),
  );
  await until('some are closed without a word', () =>
    many.some((client) => client?.ended && client.text === ''),
  );
  second.socket.write(GET('/users/1'));
  await until('the first connection goes on', () => second.responses(), 2);
});

t.test('CONNECTIONS_PER_ADDRESS', async (t) => {
  const service = await testService(t, { CONNECTIONS_PER_ADDRESS: '2' });
  const first = [await connected(t, service), await connected(t, service)];
  const clients = [...first, await connected(t, service)];
  for (const { socket } of clients) socket.write(GET('/users/1'));
  await until(
    'each has a response',
    () => clients.map(({ responses }) => responses()),
    (seen) => seen.every((count) => count === 1),
  );
  t.same(
    clients.map(({ text }) => text.slice(9, 12)),
    ['404', '404', '503'],
  );
  const other = await connected(t, service, { localAddress: '127.0.0.2' });
  other.socket.write(GET('/users/1'));
  await until('another address has a response', () => other.responses(), 1);
  t.match(other.text, /^HTTP\/1\.1 404/);
  clients[0]!.socket.destroy();
  await until('there is room again', async () => (await service.send('GET', '/users/1')).status, 404);

  const proxied = await testService(t, { CONNECTIONS_PER_ADDRESS: '1', TRUST_PROXY: '127.0.0.1' });
  const through = [await connected(t, proxied), await connected(t, proxied)];
  for (const { socket } of through) socket.write(GET('/users/1'));
  await until(
    'both have a response',
    () => through.map(({ responses }) => responses()),
    (seen) => seen.every((count) => count === 1),
  );
  t.ok(
    through.every(({ text }) => text.startsWith('HTTP/1.1 404')),
    "a trusted proxy's are not counted",
  );
});
