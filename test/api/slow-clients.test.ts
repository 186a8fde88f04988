import type net from 'node:net';
import { connected } from '../support/connected.js';
import { mockLimits, pause } from '../support/pause.js';
import { requiring } from '../support/requiring.js';
import { type TestService, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { until, untilAtLeast } from '../support/until.js';
import { scrape } from '../telemetry/scraped.js';

const HOST = 'Host: a\r\n';
const ABORTED = 'http_server_aborted_requests_total';

/** Opens a connection. Of a response of many megabytes, only the beginning is retained. */
const connectedTo = (t: Test, service: TestService) => connected(t, service, { maxText: 10_000 });

/** Sends one byte after the other until the connection ends. The pause is the pace of the client. */
async function trickle({ socket }: { socket: net.Socket }, bytes: string): Promise<void> {
  for (let at = 0; socket.writable; at++) {
    socket.write(bytes[at % bytes.length]!);
    await pause(10);
  }
}

/** Items of a megabyte each: twenty are more than the system buffers for a reader that takes nothing. */
async function fill({ send }: TestService, items = 20): Promise<void> {
  for (let count = 0; count < items; count++)
    await send('POST', '/items', { body: { name: 'a', x: 'a'.repeat(1_000_000) } });
}

t.test('header fields and bodies that never end: 408, however steadily they come', async (t) => {
  const service = await testService(t, { REQUEST_TIMEOUT_MS: '300' }, { headersTimeoutMs: 200 });
  for (const [start, bytes] of [
    ['GET /users HTTP/1.1\r\n', 'X-A: b\r\n'],
    ['POST /users HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n', ' '],
  ] as const) {
    const client = await connectedTo(t, service);
    client.socket.write(start.replace('\r\n', `\r\n${HOST}`));
    void trickle(client, bytes);
    await until('it is ended', () => client.ended);
    t.match(client.text, /^HTTP\/1\.1 408 [\s\S]*\r\nConnection: close\r\n/);
  }
  const patient = await testService(t, { DATABASE_URL: service.databaseUrl });
  t.same((await patient.send('GET', '/users')).json, []);
});

t.test('bodies that are slow to come take no place from others', async (t) => {
  const service = await testService(t, { MAX_REQUESTS: '2' });
  const body = '{"name":"a"}';
  const clients = await Promise.all(Array.from({ length: 10 }, () => connectedTo(t, service)));
  for (const { socket } of clients)
    socket.write(
      `POST /items HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
  await until(
    'all are waited for',
    () => clients.map(({ text }) => text),
    (seen) => seen.every((text) => text.startsWith('HTTP/1.1 100 ')),
  );
  t.equal((await service.send('GET', '/items')).status, 200);
  for (const { socket } of clients) socket.write(body);
  await until(
    'all have a response',
    () => clients.map(({ text }) => text),
    (seen) => seen.every((text) => text.includes('HTTP/1.1 201 ')),
  );
});

t.test('a connection on which nothing comes is ended', async (t) => {
  const silent = await connectedTo(t, await testService(t, {}, { headersTimeoutMs: 200 }));
  const idle = await connectedTo(t, await testService(t, { KEEP_ALIVE_MS: '200' }));
  idle.socket.write(`GET /users HTTP/1.1\r\n${HOST}\r\n`);
  await until(
    'it has a response',
    () => idle.text,
    (seen) => seen.endsWith('0\r\n\r\n'),
  );
  await until('both are ended', () => silent.ended && idle.ended);
  t.match(idle.text, /^HTTP\/1\.1 200 /);
});

/** Limits of readers in these tests, and how far the clock goes at once. */
const STALL = { streamStallMs: 300 };
const STEP_MS = 200;
/** The clock goes faster than the database works. */
const PATIENCE = { DB_TIMEOUT_MS: '600000' };

t.test('a reader that takes nothing of a page is cut off', async (t) => {
  const service = await testService(t, PATIENCE, { dbStreams: 1, ...STALL });
  await fill(service);
  const clock = mockLimits(t);
  const client = await connectedTo(t, service);
  client.socket.pause();
  client.socket.write(`GET /items?page=1 HTTP/1.1\r\n${HOST}\r\n`);
  await until(
    'it is cut off',
    async () => {
      clock.ms += STEP_MS;
      return (await scrape(service.url)).value(ABORTED, { route: '/items', reason: 'stalled' });
    },
    (seen) => seen === 1,
  );
  t.equal(
    (await service.send('GET', '/items?page=1')).json.data.length,
    20,
    'the next reader has its connection',
  );
  client.socket.resume();
  await until('the connection has ended', () => client.ended);
  t.ok(client.bytes < 20_000_000, 'without the rest');
});

/** More than the buffers of the system hold back before the service may write again. */
const PART = 1_500_000;

/** Reads so many bytes, and then no more. */
function take(client: { socket: net.Socket; bytes: number }, bytes: number): Promise<void> {
  const end = client.bytes + bytes;
  return new Promise((resolve) => {
    const onData = () => {
      if (client.bytes < end) return;
      client.socket.off('data', onData).pause();
      resolve();
    };
    client.socket.on('data', onData).resume();
  });
}

t.test('a slow reader that goes on taking gets all of it', async (t) => {
  const service = await testService(t, PATIENCE, STALL);
  await fill(service, 40);
  const clock = mockLimits(t);
  const request = `GET /items?page=1&limit=40 HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`;
  const [stalled, client] = [await connectedTo(t, service), await connectedTo(t, service)];
  for (const { socket } of [stalled, client]) socket.pause().write(request);
  // Otherwise the slow reader could have all before the other response begins.
  await Promise.all([take(stalled, 1), take(client, 1)]);
  await until(
    'the one that takes nothing is cut off',
    async () => {
      await take(client, PART);
      clock.ms += STEP_MS / 2;
      return (await scrape(service.url)).value(ABORTED, { route: '/items', reason: 'stalled' });
    },
    (seen) => seen !== undefined,
  );
  client.socket.resume();
  await untilAtLeast('it has all', () => client.bytes, 40_000_000);
  t.match(client.text, /^HTTP\/1\.1 200 /);
});

t.test('a client that sends request after request and reads nothing has one response made', async (t) => {
  let made = 0;
  const page = 'a'.repeat(20_000_000);
  const service = await testService(
    t,
    {},
    { responseBytes: 1024, ...STALL },
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
  const clock = mockLimits(t);
  const client = await connectedTo(t, service);
  client.socket.pause();
  client.socket.write(`GET /large HTTP/1.1\r\n${HOST}\r\n`.repeat(50));
  await untilAtLeast('the first has a response', () => made, 1);
  await until('it waits', async () => (await service.send('GET', '/users/1')).status, 503);
  await until(
    'its response is dropped',
    async () => {
      clock.ms += STEP_MS;
      return (await service.send('GET', '/users/1')).status;
    },
    (seen) => seen === 404,
  );
  t.equal(made, 1);
});

t.test('a request that waits for the service is not mistaken for a slow client', async (t) => {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let begun = false;
  const run = async () => {
    begun = true;
    await released;
    return { status: 204, headers: [] };
  };
  const large = { status: 200, headers: ['Content-Type', 'text/plain'], body: 'a'.repeat(20_000_000) };
  const service = await testService(
    t,
    {},
    { responseBytes: 1024, ...STALL },
    {
      routes: [
        { path: '/slow', actions: { GET: requiring('nothing', { run }) } },
        { path: '/large', actions: { GET: requiring('nothing', { run: () => large }) } },
      ],
    },
  );
  const clock = mockLimits(t);
  const waiting = service.send('GET', '/slow');
  await until('it waits', () => begun);
  // A client that reads nothing is cut off meanwhile.
  const stalled = await connectedTo(t, service);
  stalled.socket.pause();
  stalled.socket.write(`GET /large HTTP/1.1\r\n${HOST}\r\n`);
  const status = async () => (await service.send('GET', '/users/1')).status;
  await until('there is no room beside its response', status, (seen) => seen === 503);
  await until(
    'it is cut off',
    () => {
      clock.ms += STEP_MS;
      return status();
    },
    (seen) => seen === 404,
  );
  release();
  t.equal((await waiting).status, 204);
});
