import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { valuesOf } from '../../support/callers.js';
import { declare } from '../../support/collections.js';
import { connected } from '../../support/connected.js';
import { byKey, byPassword, makeKey } from '../../support/credentials.js';
import { onlyBuiltIn } from '../../support/names.js';
import { pause } from '../../support/pause.js';
import { freshService, type SendOptions, testService } from '../../support/service.js';
import type { Constants } from '../../support/settings.js';
import t, { type Test } from '../../support/test.js';
import { until, untilAtLeast } from '../../support/until.js';

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
async function library(t: Test, env: Record<string, string> = {}, constants: Constants = {}) {
  const settings = { COLLECTIONS: declare(t, BOOKS), MIGRATE: 'auto', ...env };
  const { send, ...service } = await testService(t, settings, constants);
  const post = (body: string | Buffer, more: SendOptions = {}) =>
    send('POST', '/books', { type: NDJSON, body, ...more });
  const books = async () => (await send('GET', '/books')).json as Record<string, unknown>[];
  return { ...service, send, post, books };
}

t.test('NDJSON and CSV create records with all checks of a request', async (t) => {
  const { send, post, books: stored } = await library(t);
  const shelf = (await send('POST', '/shelves', { body: { name: 'S' } })).json.id;
  const created = await post(
    lines([
      { isbn: ' A-1 ', title: 'One', pages: 7, shelfId: shelf, _version: 9, id: 'mine', extra: [1] },
      '',
      { title: 'Two', secret: 's' },
    ]),
  );
  const meta = { records: 2, stored: 2, refused: 0, omitted: 0 };
  t.match(created, { status: 201, json: { meta, faults: [] } });
  const csv = await post('isbn;title;pages\nb-2;"Three; 3";12\n;Four;\n', { type: CSV });
  t.match(csv, { status: 201, json: { meta: { stored: 2 } } });
  const books = await stored();
  const shown = books.map(({ title, isbn, pages }) => [title, isbn, pages].join());
  t.same(shown, ['One,a-1,7', 'Two,,', 'Three; 3,b-2,12', 'Four,,']);
  t.match(books[0], { _version: 1, shelfId: shelf, extra: [1] });
  t.notOk('secret' in books[1]!, 'hidden as after a request');
  t.not(books[0]!.id, 'mine');
  await until(
    'there are events',
    async () => (await send('GET', '/events')).json.data,
    (events: { type: string }[]) => events.filter(({ type }) => /books\.created/.test(type)).length === 4,
  );
});

t.test('one fault stores nothing, unless the client is lenient', async (t) => {
  const { send, post, books } = await library(t);
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
  const refused = await post(body);
  const details = { records: 9, stored: 0, refused: 7, omitted: 0, faults };
  t.match(refused, { status: 422, json: { error: { code: 'RECORDS_REFUSED', details } } });
  t.notOk(refused.text.includes('"8"'), 'no hidden value');
  t.equal((await books()).length, 1);
  const lenient = await post(body, LENIENT);
  t.match(lenient, {
    status: 201,
    headers: { 'preference-applied': 'handling=lenient' },
    json: { meta: { records: 9, stored: 2, refused: 7 }, faults },
  });
  t.same(valuesOf(await books(), 'title'), ['There', 'good', 'first']);
  const bounded = await post(lines(Array.from({ length: 500 }, () => ({ title: '' }))), LENIENT);
  t.match(bounded.json, { meta: { records: 500, stored: 0, refused: 500, omitted: 400 } });
  t.equal(bounded.json.faults.length, 100);
  const header = await post('title,title\na,b\n', { type: CSV });
  t.match(header, { status: 400, json: { error: { code: 'VALIDATION_ERROR' } } });
  t.equal((await post(Buffer.from('\ufefftitle\na\n', 'utf16le'), { type: CSV })).status, 400);
  t.equal((await post('')).status, 400);
});

t.test('a body is bounded in records and bytes, and each record like that of a request', async (t) => {
  const constants = { bulkRecords: 3, bulkBytes: 600_000 };
  const { post, books } = await library(t, { BODY_LIMIT: '2048' }, constants);
  const of = (count: number, text = 'x') => lines(Array.from({ length: count }, () => ({ title: text })));
  const tooMany = (code: string, limit: number) => ({
    status: 413,
    json: { error: { code, details: { limit } } },
  });
  t.equal((await post(of(3))).status, 201);
  t.match(await post(of(4)), tooMany('TOO_MANY_RECORDS', 3));
  const long = `{"title":"y"}${'\n'.repeat(600_000)}`;
  t.match(await post(long), tooMany('PAYLOAD_TOO_LARGE', 600_000));
  const coded = { headers: { 'content-encoding': 'gzip' } };
  t.match(await post(gzipSync(long), coded), tooMany('PAYLOAD_TOO_LARGE', 600_000));
  t.match(await post(of(2, 'z'.repeat(3000)), LENIENT), {
    status: 201,
    json: { meta: { stored: 0, refused: 2 }, faults: [{ line: 1, code: 'PAYLOAD_TOO_LARGE' }, { line: 2 }] },
  });
  t.equal((await post('z'.repeat(500_000))).status, 413);
  t.equal((await books()).length, 3);
});

