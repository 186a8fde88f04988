import type net from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BODIES } from '../../src/limits/byte-budget.js';
import { awaitedBodies } from '../../src/transport/request-body.js';
import { connected } from '../support/connected.js';
import { mockLimits, pause } from '../support/pause.js';
import { noteError } from '../support/provoked-errors.js';
import { testService } from '../support/service.js';
import { sign } from '../support/signed.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

const SECRET = 'the first secret, of more than 32 characters';
const SIGNATURE = {
  AUTH: 'signature',
  SIGNING_SECRETS: JSON.stringify([{ id: 'a', secret: SECRET, subject: 'ada', scopes: ['admin'] }]),
  AUTH_FAILURES: '0',
};
const JSON_FIELDS = 'Host: localhost\r\nContent-Type: application/json\r\n';
const LARGE = 1_048_576;

const signed = (path: string, body: string) => sign('a', SECRET, 'POST', path, body);

const madeUp = (fields: Record<string, string>) =>
  Object.entries({
    'x-timestamp': String(Math.floor(Date.now() / 1000)),
    'x-signature': Buffer.alloc(32, 1).toString('base64'),
    'x-key-id': 'unknown',
    ...fields,
  })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');

t.test('an unknown X-Key-Id: no body is read, and others are served meanwhile', async (t) => {
  const service = await testService(t, SIGNATURE);
  const head = `POST /items HTTP/1.1\r\n${JSON_FIELDS}${madeUp({})}Expect: 100-continue\r\nContent-Length: ${LARGE}\r\n\r\n`;
  const clients = await Promise.all(Array.from({ length: 128 }, () => connected(t, service)));
  for (const { socket } of clients) socket.write(head);
  const body = '{"name":"served"}';
  const served = await service.send('POST', '/items', { body, headers: signed('/items', body) });
  t.equal(served.status, 201);
  await until(
    'all have a response',
    () => clients.map(({ text }) => text),
    (seen) => seen.every((text) => text.startsWith('HTTP/1.1 401 ')),
  );
  t.notOk(
    clients.some(({ text }) => text.includes(' 100 Continue')),
    'no client is invited to send a body',
  );
  for (const { text } of clients) t.match(text, /\r\nConnection: close\r\n/);
});

t.test('what the header fields show is refused before the body', async (t) => {
  const service = await testService(t, SIGNATURE);
  const cases: [says: string, fields: Record<string, string>, length: number, status: number][] = [
    ['timestamp', { 'x-key-id': 'a', 'x-timestamp': '1' }, LARGE, 401],
    ['no timestamp', { 'x-key-id': 'a', 'x-timestamp': 'now' }, LARGE, 401],
    ['signature', { 'x-key-id': 'a', 'x-signature': 'AAAA' }, LARGE, 401],
    ['length', { 'x-key-id': 'a' }, LARGE + 1, 413],
  ];
  for (const [says, fields, length, status] of cases) {
    const head = `POST /items HTTP/1.1\r\n${JSON_FIELDS}${madeUp(fields)}Content-Length: ${length}\r\n\r\n`;
    const client = await connected(t, service);
    client.socket.write(head);
    await client.responded(`${says}: a response`, status);
  }
});

t.test('a locked address: 429 before the body', async (t) => {
  const service = await testService(t, { ...SIGNATURE, AUTH_FAILURES: '1' });
  await service.send('GET', '/whoami', { headers: signed('/else', '') });
  const client = await connected(t, service);
  client.socket.write(
    `POST /items HTTP/1.1\r\n${JSON_FIELDS}${madeUp({ 'x-key-id': 'a' })}Content-Length: ${LARGE}\r\n\r\n`,
  );
  await client.responded('a response', 429);
});

/** Sends all but the last byte of a body, and gives the whole. */
function begin(client: { socket: net.Socket }, bytes: number, fields = ''): string {
  const body = `{"name":"${'a'.repeat(100)}","x":"${'a'.repeat(bytes - 120)}"}`;
  client.socket.write(
    `POST /items HTTP/1.1\r\n${JSON_FIELDS}${fields}Content-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`,
  );
  return body;
}

t.test('incomplete bodies of one address have a share of BODY_BYTES, those of others theirs', async (t) => {
  const env = { BODY_LIMIT: '4096', BODY_BYTES: '16384', BODY_MIN_RATE: '0' };
  const service = await testService(t, env);
  const first = await connected(t, service);
  const body = begin(first, 4000);
  // Before anything else comes, what occupies the share.
  await service.send('GET', '/healthz');
  const surplus = await connected(t, service);
  begin(surplus, 1000);
  await until('the share is used up', () => surplus.ended || surplus.text.includes('\r\n\r\n'));
  t.match(surplus.text, /^HTTP\/1\.1 429 [\s\S]*\r\nRetry-After: 1\r\n[\s\S]*RATE_LIMITED/);
  const whole = await service.send('POST', '/items', { body });
  t.equal(whole.status, 201, 'a body that arrives with its head does not need the share');
  const other = await connected(t, service, { localAddress: '127.0.0.2' });
  const others = begin(other, 4000);
  await service.send('GET', '/healthz');
  other.socket.write(others.slice(-1));
  await other.responded('another address has its own', 201);
  first.socket.write(body.slice(-1));
  await first.responded('the first is complete', 201);
  const next = await connected(t, service);
  const again = begin(next, 4000);
  await service.send('GET', '/healthz');
  next.socket.write(again.slice(-1));
  await next.responded('its share is free again', 201);
});

