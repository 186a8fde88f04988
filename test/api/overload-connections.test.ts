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
