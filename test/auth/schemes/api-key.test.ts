import { hashOf, isKey, newKey } from '../../../src/auth/credentials/api-key-format.js';
import { CredentialCache } from '../../../src/auth/credentials/credential-cache.js';
import type { Db, Row } from '../../../src/db/db.js';
import { createCredential, readCredentialInput } from '../../../src/features/keys/stored-keys.js';
import { makeKey } from '../../support/credentials.js';
import { mockClock } from '../../support/pause.js';
import { testProxy } from '../../support/proxy.js';
import { testDatabase, testService } from '../../support/service.js';
import { openSql, SCHEMA, sqlOf } from '../../support/sql.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';

const AUTH = { AUTH: 'api-key', AUTH_FAILURES: '0' };
const by = (key: string) => ({ headers: { 'x-api-key': key } });

t.test('a key is long, random and tells slips of the pen', async (t) => {
  const keys = Array.from({ length: 500 }, newKey);
  t.equal(new Set(keys).size, keys.length);
  for (const key of keys) t.ok(/^plinth_[0-9A-Za-z]{38}$/.test(key) && isKey(key), key);
  const used = new Set(keys.join('').replaceAll('plinth_', ''));
  t.equal(used.size, 62, 'every digit comes');
  const [key] = keys as [string];
  for (let at = 0; at < key.length; at++) {
    const other = key[at] === 'x' ? 'y' : 'x';
    t.notOk(isKey(key.slice(0, at) + other + key.slice(at + 1)), `another character ${at}`);
  }
  for (const text of ['', 'plinth_', key.slice(1), `${key}0`, key.slice(0, -1), ` ${key}`, `${key}\n`])
    t.notOk(isKey(text), JSON.stringify(text));
  t.ok(
    isKey('plinth_000000000000000000000000000000001sZ5xY'),
    'a key in use stays valid: the checksum does not change',
  );
});

t.test('a key is accepted as X-API-Key and as a Bearer token', async (t) => {
  const { db, send } = await testService(t, AUTH);
  const expires = new Date(Date.now() + 3_600_000).toISOString();
  const { key } = await makeKey(db, { subject: 'bob', scopes: ['items:read', 'self'], expires_at: expires });
  const bob = { subject: 'bob', scopes: ['items:read', 'self'], scheme: 'api-key', expires_at: expires };
  for (const headers of [
    { 'x-api-key': key },
    { authorization: `Bearer ${key}` },
    { authorization: `bearer  ${key}` },
  ])
    t.match(await send('GET', '/whoami', { headers }), { status: 200, json: bob });
  t.equal((await send('GET', '/items', by(key))).status, 200);
  t.equal((await send('GET', '/users', by(key))).status, 403);
  t.equal((await send('POST', '/items', { ...by(key), body: { name: 'x' } })).status, 403);
});

t.test('an invalid key is a 401 with a challenge, which does not repeat it', async (t) => {
  const { db, send } = await testService(t, AUTH);
  const { key } = await makeKey(db);
  const slip = key.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'));
  for (const headers of [
    {},
    { 'x-api-key': '' },
    { 'x-api-key': 'x'.repeat(8000) },
    { 'x-api-key': slip },
    { 'x-api-key': newKey() },
    { authorization: `Bearer ${slip}` },
    { authorization: 'Bearer abc' },
    { authorization: `Basic ${key}` },
  ]) {
    const response = await send('GET', '/whoami', { headers });
    t.equal(response.status, 401, JSON.stringify(headers).slice(0, 80));
    t.equal(response.headers['www-authenticate'], 'ApiKey realm="plinth", header="X-API-Key"');
    t.notMatch(response.text, /plinth_/);
  }
  t.equal((await send('GET', `/whoami?k=${key}`)).status, 400, 'in the query');
  const both = { 'x-api-key': key, authorization: `Bearer ${key}` };
  t.equal((await send('GET', '/whoami', { headers: both })).status, 400, 'two at once');
});

t.test('only the SHA-256 of a key is stored', async (t) => {
  const { db, send, databaseUrl } = await testService(t, AUTH);
  const admin = await makeKey(db);
  const headers = { 'x-api-key': admin.key, 'idempotency-key': 'k1' };
  const body = { label: 'l', subject: 's', scopes: ['self'] };
  const { key } = (await send('POST', '/keys', { headers, body })).json;
  const sql = sqlOf(t, databaseUrl);
  const tables =
    await sql`select table_name from information_schema.tables where table_schema in ('public', ${SCHEMA})`;
  for (const { table_name } of tables)
    t.same([...(await sql`select 1 from ${sql(table_name)} t where t::text like ${`%${key}%`}`)], []);
  const [stored] = await sql`select encode(hash, 'base64') as hash from credentials where label = 'l'`;
  t.equal(stored!.hash, hashOf(key));
});