t.test('behind a trusted proxy the share is of the real address, and of IPv6 of the /64', async (t) => {
  const env = { BODY_LIMIT: '4096', BODY_BYTES: '16384', BODY_MIN_RATE: '0', TRUST_PROXY: '127.0.0.1' };
  const service = await testService(t, env);
  const from = (address: string) => `X-Forwarded-For: ${address}\r\n`;
  const first = await connected(t, service);
  begin(first, 4000, from('2001:db8::1'));
  await service.send('GET', '/healthz');
  const surplus = await connected(t, service);
  begin(surplus, 1000, from('2001:db8::2'));
  await surplus.responded('the share is used up', 429);
  const other = await connected(t, service);
  const body = begin(other, 4000, from('2001:db8:0:1::1'));
  await service.send('GET', '/healthz');
  other.socket.write(body.slice(-1));
  await other.responded('another network has its own', 201);
});

/** Bytes of the objects of this process that are in use. */
function usedHeap(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

t.test('a body in chunks of one byte occupies little more than its bytes', async (t) => {
  const service = await testService(t);
  const client = await connected(t, service);
  const chunks = 200_000;
  const before = usedHeap();
  client.socket.write(
    `POST /items HTTP/1.1\r\n${JSON_FIELDS}Transfer-Encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(chunks)}`,
  );
  await until('all chunks have arrived', () => BODIES.held, chunks);
  const occupied = usedHeap() - before;
  t.ok(occupied < 10 * chunks, `${occupied} bytes for ${chunks}`);
  client.socket.write('f\r\n{"name":"Lamp"}\r\n0\r\n\r\n');
  await until(
    'the record is created',
    () => client.text,
    (seen) => seen.startsWith('HTTP/1.1 201 ') && seen.includes('"name":"Lamp"'),
  );
});

t.test('bodies that trickle are cut with 408: BODY_MIN_RATE', async (t) => {
  const service = await testService(t, { ...SIGNATURE, BODY_MIN_RATE: '1000' }, { bodyRateMs: 200 });
  const small = await connected(t, service);
  const large = await connected(t, service);
  const fields = madeUp({ 'x-key-id': 'a' });
  begin(small, 2000, fields);
  // A fast beginning of almost everything does not pay for what follows.
  begin(large, 900_000, fields);
  const chunked = await connected(t, service);
  chunked.socket.write(`POST /items HTTP/1.1\r\n${JSON_FIELDS}${fields}Transfer-Encoding: chunked\r\n\r\n`);
  void trickle(chunked);
  for (const client of [small, large, chunked]) {
    await until('it is cut', () => client.ended);
    t.match(client.text, /^HTTP\/1\.1 408 [\s\S]*REQUEST_TIMEOUT/);
    noteError(408, client.text);
    t.match(client.text, /\r\nConnection: close\r\n/);
  }
});

/** Sends chunks of one byte until the connection ends. The pause is the pace of the client, which is too slow. */
async function trickle({ socket }: { socket: net.Socket }): Promise<void> {
  for (; socket.writable; await pause(20)) socket.write('1\r\na\r\n');
}

t.test('a body that is steady is served', async (t) => {
  const service = await testService(t, { ...SIGNATURE, BODY_MIN_RATE: '1000' }, { bodyRateMs: 200 });
  const clock = mockLimits(t);
  const steady = await connected(t, service);
  const body = `{"name":"${'a'.repeat(100)}","x":"${'a'.repeat(2000)}"}`;
  const fields = Object.entries(signed('/items', body))
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  steady.socket.write(
    `POST /items HTTP/1.1\r\n${JSON_FIELDS}${fields}Content-Length: ${body.length}\r\n\r\n`,
  );
  const PART = 400;
  for (let sent = 0; sent < body.length - PART; sent += PART) {
    // A client that sends nothing shows that a whole period was measured.
    const silent = await connected(t, service);
    silent.socket.write(
      `POST /items HTTP/1.1\r\n${JSON_FIELDS}${madeUp({ 'x-key-id': 'a' })}Content-Length: 9\r\n\r\n`,
    );
    steady.socket.write(body.slice(sent, sent + PART));
    await until(
      'both are read',
      () => [awaitedBodies(), BODIES.held],
      ([bodies, bytes]) => bodies === 2 && bytes === sent + PART,
    );
    clock.ms += 200;
    await until('the other is cut', () => silent.ended);
    t.match(silent.text, /^HTTP\/1\.1 408 /);
  }
  steady.socket.write(body.slice(-(body.length % PART)));
  await steady.responded('it is served', 201);
});
