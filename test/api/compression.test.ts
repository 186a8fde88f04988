import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { createGunzip } from 'node:zlib';
import { WorkSlots } from '../../src/work/shared-runs.js';
import { CODECS } from '../support/codings.js';
import { declare } from '../support/collections.js';
import { testProxy } from '../support/proxy.js';
import { requiring } from '../support/requiring.js';
import { type TestService, testDatabase, testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { notInDefault } from '../support/thorough.js';
import { until } from '../support/until.js';

t.jobs = 2;

const LONG = 'A sentence that repeats itself. '.repeat(100);

async function withItem(t: Test, env: Record<string, string> = {}) {
  const service = await testService(t, env);
  const { json: item } = await service.send('POST', '/items', { body: { name: 'Desk', text: LONG } });
  const path = `/items/${item.id}`;
  const get = (coding: string | undefined, headers: http.OutgoingHttpHeaders = {}, method = 'GET') =>
    service.send(method, path, {
      headers: { ...(coding === undefined ? {} : { 'accept-encoding': coding }), ...headers },
    });
  return { service, item, path, get };
}

t.test('a record in each coding: its fields and its ETag', async (t) => {
  const { get, path, service } = await withItem(t);
  const plain = await get(undefined);
  t.equal(plain.headers['content-encoding'], undefined);
  t.equal(plain.headers.etag, '"1"');
  t.match(plain.headers.vary, /Accept-Encoding/, 'the plain response depends on it, too');
  for (const [coding, , decode] of CODECS) {
    const coded = await get(coding);
    t.equal(coded.status, 200);
    t.equal(coded.headers['content-encoding'], coding);
    t.equal(coded.headers.etag, `"1-${coding}"`);
    t.match(coded.headers.vary, /Accept-Encoding/);
    t.equal(coded.headers['content-length'], String(coded.bytes.length));
    t.ok(coded.bytes.length < plain.bytes.length / 4, coding);
    t.equal(decode(coded.bytes).toString(), plain.text, coding);
    const head = await get(coding, {}, 'HEAD');
    for (const name of ['content-encoding', 'etag', 'vary', 'content-type', 'cache-control', 'last-modified'])
      t.equal(head.headers[name], coded.headers[name], `HEAD: ${name}`);
    t.equal(head.bytes.length, 0);
  }
  const html = await service.send('GET', path, {
    headers: { accept: 'text/html', 'accept-encoding': 'gzip' },
  });
  t.equal(html.headers.etag, '"1-html-gzip"');
});

t.test('If-None-Match and If-Match know the ETags of codings', async (t) => {
  const { get, path, service } = await withItem(t);
  const match = (etag: string, coding: string | undefined = 'gzip') => get(coding, { 'if-none-match': etag });
  const same = await match('"1-gzip"');
  t.equal(same.status, 304);
  t.equal(same.headers.etag, '"1-gzip"', 'the ETag of the response that the client has');
  t.match(same.headers.vary, /Accept-Encoding/);
  t.equal((await match('W/"1-gzip"')).headers.etag, '"1-gzip"');
  t.equal((await match('"1", "1-gzip"')).headers.etag, '"1-gzip"');
  t.equal((await match('"1"')).headers.etag, '"1"');
  t.equal((await match('"1-br"')).status, 200, 'another coding is another representation');
  t.equal((await match('"1-gzip"', 'identity')).status, 200);
  t.equal((await match('"2-gzip"')).status, 200);
  t.equal((await get('gzip', { 'if-match': '"1-gzip"' })).status, 200);
  t.equal((await get('gzip', { 'if-match': '"1-br"' })).status, 412);

  const list = await service.send('GET', '/items?page=1', { headers: { 'accept-encoding': 'gzip' } });
  t.match(list.headers.etag, /^"[\w-]{27}-gzip"$/);
  const headers = { 'accept-encoding': 'gzip', 'if-none-match': list.headers.etag! };
  const unchanged = await service.send('GET', '/items?page=1', { headers });
  t.equal(unchanged.status, 304);
  t.equal(unchanged.headers.etag, list.headers.etag);

  const write = (method: string, etag: string, body?: unknown) =>
    service.send(method, path, { headers: { 'if-match': etag }, body });
  t.equal((await write('PATCH', '"1-gzip"', { price: 1 })).status, 200);
  const stale = await write('PATCH', '"1-gzip"', { price: 2 });
  t.equal(stale.status, 412);
  t.equal(stale.headers.etag, '"2"');
  t.equal((await write('PUT', '"2-html-br"', { name: 'Chair', text: LONG })).status, 200);
  t.equal((await write('PUT', 'W/"3-gzip"', { name: 'Chair' })).status, 412, 'compared strongly');
  t.equal((await write('DELETE', '"3-zstd"')).status, 204);
});

t.test('only what is worth it is compressed', async (t) => {
  const { service, get } = await withItem(t);
  const small = await service.send('POST', '/items', {
    body: { name: 'a' },
    headers: { 'accept-encoding': 'gzip' },
  });
  t.equal(small.headers['content-encoding'], undefined);
  t.equal(small.headers.etag, '"1"');
  const options = { 'accept-encoding': 'gzip' };
  const written = await service.send('POST', '/items', { body: { name: 'a', text: LONG }, headers: options });
  t.equal(written.status, 201);
  t.equal(written.headers['content-encoding'], 'gzip');
  const missing = await service.send('GET', '/items?colour=red', { headers: options });
  t.equal(missing.status, 400);
  t.equal(missing.headers['content-encoding'], undefined, 'a short error');
  t.equal((await get('deflate')).headers['content-encoding'], undefined);
  t.equal((await get('gzip;q=0')).headers['content-encoding'], undefined);
});

t.test('COMPRESSION, and the least bytes of a body that is compressed', async (t) => {
  const off = await withItem(t, { COMPRESSION: 'off' });
  for (const coding of ['gzip', 'identity;q=0']) {
    const response = await off.get(coding);
    t.equal(response.status, 200, coding);
    t.equal(response.headers['content-encoding'], undefined, coding);
    t.notMatch(response.headers.vary, /Encoding/, coding);
  }
  const least = await testService(t, {}, { compressionMinBytes: 0 });
  const headers = { 'accept-encoding': 'gzip' };
  t.equal((await least.send('GET', '/whoami', { headers })).headers['content-encoding'], 'gzip');
  const empty = await least.send('DELETE', '/items/1', { headers });
  t.equal(empty.status, 204);
  t.equal(empty.headers['content-encoding'], undefined);
  t.equal(
    (await least.send('GET', '/items/1', { headers })).headers['content-encoding'],
    undefined,
    'no body',
  );
});

t.test('a client that refuses identity', async (t) => {
  const service = await testService(t);
  const send = (coding: string, method = 'GET', body?: unknown) =>
    service.send(method, '/items', { headers: { 'accept-encoding': coding }, body });
  t.equal((await send('identity;q=0, gzip')).headers['content-encoding'], 'gzip', 'also if it is short');
  for (const coding of ['identity;q=0', '*;q=0', 'identity;q=0, compress']) {
    const refused = await send(coding);
    t.equal(refused.status, 406, coding);
    t.match(refused.headers['content-type'], /^text\/plain/);
    t.match(refused.text, /gzip/, 'it names what there is');
    t.match(refused.headers.vary, /Accept-Encoding/);
  }
  t.equal((await send('identity;q=0', 'POST', { name: 'a' })).status, 406);
  t.equal((await send('gzip, identity;q=0.1')).status, 200);
  t.equal((await service.send('GET', '/items')).json.meta.total, 0, 'nothing was written');
});

t.test('a long error is compressed, and reports a hundred failures at most', async (t) => {
  const names = Array.from({ length: 200 }, (_, at) => `field${at}`);
  const notes = {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, {}])),
    required: names,
  };
  const service = await testService(t, { COLLECTIONS: declare(t, { 'notes.json': notes }), MIGRATE: 'auto' });
  const refused = await service.send('POST', '/notes', {
    body: {},
    headers: { 'accept-encoding': 'gzip' },
  });
  t.equal(refused.status, 400);
  t.equal(refused.headers['content-encoding'], 'gzip');
  const [, , gunzip] = CODECS[0]!;
  t.equal(JSON.parse(gunzip(refused.bytes).toString()).errors.length, 100);
});