t.test('an expired key is refused, also one that is cached', async (t) => {
  const { db, send } = await testService(t, AUTH);
  const { input, key } = readCredentialInput({ label: 'l', subject: 's', scopes: ['self'] }, ['self']);
  await createCredential(db, { ...input, expires: Date.now() - 1 });
  t.equal((await send('GET', '/whoami', by(key!))).status, 401);

  const soon = readCredentialInput({ label: 'l', subject: 's', scopes: ['self'] }, ['self']);
  const clock = mockClock(t);
  await createCredential(db, { ...soon.input, expires: clock.ms + 700 });
  const status = async () => (await send('GET', '/whoami', by(soon.key!))).status;
  t.equal(await status(), 200);
  clock.ms += 699;
  t.equal(await status(), 200);
  clock.ms++;
  t.equal(await status(), 401);
});

t.test('the last use is written down, at most once a minute', async (t) => {
  const { db, send, databaseUrl } = await testService(t, AUTH);
  const second = await testService(t, { ...AUTH, DATABASE_URL: databaseUrl });
  const { id, key } = await makeKey(db);
  const sql = sqlOf(t, databaseUrl);
  const lastUsed = async () => {
    const [row] =
      await sql`select last_used_at::text as at, xmin::text as row from credentials where id = ${id}`;
    return row as { at: string | null; row: string };
  };
  t.equal((await lastUsed()).at, null);
  await send('GET', '/whoami', by(key));
  const first = await lastUsed();
  t.not(first.at, null);
  await second.send('GET', '/whoami', by(key));
  await send('GET', '/whoami', by(key));
  t.same(await lastUsed(), first, 'not again, nor by another process');

  const third = await testService(t, { ...AUTH, DATABASE_URL: databaseUrl });
  await sql`update credentials set last_used_at = now() - interval '61 seconds' where id = ${id}`;
  const before = await lastUsed();
  await third.send('GET', '/whoami', by(key));
  t.not((await lastUsed()).at, before.at, 'a minute later');
});

t.test('a key that is revoked is refused at once here, and in every other service', async (t) => {
  const one = await testService(t, AUTH);
  const two = await testService(t, { ...AUTH, DATABASE_URL: one.databaseUrl });
  const admin = await makeKey(one.db);
  const { id, key } = await makeKey(one.db);
  for (const { send } of [one, two]) t.equal((await send('GET', '/whoami', by(key))).status, 200);
  t.equal((await one.send('DELETE', `/keys/${id}`, by(admin.key))).status, 204);
  t.equal((await one.send('GET', '/whoami', by(key))).status, 401);
  await until('the other refuses it', async () => (await two.send('GET', '/whoami', by(key))).status, 401);
});

t.test('a change of scopes by hand counts as well', async (t) => {
  const { db, send, databaseUrl } = await testService(t, AUTH);
  const { id, key } = await makeKey(db);
  t.equal((await send('GET', '/users', by(key))).status, 200);
  const sql = openSql(databaseUrl, { max: 1 });
  await sql`update credentials set scopes = '{items:read}' where id = ${id}`;
  await sql.end();
  await until('it counts', async () => (await send('GET', '/users', by(key))).status, 403);
});

t.test('a loss of the database gives no stale yes: 503, and then what holds by now', async (t) => {
  const databaseUrl = await testDatabase(t);
  const proxy = await testProxy(t, databaseUrl);
  const { db, send } = await testService(t, { ...AUTH, DATABASE_URL: proxy.url });
  const { id, key } = await makeKey(db);
  const status = async () => (await send('GET', '/whoami', by(key))).status;
  t.equal(await status(), 200);
  proxy.cut();
  const sql = openSql(databaseUrl, { max: 1 });
  await sql`delete from credentials where id = ${id}`;
  await sql.end();
  await until('the loss shows', status, (seen) => seen === 503);
  await proxy.restore();
  t.equal(await until('it is back', status, (found) => found !== 503), 401);
});

/** A database that records queries with their hashes, and responds when the test calls them. */
function fakeDb() {
  const queries: ((rows: Row[]) => void)[] = [];
  const hashes: string[][] = [];
  const run = (_: string, [given]: [string]) => {
    hashes.push(JSON.parse(given));
    return new Promise<Row[]>((resolve) => queries.push(resolve));
  };
  return { db: { run } as unknown as Db, queries, hashes };
}

const ROW = { hash: 'h', kind: 'key', subject: 's', scopes: 'a b', expires: null };