t.test('an Idempotency-Key stores the records once', async (t) => {
  const { send, post } = await library(t);
  const headers = { 'idempotency-key': 'k1' };
  const body = lines(Array.from({ length: 5000 }, (_, n) => ({ title: `b${n}`, text: 'x'.repeat(100) })));
  const replayed = { status: 201, headers: { 'idempotency-replayed': 'true' } };
  const statuses = (await Promise.all([post(body, { headers }), post(body, { headers })])).map(
    ({ status }) => status,
  );
  t.ok(['201,201', '201,409'].includes(statuses.sort().join()), String(statuses));
  t.match(await post(body, { headers }), { ...replayed, json: { meta: { stored: 5000 } } });
  const coded = { headers: { ...headers, 'content-encoding': 'gzip' } };
  t.match(await post(gzipSync(body), coded), replayed);
  const reused = { status: 422, json: { error: { code: 'IDEMPOTENCY_KEY_REUSED' } } };
  t.match(await post(`${body}\n{"title":"more"}`, { headers }), reused);
  t.equal((await send('GET', '/books?count=exact&limit=1')).json.meta.total, 5000);
  const other = { headers: { 'idempotency-key': 'k2' } };
  t.equal((await post('{"title":""}', other)).status, 422);
  t.equal((await post('{"title":"x"}', other)).status, 201, 'a refusal is not stored');
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
  const invalid = { line: 3, code: 'VALIDATION_ERROR' };
  t.match(await post(own.key, 'handling=lenient'), {
    status: 201,
    json: { meta: { stored: 1, refused: 2 }, faults: [{ line: 2, ...unreadable }, invalid] },
  });
  const faults = [{ line: 1, ...unreadable }, { line: 2, ...unreadable }, { line: 3 }];
  t.match(await post(writer.key), { status: 422, json: { error: { details: { faults } } } });
  t.equal((await send('GET', '/posts', as(admin.key))).json.length, 1);
});

t.test('a user of many can sign in with its password', onlyBuiltIn('names a field'), async (t) => {
  const { send, db } = await testService(t, { AUTH: 'basic api-key', INSECURE: 'basic' });
  const { key } = await makeKey(db);
  const body = lines([{ email: ' Ada@Example.org', name: 'Ada', password: 'a long password' }]);
  const made = await send('POST', '/users', { type: NDJSON, body, headers: byKey(key) });
  t.equal(made.status, 201);
  const headers = byPassword('ada@example.org', 'a long password');
  t.equal((await send('GET', '/whoami', { headers })).status, 200);
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
  const imports = "select from pg_stat_activity where application_name = 'plinth import'";
  const importing = async () => (await db.run(imports, [])).length;
  for (const prefer of ['handling=strict', 'handling=lenient']) {
    const request = open(url, { prefer });
    request.write(LARGE);
    await untilAtLeast('records are being stored', importing, 1);
    request.destroy();
    await until('the transaction has ended', importing, 0);
  }
  t.equal((await send('GET', '/items')).json.meta.total, 0);
});

t.test('bytes behind the compressed data are refused', async (t) => {
  const { post, books } = await library(t);
  for (const [coding, compress] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const) {
    const coded = { headers: { 'content-encoding': coding } };
    const body = compress('{"title":"a"}\n');
    t.equal((await post(body, coded)).status, 201, coding);
    const more = await post(Buffer.concat([body, Buffer.alloc(200_000, 'x')]), coded);
    t.match(more, { status: 400, json: { error: { details: [{ keyword: 'encoding' }] } } }, coding);
  }
  t.equal((await books()).length, 3);
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
  await until('it is refused', () => slow.text.startsWith('HTTP/1.1 408 '));
  const waiting = await connected(t, service);
  waiting.socket.write(
    `POST /items HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${NDJSON}\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\n`,
  );
  await until('it is invited', () => waiting.text.startsWith('HTTP/1.1 100 '));
  waiting.socket.write('{"name":"n"}');
  await until('it has a response', () => waiting.text.includes('"stored":1'));
  t.equal((await service.send('GET', '/items')).json.meta.total, 1);
});

t.test('other media types, OPTIONS, batches, and the switch', async (t) => {
  const { send, post } = await library(t);
  t.match(await post('<a/>', { type: 'application/xml' }), {
    status: 415,
    headers: { 'accept-post': 'application/json, application/x-ndjson, text/csv' },
  });
  t.match((await send('OPTIONS', '/books')).headers, { 'accept-post': /text\/csv/ });
  const typed = { headers: { 'content-type': NDJSON }, body: { title: 'x' } };
  const operations = [{ method: 'POST', path: '/books', ...typed }];
  t.equal((await send('POST', '/batch', { body: { operations } })).status, 415);
  t.equal((await post('{"title":"x"}', { headers: { 'content-encoding': 'gzip' } })).status, 400);
  for (const version of ['', '/api/v2']) {
    const { paths } = (await send('GET', `${version}/openapi.json`)).json;
    t.same(Object.keys(paths['/books'].post.requestBody.content), ['application/json']);
  }
  const metrics = (await send('GET', '/metrics')).text;
  t.match(metrics, /plinth_bulk_records_total/);
  const off = await library(t, { JOBS: 'off' });
  const refused = { status: 415, headers: { 'accept-post': 'application/json' } };
  t.match(await off.post('{"title":"x"}'), refused);
});