async function fill({ send }: TestService, count: number): Promise<void> {
  const user = await send('POST', '/users', { body: { name: 'Ann', email: 'ann@example.org' } });
  for (let done = 0; done < count; done += 100) {
    const body = Array.from({ length: 100 }, (_, at) => ({
      method: 'POST',
      path: '/posts',
      body: { userId: user.json.id, title: `Post ${done + at}`, text: LONG },
    }));
    const response = await send('POST', '/batch', { body });
    if (response.status !== 200) throw new Error(response.text);
  }
}

t.test('streamed lists are compressed as they are read', async (t) => {
  const service = await testService(t);
  await fill(service, 300);
  const plain = await service.send('GET', '/posts');
  t.equal(plain.json.length, 300);
  for (const [coding, , decode] of CODECS) {
    const headers = { 'accept-encoding': coding };
    const coded = await service.send('GET', '/posts', { headers });
    t.equal(coded.headers['content-encoding'], coding);
    t.equal(coded.headers.etag, undefined);
    t.ok(coded.bytes.length < plain.bytes.length / 10, coding);
    t.equal(decode(coded.bytes).toString(), plain.text, coding);
    const lines = await service.send('GET', '/posts', {
      headers: { ...headers, accept: 'application/x-ndjson' },
    });
    t.equal(decode(lines.bytes).toString().trimEnd().split('\n').length, 300);
    const head = await service.send('HEAD', '/posts', { headers });
    t.equal(head.headers['content-encoding'], coding);
    t.equal(head.headers['content-length'], undefined);
  }
});