t.test('concurrent lookups share a statement until a revocation', async (t) => {
  const { db, queries } = fakeDb();
  let now = 0;
  const cache = new CredentialCache(db, () => now);
  const all = [cache.find('key', 'h'), cache.find('key', 'h'), cache.find('key', 'h')];
  t.equal(queries.length, 1);
  cache.forget('h');
  const late = cache.find('key', 'h');
  t.equal(queries.length, 2);
  queries[0]!([ROW]);
  t.match(await Promise.all(all), [{ subject: 's' }, { subject: 's' }, { subject: 's' }]);
  queries[1]!([]);
  t.equal(await late, undefined);
  const next = cache.find('key', 'h');
  // Neither the result from before the revocation nor an unknown credential is cached.
  t.equal(queries.length, 3);
  now = 1000;
  const patient = cache.find('key', 'h');
  t.equal(queries.length, 4, 'a statement that began a second ago is not shared');
  for (const resolve of queries) resolve([ROW]);
  t.match(await Promise.all([next, patient]), [{ subject: 's' }, { subject: 's' }]);
});

t.test(
  'credentials in use are looked up together, and remain one object while they are unchanged',
  async (t) => {
    const { db, queries, hashes } = fakeDb();
    let now = 0;
    const cache = new CredentialCache(db, () => now);
    const names = ['h', 'used', 'revoked', 'forgotten', 'idle'];
    const row = (hash: string, scopes = 'a b') => ({ ...ROW, hash, scopes });
    const first = names.map((hash) => cache.find('key', hash));
    for (const [at, resolve] of queries.entries()) resolve([row(names[at]!)]);
    const [principal, used] = await Promise.all(first);
    now = 499;
    await cache.find('key', 'idle');
    now = 500;
    for (const hash of names.slice(0, -1)) await cache.find('key', hash);
    t.equal(queries.length, 5, 'all are fresh');
    now = 1000;
    const again = cache.find('key', 'h');
    t.same(hashes[5], ['h', 'used', 'revoked', 'forgotten'], 'those used after half of the second');
    cache.forget('forgotten');
    queries[5]!([row('h'), row('used'), row('forgotten')]);
    t.equal(await again, principal);
    t.equal(await cache.find('key', 'used'), used);
    t.equal(queries.length, 6, 'without a statement of its own');
    for (const [at, hash] of ['revoked', 'forgotten', 'idle'].entries()) {
      const found = cache.find('key', hash);
      t.same(hashes[6 + at], [hash]);
      queries[6 + at]!([]);
      t.equal(await found, undefined);
    }
    now = 2000;
    const changed = cache.find('key', 'h');
    queries[9]!([row('h', 'a')]);
    t.same((await changed)?.scopes, new Set(['a']));
  },
);

t.test('keys are managed over HTTP', async (t) => {
  const { db, send } = await testService(t, AUTH);
  const admin = by((await makeKey(db)).key);
  const expires = new Date(Date.now() + 3_600_000).toISOString();
  const body = { label: ' ci ', subject: 'bob', scopes: ['items:read'], expires_at: expires };
  const made = await send('POST', '/keys', { ...admin, body });
  t.match(made, {
    status: 201,
    headers: { 'cache-control': 'no-store', location: `/keys/${made.json.id}` },
    json: { kind: 'key', label: 'ci', subject: 'bob', scopes: ['items:read'], expires_at: expires },
  });
  const { key, ...rest } = made.json;
  t.ok(isKey(key));
  t.equal((await send('GET', '/items', by(key))).status, 200);
  const read = await send('GET', `/keys/${made.json.id}`, admin);
  t.match(read, { status: 200, headers: { 'cache-control': 'no-store' } });
  t.same({ ...read.json, last_used_at: null }, rest, 'without the key');
  t.type(read.json.last_used_at, 'string');
  const list = await send('GET', '/api/v1/keys', admin);
  t.match(list.json, { data: [{ id: rest.id }, { label: 'test' }], links: { next: null } });
  t.notMatch(list.text, key);
  t.equal((await send('HEAD', '/keys', admin)).status, 200);
  t.equal((await send('DELETE', `/keys/${rest.id}`, admin)).status, 204);
  t.equal((await send('DELETE', `/keys/${rest.id}`, admin)).status, 204, 'again');
  t.equal((await send('GET', `/keys/${rest.id}`, admin)).status, 404);
  t.equal((await send('GET', '/keys/nothing', admin)).status, 404);
  t.equal((await send('GET', '/keys?after=nothing', admin)).status, 400);
});

