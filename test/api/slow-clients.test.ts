import { once } from 'node:events';
import net from 'node:net';
import t, { type Test } from 'tap';
import { requiring } from '../../src/http/router.js';
import { until } from '../support/process.js';
import { type TestService, testService } from '../support/service.js';

const HOST = 'Host: a\r\n';

async function connected(t: Test, { url }: TestService) {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ host: hostname, port: Number(port) });
  t.teardown(() => socket.destroy());
  const state = { socket, text: '', bytes: 0, ended: false };
  socket.on('data', (bytes) => {
    state.bytes += bytes.length;
    if (state.text.length < 10_000) state.text += bytes.toString('latin1');
  });
  socket
    .on('error', () => undefined)
    .on('close', () => {
      state.ended = true;
    });
  await once(socket, 'connect');
  return state;
}

/** Sends one byte after the other until the connection ends. */
function trickle({ socket }: { socket: net.Socket }, bytes: string): void {
  let at = 0;
  const timer = setInterval(() => socket.writable && socket.write(bytes[at++ % bytes.length]!), 10);
  socket.once('close', () => clearInterval(timer));
}

/** Items that fill more than the system buffers for a reader. */
async function fill({ send }: TestService): Promise<void> {
  for (let count = 0; count < 20; count++)
    await send('POST', '/items', { body: { name: 'a', x: 'a'.repeat(1_000_000) } });
}

t.test('header fields that never end: 408, however steadily they come', async (t) => {
  const service = await testService(t, { REQUEST_TIMEOUT_MS: '60000' }, { headersTimeoutMs: 200 });
  const client = await connected(t, service);
  client.socket.write(`GET /users HTTP/1.1\r\n${HOST}`);
  trickle(client, 'X-A: b\r\n');
  await until('it is ended', () => client.ended);
  t.match(client.text, /^HTTP\/1\.1 408 /);
  t.match(client.text, /\r\nConnection: close\r\n/);
});

t.test('a body that never ends: 408, however steadily it comes', async (t) => {
  const service = await testService(t, { REQUEST_TIMEOUT_MS: '300' }, { headersTimeoutMs: 100 });
  const client = await connected(t, service);
  client.socket.write(
    `POST /users HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n`,
  );
  trickle(client, ' ');
  await until('it is ended', () => client.ended);
  t.match(client.text, /^HTTP\/1\.1 408 /);
  t.same((await service.send('GET', '/users')).json, []);
});

t.test('bodies that are slow to come take no place from others', async (t) => {
  const service = await testService(t, { MAX_REQUESTS: '2' });
  const body = '{"name":"a"}';
  const clients = await Promise.all(Array.from({ length: 10 }, () => connected(t, service)));
  for (const { socket } of clients)
    socket.write(
      `POST /items HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
  await until('all are waited for', () => clients.every(({ text }) => text.startsWith('HTTP/1.1 100 ')));
  t.equal((await service.send('GET', '/items')).status, 200);
  for (const { socket } of clients) socket.write(body);
  await until('all have a response', () => clients.every(({ text }) => text.includes('HTTP/1.1 201 ')));
});

t.test('a connection on which nothing comes is ended', async (t) => {
  const service = await testService(t, { KEEP_ALIVE_MS: '200' }, { headersTimeoutMs: 200 });
  const silent = await connected(t, service);
  const idle = await connected(t, service);
  idle.socket.write(`GET /users HTTP/1.1\r\n${HOST}\r\n`);
  await until('it has a response', () => idle.text.endsWith('0\r\n\r\n'));
  await until('both are ended', () => silent.ended && idle.ended);
  t.match(idle.text, /^HTTP\/1\.1 200 /);
});

t.test('a reader that takes nothing of a page is cut off', async (t) => {
  const service = await testService(t, { DB_STREAMS: '1' }, { streamStallMs: 200 });
  await fill(service);
  const client = await connected(t, service);
  client.socket.pause();
  client.socket.write(`GET /items?page=1 HTTP/1.1\r\n${HOST}\r\n`);
  await service.send('GET', '/items?page=1');
  client.socket.resume();
  await until('the connection has ended', () => client.ended);
  t.ok(client.bytes < 20_000_000, 'without the rest');
});

t.test('a slow reader that goes on taking gets all of it', async (t) => {
  const service = await testService(t, {}, { streamStallMs: 300 });
  await fill(service);
  const client = await connected(t, service);
  client.socket.write(`GET /items?page=1 HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`);
  const timer = setInterval(() => {
    client.socket.resume();
    setTimeout(() => client.socket.pause(), 10);
  }, 60);
  t.teardown(() => clearInterval(timer));
  await until('it has all', () => client.bytes > 20_000_000);
  t.match(client.text, /^HTTP\/1\.1 200 /);
});

t.test('a client that sends request after request and reads nothing has one response made', async (t) => {
  let made = 0;
  const page = 'a'.repeat(20_000_000);
  const service = await testService(
    t,
    { RESPONSE_BYTES: '1024' },
    { streamStallMs: 300 },
    {
      routes: [
        {
          path: '/large',
          actions: {
            GET: requiring('nothing', {
              run: () => {
                made++;
                return { status: 200, headers: ['Content-Type', 'text/plain'], body: page };
              },
            }),
          },
        },
      ],
    },
  );
  const client = await connected(t, service);
  client.socket.pause();
  client.socket.write(`GET /large HTTP/1.1\r\n${HOST}\r\n`.repeat(50));
  await until('the first has a response', () => made > 0);
  await until('it waits', async () => (await service.send('GET', '/users/1')).status === 503);
  await until('its response is dropped', async () => (await service.send('GET', '/users/1')).status === 404);
  t.equal(made, 1);
});

t.test('a request that waits for the service is not mistaken for a slow client', async (t) => {
  const service = await testService(
    t,
    {},
    { streamStallMs: 50 },
    {
      routes: [
        {
          path: '/slow',
          actions: {
            GET: requiring('nothing', {
              run: async () => {
                await new Promise((resolve) => setTimeout(resolve, 400));
                return { status: 204, headers: [] };
              },
            }),
          },
        },
      ],
    },
  );
  t.equal((await service.send('GET', '/slow')).status, 204);
});
