import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { declare } from '../../support/collections.js';
import { connected } from '../../support/connected.js';
import { makeKey } from '../../support/credentials.js';
import { onlyBuiltIn } from '../../support/names.js';
import { pause } from '../../support/pause.js';
import { freshService, testService } from '../../support/service.js';
import type { Constants } from '../../support/settings.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';

const NDJSON = 'application/x-ndjson';
const CSV = 'text/csv';
const LENIENT = { headers: { prefer: 'handling=lenient' } };

const lines = (records: readonly unknown[]) =>
  records.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join('\n');
const BOOKS = {
  'books.json': {
    type: 'object',
    properties: {
      isbn: { type: 'string', 'x-unique': true, 'x-normalize': ['trim', 'lower'] },
      title: { type: 'string', minLength: 1 },
      pages: { type: 'integer' },
      secret: { type: 'string', writeOnly: true },
      shelfId: { type: 'string', 'x-references': 'shelves', 'x-on-delete': 'restrict' },
    },
    required: ['title'],
  },
  'shelves.json': {
    type: 'object',
    properties: { name: { type: 'string' } },
  },
};

/** A service with books on shelves. */
const library = (t: Test, env: Record<string, string> = {}, constants: Constants = {}) =>
  testService(t, { COLLECTIONS: declare(t, BOOKS), MIGRATE: 'auto', ...env }, constants);

t.test('NDJSON and CSV create records with all checks of a request', async (t) => {
  const { send } = await library(t);
  const shelf = (await send('POST', '/shelves', { body: { name: 'S' } })).json.id;
  const created = await send('POST', '/books', {
    type: NDJSON,
    body: lines([
      { isbn: ' A-1 ', title: 'One', pages: 7, shelfId: shelf, _version: 9, id: 'mine', extra: [1] },
      '',
      { title: 'Two', secret: 's' },
    ]),
  });
  t.match(created, {
    status: 201,
    json: { meta: { records: 2, stored: 2, refused: 0, omitted: 0 }, faults: [] },
  });
  const csv = await send('POST', '/books', {
    type: CSV,
    body: 'isbn;title;pages\nb-2;"Three; 3";12\n;Four;\n',
  });
  t.match(csv, { status: 201, json: { meta: { stored: 2 } } });
  const { json: books } = await send('GET', '/books');
  t.same(
    books.map(({ title, isbn, pages }: Record<string, unknown>) => [title, isbn, pages]),
    [
      ['One', 'a-1', 7],
      ['Two', undefined, undefined],
      ['Three; 3', 'b-2', 12],
      ['Four', undefined, undefined],
    ],
  );
  t.match(books[0], { _version: 1, shelfId: shelf, extra: [1] });
  t.notOk('secret' in books[1], 'hidden as after a request');
  t.not(books[0].id, 'mine');
  await until(
    'there are events',
    async () => (await send('GET', '/events')).json.data,
    (events: { type: string }[]) => events.filter(({ type }) => /books\.created/.test(type)).length === 4,
  );
});

