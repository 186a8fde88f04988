import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { BODIES } from '../../src/limits/byte-budget.js';
import { CODECS } from '../support/codings.js';
import { type SendOptions, testService } from '../support/service.js';
import { sign } from '../support/signed.js';
import t from '../support/test.js';

const TYPE = 'application/json';
const coded = (coding: string, body: Buffer): SendOptions => ({
  body,
  type: TYPE,
  headers: { 'content-encoding': coding },
});

const SENT: readonly [coding: string, encode: (bytes: Buffer) => Buffer][] = [
  ...CODECS.map(([coding, encode]): [string, typeof encode] => [coding, encode]),
  ['deflate', deflateSync],
  ['x-gzip', gzipSync],
  ['GZIP', gzipSync],
];

t.test('a body in each coding', async (t) => {
  const { send } = await testService(t);
  for (const [coding, encode] of SENT) {
    const body = encode(Buffer.from(JSON.stringify({ name: `Désk ${coding}`, text: 'a'.repeat(10_000) })));
    const created = await send('POST', '/items', coded(coding, body));
    t.equal(created.status, 201, coding);
    t.equal(created.json.name, `Désk ${coding}`);
    const patched = await send('PATCH', `/items/${created.json.id}`, {
      ...coded(coding, encode(Buffer.from('{"price":1}'))),
      type: 'application/merge-patch+json',
    });
    t.equal(patched.json.price, 1, `PATCH: ${coding}`);
  }
  const query = gzipSync(Buffer.from('{"limit":1}'));
  t.equal((await send('QUERY', '/items', coded('gzip', query))).json.data.length, 1);
  const plain = await send('POST', '/items', {
    body: { name: 'a' },
    headers: { 'content-encoding': 'identity' },
  });
  t.equal(plain.status, 201);
});

t.test('data that is not in its coding: 400', async (t) => {
  const { send } = await testService(t);
  const json = Buffer.from('{"name":"a"}');
  for (const [coding, encode] of SENT) {
    const whole = encode(json);
    const wrong: [string, Buffer][] = [
      ['cut', whole.subarray(0, -3)],
      ['not compressed', json],
      ['with more after it', Buffer.concat([whole, Buffer.from('more')])],
      ['noise', Buffer.alloc(100, 0xfe)],
    ];
    for (const [says, body] of wrong) {
      const refused = await send('POST', '/items', coded(coding, body));
      t.equal(refused.status, 400, `${coding}: ${says}`);
      t.match(refused.json.error, { code: 'VALIDATION_ERROR', details: [{ keyword: 'encoding' }] }, says);
    }
    t.equal(
      (await send('POST', '/items', coded(coding, encode(Buffer.alloc(0))))).status,
      400,
      'nothing in it',
    );
    t.equal(
      (await send('POST', '/items', coded(coding, encode(Buffer.from('{'))))).status,
      400,
      'invalid JSON',
    );
  }
  t.equal(
    (await send('POST', '/items', coded('deflate', deflateRawSync(json)))).status,
    400,
    'without its frame',
  );
  t.equal((await send('GET', '/items')).json.meta.total, 0);
});

t.test('an unknown coding: 415, which names those that are known', async (t) => {
  const { send } = await testService(t);
  const body = gzipSync(Buffer.from('{"name":"a"}'));
  for (const coding of ['compress', 'gzip, gzip', 'identity, gzip', 'gzip, br', 'gzip;q=1', 'zip']) {
    const refused = await send('POST', '/items', coded(coding, body));
    t.equal(refused.status, 415, coding);
    t.match(refused.headers['accept-encoding'], /^gzip, br, (zstd, )?deflate$/);
    t.match(refused.json, {
      error: { code: 'UNSUPPORTED_MEDIA_TYPE', details: { supported: ['gzip', 'br'] } },
    });
  }
  t.match((await send('OPTIONS', '/items')).headers['accept-encoding'], /^gzip, br/);
  t.equal((await send('OPTIONS', '/whoami')).headers['accept-encoding'], undefined, 'it accepts no body');
});

t.test('the limit of a body applies to what it becomes', async (t) => {
  const { send } = await testService(t, { BODY_LIMIT: '10000' });
  for (const [coding, encode] of SENT) {
    const body = (length: number) =>
      encode(Buffer.from(JSON.stringify({ name: 'a', x: 'a'.repeat(length) })));
    t.equal((await send('POST', '/items', coded(coding, body(9000)))).status, 201, coding);
    t.ok(body(9_000_000).length < 10_000);
    const bomb = await send('POST', '/items', coded(coding, body(9_000_000)));
    t.equal(bomb.status, 413, coding);
    t.match(bomb.json.error, { code: 'PAYLOAD_TOO_LARGE' });
  }
  t.equal((await send('POST', '/items', coded('gzip', Buffer.alloc(10_001)))).status, 413, 'as it was sent');
});

t.test('what bodies become counts in BODY_BYTES, until their requests are done', async (t) => {
  const { send } = await testService(t, { BODY_LIMIT: '10000', BODY_BYTES: '10000' });
  const before = BODIES.held;
  const body = (length: number) =>
    gzipSync(Buffer.from(JSON.stringify({ name: 'a', x: 'a'.repeat(length) })));
  t.equal((await send('POST', '/items', coded('gzip', body(9000)))).status, 201);
  const full = await send('POST', '/items', coded('gzip', body(9960)));
  t.equal(full.status, 503, 'together with what was sent');
  t.equal(full.headers['retry-after'], '1');
  t.equal(BODIES.held, before, 'both are released');
});

t.test('many at once', async (t) => {
  const { send } = await testService(t);
  const body = gzipSync(Buffer.from(JSON.stringify({ name: 'a', x: 'a'.repeat(100_000) })));
  const responses = await Promise.all(
    Array.from({ length: 100 }, () => send('POST', '/items', coded('gzip', body))),
  );
  t.same([...new Set(responses.map(({ status }) => status))], [201]);
});

t.test('a signature covers the bytes as they were sent', async (t) => {
  const secret = 'a secret of more than thirty-two characters';
  const { send } = await testService(t, {
    AUTH: 'signature',
    SIGNING_SECRETS: JSON.stringify([{ id: 'a', secret, subject: 'a', scopes: ['items:write'] }]),
    AUTH_FAILURES: '0',
  });
  const json = Buffer.from('{"name":"a"}');
  const body = gzipSync(json);
  const post = (signed: Buffer) =>
    send('POST', '/items', {
      body,
      type: TYPE,
      headers: { 'content-encoding': 'gzip', ...sign('a', secret, 'POST', '/items', signed) },
    });
  t.equal((await post(body)).status, 201);
  t.equal((await post(json)).status, 401, 'not what they become');
});

t.test('a repeat of a request may be compressed differently', async (t) => {
  const { send } = await testService(t);
  const json = Buffer.from('{"name":"a"}');
  const post = (options: SendOptions) =>
    send('POST', '/items', { ...options, headers: { ...options.headers, 'idempotency-key': 'k' } });
  const first = await post({ body: json, type: TYPE });
  const second = await post(coded('gzip', gzipSync(json)));
  t.equal(second.headers['idempotency-replayed'], 'true');
  t.equal(second.json.id, first.json.id);
});
