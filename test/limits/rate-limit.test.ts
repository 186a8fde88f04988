import { createHmac } from 'node:crypto';
import type { Db } from '../../src/db/db.js';
import { prune } from '../../src/db/maintenance.js';
import { rateLimiter } from '../../src/limits/rate-limit.js';
import { openSharedCounts } from '../../src/limits/shared-counters.js';
import type { Log } from '../../src/telemetry/log.js';
import { shiftClock, shiftedDatabase } from '../support/clock.js';
import { testProxy } from '../support/proxy.js';
import { freshService, RETENTION, type ServiceResponse, send, testDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

/** The longest window there is: it does not end while a test runs. */
const LONG = 99_999;

/** Requests left, as the RateLimit field tells; the test fails when a field is not well-formed. */
function left(t: Test, { headers }: ServiceResponse, requests: number): number {
  t.equal(headers['ratelimit-policy'], `"default";q=${requests};w=${LONG}`);
  t.match(headers.ratelimit, /^"default";r=\d+;t=[1-9]\d{0,4}$/);
  return Number(/;r=(\d+)/.exec(String(headers.ratelimit))?.[1]);
}

t.test('a window lets its requests pass and begins anew at its end', async (t) => {
  let at = 1_000_000;
  const count = rateLimiter({ requests: 2, seconds: 10 }, undefined, () => at);
  const field = async (key: string) => (await count(key)).fields.at(-1);
  t.strictSame(await count('a'), {
    fields: ['RateLimit-Policy', '"default";q=2;w=10', 'RateLimit', '"default";r=1;t=10'],
    refusedFor: undefined,
  });
  at += 2500;
  t.equal(await field('a'), '"default";r=0;t=8', 'seconds are rounded up');
  t.match(await count('a'), { refusedFor: 8 });
  t.equal(await field('b'), '"default";r=1;t=10', 'another client has its own');
  at += 7499;
  t.match(await count('a'), { refusedFor: 1 });
  at += 1;
  t.equal(await field('a'), '"default";r=1;t=10');
});

t.test('without RATE_LIMIT no response has its fields', async (t) => {
  const { url } = await freshService(t);
  for (const path of ['/items', '/nothing']) {
    const { headers } = await send(url, 'GET', path);
    t.notOk('ratelimit' in headers || 'ratelimit-policy' in headers);
  }
});

t.test('every response has the fields and is counted, until they are all 429', async (t) => {
  const { url } = await freshService(t, { RATE_LIMIT: `10/${LONG}` });
  const { id } = (await send(url, 'POST', '/items', { body: { name: 'x' } })).json;
  const requests: [method: string, path: string, status: number, headers?: Record<string, string>][] = [
    ['GET', `/items/${id}`, 304, { 'if-none-match': '*' }],
    ['GET', '/users', 200],
    ['HEAD', '/users', 200],
    ['GET', '/nothing', 404],
    ['GET', '/api/v7/items', 404],
    ['PUT', '/items', 405],
    ['OPTIONS', '/items', 204],
    ['GET', '/items', 400, { 'api-version': '7' }],
    ['OPTIONS', '*', 204],
  ];
  let rest = 9;
  for (const [method, path, status, headers = {}] of requests) {
    const response = await send(url, method, path, { headers });
    t.equal(response.status, status, `${method} ${path}`);
    t.equal(left(t, response, 10), --rest);
  }
  t.equal(rest, 0);
  for (const [method, path, , headers = {}] of requests) {
    const response = await send(url, method, path, { headers });
    t.equal(response.status, 429, `${method} ${path}`);
    t.equal(left(t, response, 10), 0);
    t.match(response.headers['retry-after'], /^[1-9]\d{0,4}$/);
    t.equal(response.headers['retry-after'], /t=(\d+)/.exec(String(response.headers.ratelimit))?.[1]);
    if (method !== 'HEAD') t.equal(response.json.error.code, 'RATE_LIMITED');
  }
});

const SECRETS = ['ann', 'bob'].map((subject) => ({
  ...{ id: subject, subject, secret: subject.repeat(11), scopes: ['items:read'] },
}));

/** Seconds since 1970; one moment for all, so that no second that passes makes two signatures the same. */
const STARTED = Math.floor(Date.now() / 1000);

function signedBy(subject: string, nonce: number): Record<string, string> {
  const timestamp = String(STARTED - nonce);
  const { secret } = SECRETS.find((known) => known.subject === subject)!;
  const signature = createHmac('sha256', secret).update(`${timestamp}\nGET\n/items\n`).digest('base64');
  return { 'x-timestamp': timestamp, 'x-signature': signature };
}

t.test('a principal has its own count, wherever it comes from', async (t) => {
  const { url } = await freshService(t, {
    AUTH: 'signature',
    SIGNING_SECRETS: JSON.stringify(SECRETS),
    RATE_LIMIT: `3/${LONG}`,
    TRUST_PROXY: '127.0.0.1',
  });
  const get = (headers: Record<string, string>, from = '192.0.2.1', path = '/items') =>
    send(url, 'GET', path, { headers: { ...headers, 'x-forwarded-for': from } });
  for (const [nonce, from] of ['192.0.2.1', '192.0.2.2', '192.0.2.3'].entries()) {
    const response = await get(signedBy('ann', nonce), from);
    t.equal(response.status, 200);
    t.equal(left(t, response, 3), 2 - nonce);
  }
  t.equal((await get(signedBy('ann', 3))).status, 429);
  t.equal((await get(signedBy('bob', 0))).status, 200);
  const responses = [await get({}), await get({}, '192.0.2.1', '/nothing'), await get({})];
  t.equal(responses.map((each) => `${each.status} ${left(t, each, 3)}`).join(), '401 2,404 1,401 0');
  t.equal((await get({})).status, 429);
  t.equal((await get({}, '192.0.2.2')).status, 401, 'another address');
  // A client with a credential is not counted by address.
  t.equal((await get(signedBy('bob', 1))).status, 200);
});

t.test('a refused request has done nothing, and its body is not waited for', async (t) => {
  const { url, raw } = await freshService(t, { RATE_LIMIT: `2/${LONG}` });
  t.equal((await send(url, 'GET', '/items')).json.meta.total, 0);
  await send(url, 'GET', '/items');
  t.equal((await send(url, 'POST', '/items', { body: { name: 'x' } })).status, 429);
  const text = await raw(
    'POST /items HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n',
  );
  t.match(text, /^HTTP\/1\.1 429 /);
});

t.test('two services share one limit through the database', async (t) => {
  const databaseUrl = await testDatabase(t);
  const env = { DATABASE_URL: databaseUrl, RATE_LIMIT: `6/${LONG}`, RATE_LIMIT_STORE: 'postgres' };
  const [one, two] = [await freshService(t, env), await freshService(t, env)];
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, at) => send(at % 2 ? one.url : two.url, 'GET', '/nothing')),
  );
  t.equal(responses.filter(({ status }) => status === 404).length, 6);
  t.equal(responses.filter(({ status }) => status === 429).length, 14);
  const counted = responses.map((response) => left(t, response, 6)).sort();
  t.strictSame(counted, [...new Array(15).fill(0), 1, 2, 3, 4, 5], 'each was counted once');
});