t.test('one fault stores nothing, unless the client is lenient', async (t) => {
  const { send } = await library(t);
  await send('POST', '/books', { body: { isbn: 'taken', title: 'There' } });
  const body = lines([
    { title: 'good' },
    { title: '', pages: 'many' },
    '{"title":',
    { title: 'dup', isbn: 'TAKEN' },
    { title: 'first', isbn: 'x' },
    { title: 'again', isbn: 'X' },
    { title: 'lost', shelfId: '01900000-0000-7000-8000-000000000000' },
    { title: 7, secret: 8 },
    '"text"',
  ]);
  const faults = [
    { line: 2, pointer: '/title', code: 'VALIDATION_ERROR', value: '""' },
    { line: 2, pointer: '/pages', code: 'VALIDATION_ERROR', value: '"many"' },
    { line: 3, pointer: '', code: 'VALIDATION_ERROR' },
    { line: 4, pointer: '/isbn', code: 'DUPLICATE', value: '"TAKEN"' },
    { line: 6, pointer: '/isbn', code: 'DUPLICATE', value: '"X"' },
    { line: 7, pointer: '/shelfId', code: 'SHELVE_NOT_FOUND' },
    { line: 8, pointer: '/title', code: 'VALIDATION_ERROR', value: '7' },
    { line: 8, pointer: '/secret', code: 'VALIDATION_ERROR' },
    { line: 9, pointer: '', code: 'VALIDATION_ERROR' },
  ];
  const refused = await send('POST', '/books', { type: NDJSON, body });
  t.match(refused, {
    status: 422,
    json: {
      error: { code: 'RECORDS_REFUSED', details: { records: 9, stored: 0, refused: 7, omitted: 0, faults } },
    },
  });
  t.notOk(refused.text.includes('"8"'), 'no hidden value');
  t.equal((await send('GET', '/books')).json.length, 1);
  const lenient = await send('POST', '/books', { type: NDJSON, body, ...LENIENT });
  t.match(lenient, {
    status: 201,
    headers: { 'preference-applied': 'handling=lenient' },
    json: { meta: { records: 9, stored: 2, refused: 7 }, faults },
  });
  t.same(
    (await send('GET', '/books')).json.map(({ title }: { title: string }) => title),
    ['There', 'good', 'first'],
  );
  const many = lines(Array.from({ length: 500 }, () => ({ title: '' })));
  const bounded = await send('POST', '/books', { type: NDJSON, body: many, ...LENIENT });
  t.match(bounded.json, { meta: { records: 500, stored: 0, refused: 500, omitted: 400 } });
  t.equal(bounded.json.faults.length, 100);
  const header = await send('POST', '/books', { type: CSV, body: 'title,title\na,b\n' });
  t.match(header, { status: 400, json: { error: { code: 'VALIDATION_ERROR' } } });
  t.match(await send('POST', '/books', { type: CSV, body: Buffer.from('\ufefftitle\na\n', 'utf16le') }), {
    status: 400,
  });
  t.match(await send('POST', '/books', { type: NDJSON, body: '' }), { status: 400 });
});

t.test('a body is bounded in records and bytes, and each record like that of a request', async (t) => {
  const { send } = await library(t, { BODY_LIMIT: '2048' }, { bulkRecords: 3, bulkBytes: 600_000 });
  const of = (count: number, text = 'x') => lines(Array.from({ length: count }, () => ({ title: text })));
  t.match(await send('POST', '/books', { type: NDJSON, body: of(3) }), { status: 201 });
  t.match(await send('POST', '/books', { type: NDJSON, body: of(4) }), {
    status: 413,
    json: { error: { code: 'TOO_MANY_RECORDS', details: { limit: 3 } } },
  });
  const long = `{"title":"y"}${'\n'.repeat(600_000)}`;
  for (const options of [{ body: long }, { body: gzipSync(long), headers: { 'content-encoding': 'gzip' } }])
    t.match(await send('POST', '/books', { type: NDJSON, ...options }), {
      status: 413,
      json: { error: { code: 'PAYLOAD_TOO_LARGE', details: { limit: 600_000 } } },
    });
  t.match(await send('POST', '/books', { type: NDJSON, body: of(2, 'z'.repeat(3000)), ...LENIENT }), {
    status: 201,
    json: { meta: { stored: 0, refused: 2 }, faults: [{ line: 1, code: 'PAYLOAD_TOO_LARGE' }, { line: 2 }] },
  });
  t.match(await send('POST', '/books', { type: NDJSON, body: 'z'.repeat(500_000) }), { status: 413 });
  t.equal((await send('GET', '/books')).json.length, 3);
});

t.test('an Idempotency-Key stores the records once', async (t) => {
  const { send } = await library(t);
  const headers = { 'idempotency-key': 'k1' };
  const body = lines(Array.from({ length: 5000 }, (_, n) => ({ title: `b${n}`, text: 'x'.repeat(100) })));
  const post = (more: object = {}) => send('POST', '/books', { type: NDJSON, body, headers, ...more });
  const [one, two] = await Promise.all([post(), post()]);
  const statuses = [one.status, two.status].sort();
  t.ok(statuses[0] === 201 && [201, 409].includes(statuses[1]!), String(statuses));
  const again = await post();
  t.match(again, {
    status: 201,
    headers: { 'idempotency-replayed': 'true' },
    json: { meta: { stored: 5000 } },
  });
  t.match(await post({ body: gzipSync(body), headers: { ...headers, 'content-encoding': 'gzip' } }), {
    status: 201,
    headers: { 'idempotency-replayed': 'true' },
  });
  t.match(await post({ body: `${body}\n{"title":"more"}` }), {
    status: 422,
    json: { error: { code: 'IDEMPOTENCY_KEY_REUSED' } },
  });
  t.equal((await send('GET', '/books?count=exact&limit=1')).json.meta.total, 5000);
  const refused = await send('POST', '/books', {
    type: NDJSON,
    body: '{"title":""}',
    headers: { 'idempotency-key': 'k2' },
  });
  t.equal(refused.status, 422);
  t.equal(
    (
      await send('POST', '/books', {
        type: NDJSON,
        body: '{"title":"x"}',
        headers: { 'idempotency-key': 'k2' },
      })
    ).status,
    201,
    'a refusal is not stored',
  );
});