t.test('pieces of a compressed list arrive before its end', async (t) => {
  const service = await testService(t);
  await fill(service, 300);
  const { response } = await open(service, '/posts');
  const gunzip = response.pipe(createGunzip());
  const [first] = (await once(gunzip, 'data')) as [Buffer];
  t.equal(first.toString('utf8', 0, 7), '[{"id":');
  gunzip.resume();
  await once(gunzip, 'end');
});

/** 20 MB of items that do not shrink much, so that they fill the buffers of the system. */
async function fillRandom(t: Test, { send, databaseUrl }: TestService): Promise<void> {
  const items = Array.from({ length: 20 }, () => ({ method: 'POST', path: '/items', body: { name: 'a' } }));
  const response = await send('POST', '/batch', { body: items });
  if (response.status !== 200) throw new Error(response.text);
  const sql = sqlOf(t, databaseUrl);
  // A coder remembers fewer bytes than one text has, so that equal texts do not shrink.
  await sql`update items set doc = '{"x":"' || ${randomBytes(750_000).toString('base64')} || '",' || substr(doc, 2)`;
}

async function open({ url }: TestService, path: string, accept = '*/*') {
  const { hostname, port } = new URL(url);
  const headers = { accept, 'accept-encoding': 'gzip' };
  const request = http.get({ hostname, port, path, headers, agent: false });
  request.on('error', () => undefined);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.on('error', () => undefined);
  return { request, response };
}