t.test('shared counts follow the clock of the database, forward and back', async (t) => {
  const databaseUrl = await shiftedDatabase(t, 0);
  const env = { DATABASE_URL: databaseUrl, RATE_LIMIT: `3/${LONG}`, RATE_LIMIT_STORE: 'postgres' };
  const { url, db } = await freshService(t, env);
  const next = async () => left(t, await send(url, 'GET', '/nothing'), 3);
  t.equal(await next(), 2);
  t.equal(await next(), 1);
  await shiftClock(databaseUrl, 30 * 86_400);
  t.equal(await next(), 2, 'the window is over');
  await shiftClock(databaseUrl, 0);
  t.equal(await next(), 2, 'a window that ends in a month is none');
  t.equal(await next(), 1);
  const failures = openSharedCounts(db, {} as Log)('failures', 60);
  t.match(await failures.set('a', 9, 1_800_000), { count: 9, endsInMs: 1_800_000 });
  t.match(await failures.add('a'), { count: 10 }, 'a wait of half an hour goes on');
});

t.test('while the database is away each service goes on counting for itself', async (t) => {
  const proxy = await testProxy(t, await testDatabase(t));
  const env = { DATABASE_URL: proxy.url, RATE_LIMIT: `4/${LONG}`, RATE_LIMIT_STORE: 'postgres' };
  const { url } = await freshService(t, env);
  t.equal(left(t, await send(url, 'GET', '/nothing'), 4), 3);
  proxy.cut();
  for (const rest of [2, 1, 0]) {
    const response = await send(url, 'GET', '/nothing');
    t.equal(response.status, 404);
    t.equal(left(t, response, 4), rest, 'what it has counted itself');
  }
  t.equal((await send(url, 'GET', '/nothing')).status, 429);
});

t.test('a database that is away is tried now and then, and its absence logged once', async (t) => {
  const lines: string[] = [];
  const log = { warn: (...given: unknown[]) => lines.push(String(given.at(-1))) } as unknown as Log;
  let queries = 0;
  let away = true;
  let at = 0;
  const run: Db['run'] = async () => {
    queries++;
    if (away) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
    return [{ points: 7, ends_in: '60000' }];
  };
  const counts = openSharedCounts({ run } as Db, log, () => at)('requests', 60);
  for (let time = 0; time < 5; time++) t.equal(await counts.add('a'), undefined);
  t.equal(queries, 1);
  at += 5000;
  t.strictSame(await Promise.all([counts.add('a'), counts.add('b')]), [undefined, undefined]);
  t.equal(queries, 2, 'one request tries');
  t.equal(lines.length, 1);
  away = false;
  at += 5000;
  t.match(await counts.add('a'), { count: 7 });
  t.match(await counts.add('a'), { count: 7 });
  t.equal(lines.length, 2);
  t.match(lines[1], /again/);
});

t.test('what is past its time is cleaned up', async (t) => {
  const { db, databaseUrl } = await freshService(t);
  const sql = sqlOf(t, databaseUrl);
  await sql`insert into limits select 'old' || n, 1, ${Date.now() - 120_000} from generate_series(1, 1500) n`;
  await sql`insert into limits values ('ended', 1, ${Date.now() - 1000}), ('new', 1, ${Date.now() + 1000})`;
  await sql`insert into taken values ('\\x00', now() - interval '2 minutes'), ('\\x01', now() - interval '1 second')`;
  await prune(db, { ...RETENTION, idempotencyTtlSeconds: 1, tombstoneTtlSeconds: 1 });
  t.same([...(await sql`select key from limits order by key`)], [{ key: 'ended' }, { key: 'new' }]);
  t.same([...(await sql`select encode(hash, 'hex') as hash from taken`)], [{ hash: '01' }]);
});