t.test('scopes, owners and readable references apply to each record', async (t) => {
  const { send, db } = await testService(t, { AUTH: 'api-key' });
  const admin = await makeKey(db);
  const as = (key: string, more: object = {}) => ({ ...more, headers: { 'x-api-key': key } });
  const user = async (name: string) =>
    (await send('POST', '/users', as(admin.key, { body: { email: `${name}@x.org`, name } }))).json.id;
  const [ada, bob] = [await user('ada'), await user('bob')];
  const own = await makeKey(db, { subject: ada, scopes: ['self'] });
  const reader = await makeKey(db, { scopes: ['posts:read'] });
  const writer = await makeKey(db, { scopes: ['posts:write'] });
  const body = lines([{ userId: ada }, { userId: bob }, {}]);
  const post = (key: string, prefer = '') =>
    send('POST', '/posts', { type: NDJSON, body, headers: { 'x-api-key': key, ...(prefer && { prefer }) } });
  t.equal((await send('POST', '/posts', { type: NDJSON, body })).status, 401);
  t.equal((await post(reader.key)).status, 403);
  const unreadable = { code: 'USER_NOT_FOUND', pointer: '/userId' };
  t.match(await post(own.key, 'handling=lenient'), {
    status: 201,
    json: {
      meta: { stored: 1, refused: 2 },
      faults: [
        { line: 2, ...unreadable },
        { line: 3, code: 'VALIDATION_ERROR' },
      ],
    },
  });
  t.match(await post(writer.key), {
    status: 422,
    json: {
      error: { details: { faults: [{ line: 1, ...unreadable }, { line: 2, ...unreadable }, { line: 3 }] } },
    },
  });
  t.equal((await send('GET', '/posts', as(admin.key))).json.length, 1);
});

t.test('a user of many can sign in with its password', onlyBuiltIn('names a field'), async (t) => {
  const { send, db } = await testService(t, { AUTH: 'basic api-key', INSECURE: 'basic' });
  const { key } = await makeKey(db);
  const body = lines([{ email: ' Ada@Example.org', name: 'Ada', password: 'a long password' }]);
  t.match(await send('POST', '/users', { type: NDJSON, body, headers: { 'x-api-key': key } }), {
    status: 201,
  });
  const authorization = `Basic ${Buffer.from('ada@example.org:a long password').toString('base64')}`;
  t.match(await send('GET', '/whoami', { headers: { authorization } }), { status: 200 });
});

t.test('a signed body is read before the check', async (t) => {
  const secret = 'the first secret, of more than 32 characters';
  const service = await testService(t, {
    AUTH: 'signature',
    SIGNING_SECRETS: JSON.stringify([{ id: 'a', secret, subject: 'ada', scopes: ['admin'] }]),
  });
  const body = lines([{ name: 'signed' }, { name: 'too' }]);
  const at = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', secret).update(`${at}\nPOST\n/items\n${body}`).digest('base64');
  const headers = { 'x-timestamp': at, 'x-signature': signature, 'x-key-id': 'a' };
  t.match(await service.send('POST', '/items', { type: NDJSON, body, headers }), {
    status: 201,
    json: { meta: { stored: 2 } },
  });
});

/** A request whose body the test writes in parts. */
function open(url: string, headers: http.OutgoingHttpHeaders = {}): http.ClientRequest {
  const request = http.request(`${url}/items`, {
    method: 'POST',
    headers: { 'content-type': NDJSON, ...headers },
  });
  request.on('error', () => undefined);
  return request;
}

const LARGE = lines(Array.from({ length: 4000 }, (_, n) => ({ name: `n${n}`, text: 'x'.repeat(200) })));

t.test('a client that breaks off leaves nothing', async (t) => {
  const { url, send, db } = await freshService(t);
  for (const prefer of ['handling=strict', 'handling=lenient']) {
    const request = open(url, { prefer });
    request.write(LARGE);
    await until(
      'records are being stored',
      async () =>
        (
          await db.run(
            "select count(*)::text as n from pg_stat_activity where application_name = 'plinth import'",
            [],
          )
        )[0]!.n,
      (n) => Number(n) > 0,
    );
    request.destroy();
    await until(
      'the transaction has ended',
      async () =>
        (
          await db.run(
            "select count(*)::text as n from pg_stat_activity where application_name = 'plinth import'",
            [],
          )
        )[0]!.n,
      (n) => Number(n) === 0,
    );
  }
  t.equal((await send('GET', '/items')).json.meta.total, 0);
});