t.test('a reader that stalls or leaves ends a compressed stream', { skip: notInDefault }, async (t) => {
  const service = await testService(t, {}, { dbStreams: 1, streamStallMs: 1000 });
  await fillRandom(t, service);
  const aborted = (how: string) => async () => {
    const text = (await service.send('GET', '/metrics')).text;
    return new RegExp(`aborted[^\\n]*${how}[^\\n]* 1$`, 'm').test(text);
  };
  const stalled = await open(service, '/items?search=');
  await until('it is disconnected', aborted('stalled'));
  const closed = new Promise((resolve) => stalled.response.once('close', resolve));
  stalled.response.resume();
  await closed;
  t.notOk(stalled.response.complete);
  const leaving = await open(service, '/items?search=');
  leaving.request.destroy();
  await until('it has left', aborted('left'));
  // A short list, whose reader does not stall, however slow it is.
  const short = await service.send('GET', '/items?search=not-in-any-item');
  t.strictSame(short.json, [], 'the only connection is free again');
  const patient = await testService(t, { DATABASE_URL: service.databaseUrl });
  const whole = await patient.send('GET', '/items?search=', { headers: { 'accept-encoding': 'gzip' } });
  t.equal(whole.status, 200);
  t.ok(whole.bytes.length > 10_000_000);
});

t.test('a failure half way never looks like the end', async (t) => {
  const databaseUrl = await testDatabase(t);
  await fill(await testService(t, { DATABASE_URL: databaseUrl }), 300);
  const proxy = await testProxy(t, databaseUrl);
  const service = await testService(t, { DATABASE_URL: proxy.url });
  proxy.holdAfter(300_000);
  const { response } = await open(service, '/posts');
  const outcome = new Promise((resolve) => {
    response.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    response.on('end', () => resolve('complete'));
  });
  response.resume();
  proxy.cut();
  t.equal(await outcome, 'ECONNRESET');
});

t.test('many at once: each is a whole response, compressed or not', { skip: notInDefault }, async (t) => {
  const body = JSON.stringify({ text: 'abc '.repeat(50_000) });
  const routes = [
    {
      path: '/large',
      actions: {
        GET: requiring('nothing', {
          run: () => ({ status: 200, headers: ['Content-Type', 'application/json'], body }),
        }),
      },
    },
  ];
  const service = await testService(t, {}, {}, { routes });
  const [, , gunzip] = CODECS[0]!;
  const responses = await Promise.all(
    Array.from({ length: 200 }, () =>
      service.send('GET', '/large', { headers: { 'accept-encoding': 'gzip' } }),
    ),
  );
  for (const { headers, bytes } of responses) {
    const text = headers['content-encoding'] === 'gzip' ? gunzip(bytes) : bytes;
    if (text.toString() !== body) t.fail('a broken response');
  }
  t.ok(responses.some(({ headers }) => headers['content-encoding'] === 'gzip'));
});

t.test('pipelined requests get their responses in order', async (t) => {
  const { service, path } = await withItem(t);
  const get = (to: string, fields: string) =>
    `GET ${to} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n${fields}\r\n`;
  const text = await service.raw(get(path, '') + get('/healthz', '') + get(path, 'Connection: close\r\n'));
  t.match(text, /Content-Encoding: gzip[\s\S]*"status":"alive"[\s\S]*Content-Encoding: gzip/);
});

t.test('an event stream is never compressed', async (t) => {
  const service = await testService(t);
  const { request, response } = await open(service, '/events', 'text/event-stream');
  t.match(response.headers['content-type'], /event-stream/);
  t.equal(response.headers['content-encoding'], undefined);
  request.destroy();
});

t.test('slots bound what runs and what waits', async (t) => {
  const slots = new WorkSlots(1, 1);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const work = (id: number) => () =>
    new Promise<number>((resolve) => {
      begun.push(id);
      ends.push(() => resolve(id));
    });
  const first = slots.run(work(1));
  const second = slots.run(work(2));
  t.equal(slots.run(work(3)), undefined);
  t.same(begun, [1]);
  ends[0]!();
  t.equal(await first, 1);
  await until('the next begins', () => begun.length, 2);
  ends[1]!();
  t.equal(await second, 2);
  await t.rejects(slots.run(() => Promise.reject(new Error('no')))!, /no/);
  t.ok(
    slots.run(() => Promise.resolve(1)),
    'a failure frees its slot',
  );
});