t.test('a list has a thousand at most, and leads on', async (t) => {
  const { db, send, databaseUrl } = await testService(t, AUTH);
  const { id, key } = await makeKey(db);
  const sql = openSql(databaseUrl, { max: 1 });
  await sql`
    insert into credentials (id, kind, hash, label, subject, scopes)
    select lpad(n::text, 32, '0')::uuid, 'key', sha256(n::text::bytea), 'l', 's', '{self}' from generate_series(1, 1002) n`;
  await sql.end();
  const first = (await send('GET', '/keys', by(key))).json;
  t.equal(first.data.length, 1000);
  t.equal(first.data[0].id, id, 'the newest first');
  const second = (await send('GET', first.links.next, by(key))).json;
  t.match([second.data.length, second.links], [3, { next: null, first: '/keys' }]);
  t.equal(new Set([...first.data, ...second.data].map((entry: { id: string }) => entry.id)).size, 1003);
});

t.test('only admin manages keys, and not in a batch', async (t) => {
  const { db, send } = await testService(t, AUTH);
  const admin = await makeKey(db);
  const { key } = await makeKey(db, { subject: admin.id, scopes: ['self', 'users:write', 'keys:write'] });
  const body = { label: 'l', subject: 's', scopes: ['admin'] };
  for (const [method, path] of [
    ['GET', '/keys'],
    ['POST', '/keys'],
    ['GET', `/keys/${admin.id}`],
    ['DELETE', `/keys/${admin.id}`],
  ] as const) {
    const options = method === 'POST' ? { body } : {};
    t.equal((await send(method, path, { ...options, ...by(key) })).status, 403, `${method} ${path}`);
    t.equal((await send(method, path, options)).status, 401, `${method} ${path}`);
  }
  t.equal((await send('GET', '/whoami', by(admin.key))).status, 200, 'it is still there');
  for (const operation of [
    { method: 'POST', path: '/keys', body },
    { method: 'DELETE', path: `/keys/${admin.id}` },
    { method: 'GET', path: '/keys' },
  ]) {
    const response = await send('POST', '/batch', { ...by(admin.key), body: { operations: [operation] } });
    t.match(response, { status: 400, text: /A batch cannot manage keys/ }, operation.method);
  }
  t.equal((await send('GET', '/keys', by(admin.key))).json.data.length, 2, 'nothing was made');
});

t.test('without keys and certificates there is no such path', async (t) => {
  const { send } = await testService(t);
  t.equal((await send('GET', '/keys')).status, 404);
});

t.test('what a key is made of is checked', async (t) => {
  const { db, send } = await testService(t, AUTH);
  const admin = by((await makeKey(db)).key);
  const valid = { label: 'l', subject: 's', scopes: ['self'] };
  const cases: [unknown, string][] = [
    [[], ''],
    [{ subject: 's', scopes: ['self'] }, '/label'],
    [{ ...valid, label: ' ' }, '/label'],
    [{ ...valid, label: 'x'.repeat(201) }, '/label'],
    [{ ...valid, subject: '' }, '/subject'],
    [{ ...valid, scopes: [] }, '/scopes'],
    [{ ...valid, scopes: 'self' }, '/scopes'],
    [{ ...valid, scopes: ['a b'] }, '/scopes/0'],
    [{ ...valid, scopes: ['a,b'] }, '/scopes/0'],
    [{ ...valid, scopes: Array.from({ length: 51 }, (_, at) => `s${at}`) }, '/scopes'],
    [{ ...valid, expires_at: 'soon' }, '/expires_at'],
    [{ ...valid, expires_at: '2020-01-01T00:00:00Z' }, '/expires_at'],
    [{ ...valid, expires_at: 1 }, '/expires_at'],
    [{ ...valid, certificate: 'x' }, '/certificate'],
    [{ ...valid, key: 'plinth_x' }, '/key'],
    [{ ...valid, scopes: ['item:read'] }, '/scopes/0'],
  ];
  for (const [body, path] of cases) {
    const response = await send('POST', '/keys', { ...admin, body });
    t.equal(response.status, 400, JSON.stringify(body).slice(0, 80));
    t.equal(response.json.errors[0].path, path);
  }
  t.equal((await send('GET', '/keys', admin)).json.data.length, 1, 'none was made');
});

t.test('a query of question marks is looked at once', async (t) => {
  const { send } = await testService(t, { AUTH: 'api-key' });
  const target = `/whoami${'?'.repeat(8180)}`;
  t.equal((await send('GET', target)).status, 401);
  t.equal((await send('GET', `${target.slice(0, 8100)}a=Plinth_`)).status, 400, 'a key at its end');
  for (const query of ['a=1&API_KEY=x', 'a?x-api-key=', 'access_token=', 'a=plinth_x', '&&apikey=1'])
    t.equal((await send('GET', `/whoami?${query}`)).status, 400, query);
  for (const query of ['access_token', 'apikeys=1', 'a=xplinth_', 'plinth_=1', 'a==plinth_'])
    t.equal((await send('GET', `/whoami?${query}`)).status, 401, query);
});