t.test('bytes behind the compressed data are refused', async (t) => {
  const { send } = await library(t);
  for (const coding of ['gzip', 'deflate', 'br'] as const) {
    const compress = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync }[coding];
    const headers = { 'content-encoding': coding };
    const body = compress('{"title":"a"}\n');
    t.match(await send('POST', '/books', { type: NDJSON, body, headers }), { status: 201 }, coding);
    const more = Buffer.concat([body, Buffer.alloc(200_000, 'x')]);
    t.match(
      await send('POST', '/books', { type: NDJSON, body: more, headers }),
      { status: 400, json: { error: { details: [{ keyword: 'encoding' }] } } },
      coding,
    );
  }
  t.equal((await send('GET', '/books')).json.length, 3);
});

t.test('a client that trickles gets 408', async (t) => {
  const service = await freshService(t, { BODY_MIN_RATE: '1000' }, { bodyRateMs: 200 });
  const client = await connected(t, service);
  client.socket.write(
    `POST /items HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${NDJSON}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  // The pause is the pace of the client, which is too slow.
  for (; client.socket.writable && !client.text.startsWith('HTTP/1.1 408 '); await pause(20))
    client.socket.write('1\r\n\n\r\n');
  t.match(client.text, /^HTTP\/1\.1 408 /);
});

t.test('a transaction does not wait for a slow client', async (t) => {
  const { url, send } = await freshService(t, { BODY_MIN_RATE: '1' }, { bodyRateMs: 200 });
  const request = open(url);
  request.write(LARGE);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  t.equal(response.statusCode, 408);
  t.equal(response.headers.connection, 'close');
  request.destroy();
  t.equal((await send('GET', '/items')).json.meta.total, 0);
});

t.test('a client that sends nothing gets 408, and one that waits for 100 Continue is invited', async (t) => {
  const service = await freshService(t, { BODY_MIN_RATE: '1000' }, { bodyRateMs: 100 });
  const slow = await connected(t, service);
  slow.socket.write(
    `POST /items HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${NDJSON}\r\nContent-Length: 99\r\n\r\n{`,
  );
  await until(
    'it is refused',
    () => slow.text,
    (text) => text.startsWith('HTTP/1.1 408 '),
  );
  const waiting = await connected(t, service);
  waiting.socket.write(
    `POST /items HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${NDJSON}\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\n`,
  );
  await until(
    'it is invited',
    () => waiting.text,
    (text) => text.startsWith('HTTP/1.1 100 '),
  );
  waiting.socket.write('{"name":"n"}');
  await until(
    'it has a response',
    () => waiting.text,
    (text) => text.includes('"stored":1'),
  );
  t.equal((await service.send('GET', '/items')).json.meta.total, 1);
});

t.test('other media types, OPTIONS, batches, and the switch', async (t) => {
  const { send } = await library(t);
  t.match(await send('POST', '/books', { type: 'application/xml', body: '<a/>' }), {
    status: 415,
    headers: { 'accept-post': 'application/json, application/x-ndjson, text/csv' },
  });
  t.match((await send('OPTIONS', '/books')).headers, { 'accept-post': /text\/csv/ });
  const operation = {
    method: 'POST',
    path: '/books',
    headers: { 'content-type': NDJSON },
    body: { title: 'x' },
  };
  t.match(await send('POST', '/batch', { body: { operations: [operation] } }), { status: 415 });
  t.match(
    await send('POST', '/books', {
      type: NDJSON,
      body: '{"title":"x"}',
      headers: { 'content-encoding': 'gzip' },
    }),
    {
      status: 400,
    },
  );
  for (const version of ['', '/api/v2']) {
    const { paths } = (await send('GET', `${version}/openapi.json`)).json;
    t.same(Object.keys(paths['/books'].post.requestBody.content), ['application/json']);
  }
  const metrics = (await send('GET', '/metrics')).text;
  t.match(metrics, /plinth_bulk_records_total/);
  const off = await library(t, { JOBS: 'off' });
  t.match(await off.send('POST', '/books', { type: NDJSON, body: '{"title":"x"}' }), {
    status: 415,
    headers: { 'accept-post': 'application/json' },
  });
});
