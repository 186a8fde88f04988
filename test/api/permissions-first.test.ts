import type postgres from 'postgres';
import { CITUS_URL } from '../support/citus.js';
import { makeKey } from '../support/credentials.js';
import { SIGN_IN } from '../support/names.js';
import { type SendOptions, testService, withoutRequestId } from '../support/service.js';
import { sign } from '../support/signed.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

const ABSENT = '01890000-0000-7000-8000-000000000000';
const TYPES = ['application/json', 'application/merge-patch+json', 'application/json-patch+json'];

/** A service with two users and a post of each; `as` sends with a key of these scopes and this subject. */
async function setup(t: Test, env: Record<string, string> = {}) {
  const open = await testService(t, { AUTH: 'none' });
  const service = await testService(t, { DATABASE_URL: open.databaseUrl, AUTH: 'api-key', ...env });
  const create = async (path: string, body: object) =>
    (await open.send('POST', path, { body })).json.id as string;
  const ada = await create('/users', { email: 'ada@example.org', name: 'Ada' });
  const eve = await create('/users', { email: 'eve@example.org', name: 'Eve' });
  const adasPost = await create('/posts', { userId: ada, title: 'mine' });
  const evesPost = await create('/posts', { userId: eve, title: 'hers' });
  const keyFor = async (subject: string, ...scopes: string[]) => {
    const { key } = await makeKey(service.db, { subject, scopes });
    return (method: string, path: string, { headers, ...options }: SendOptions = {}) =>
      service.send(method, path, { ...options, headers: { ...headers, 'x-api-key': key } });
  };
  const sql = sqlOf(t, open.databaseUrl, { max: 2 });
  return { open, service, sql, keyFor, ada, eve, adasPost, evesPost };
}

/** Runs `work` while another session holds the lock of a row. */
async function whileLocked<T>(
  sql: postgres.Sql,
  table: string,
  id: string,
  work: () => Promise<T>,
): Promise<T> {
  return (await sql.begin(async (tx) => {
    if (CITUS_URL === '') await tx`select 1 from ${tx(table)} where id = ${id} for update`;
    else await tx`select lock_record(${table}, ${id})`;
    return await work();
  })) as T;
}

const patchOf = (path: string) => ({ method: 'PATCH', path, body: { title: 'changed' } });

t.test('a batch without permission locks nothing of other users', async (t) => {
  const { sql, open, keyFor, ada, eve, evesPost } = await setup(t);
  const self = await keyFor(ada, 'self');
  const second = (await open.send('POST', '/posts', { body: { userId: eve } })).json.id;
  const body = [
    { method: 'PATCH', path: `/users/${ada}`, body: { age: 7 } },
    patchOf(`/posts/${evesPost}`),
    patchOf(`/posts/${second}`),
  ];
  let batch: ReturnType<typeof self> | undefined;
  await whileLocked(sql, 'users', ada, async () => {
    let ended = false;
    batch = self('POST', '/batch', { body }).finally(() => {
      ended = true;
    });
    await until('the batch has ended or waits for the lock of its first record', async () => {
      const [waiting] = await sql`select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      return ended || waiting !== undefined;
    });
    const changed = await open.send('PATCH', `/posts/${evesPost}`, {
      body: { title: 'by an administrator' },
    });
    t.equal(changed.status, 200, 'another write is not held up');
  });
  t.match(await batch, { status: 404, json: { error: { details: { operation: 1 } } } });
});

t.test('a caller without permission does not wait for the lock of a record of another user', async (t) => {
  const { sql, keyFor, ada, adasPost, evesPost } = await setup(t);
  const self = await keyFor(ada, 'self');
  await whileLocked(sql, 'posts', evesPost, async () => {
    const body = [patchOf(`/posts/${adasPost}`), patchOf(`/posts/${evesPost}`)];
    t.match(await self('POST', '/batch', { body }), {
      status: 404,
      json: { error: { details: { operation: 1 } } },
    });
    t.equal((await self('PATCH', `/posts/${evesPost}`, { body: {} })).status, 404);
    t.equal((await self('GET', `/posts/${evesPost}`)).status, 404);
    t.equal((await self('DELETE', `/posts/${evesPost}`)).status, 204);
  });
});

const withPassword = (n: number) => ({
  method: 'POST',
  path: '/users',
  body: { email: `p${n}@example.org`, name: 'P', password: `a long phrase number ${n}` },
});

t.test('a batch has ten operations with a password at most', SIGN_IN, async (t) => {
  const { send } = await testService(t);
  const password = 'correct horse battery staple';
  const many = (count: number) => Array.from({ length: count }, (_, n) => withPassword(n));
  const setting = (id: string) => [
    { method: 'PUT', path: `/users/${id}`, body: { email: 'p0@example.org', name: 'P', password } },
    { method: 'PATCH', path: `/users/${id}`, body: { password } },
    {
      method: 'PATCH',
      path: `/users/${id}`,
      headers: { 'content-type': 'application/json-patch+json' },
      body: [{ op: 'add', path: '/password', value: password }],
    },
  ];
  const body = [...many(8), ...setting('01900000-0000-7000-8000-000000000000')];
  for (const [says, operations] of [
    ['creations', many(11)],
    ['changes', body],
  ] as const) {
    const { status, json } = await send('POST', '/batch', { body: operations });
    t.equal(status, 400, says);
    t.match(json.errors, [{ keyword: 'maxItems', message: /more than 10 operations with a password/ }], says);
  }
  t.same((await send('GET', '/users')).json, []);
  const others = Array.from({ length: 20 }, (_, n) => ({
    method: 'POST',
    path: '/items',
    body: { name: `i${n}` },
  }));
  t.equal((await send('POST', '/batch', { body: [...many(10), ...others] })).status, 200);
});

t.test('passwords are hashed before a transaction begins', SIGN_IN, async (t) => {
  const { send } = await testService(t, { DB_CONNECTIONS: '1' });
  const order: string[] = [];
  const note = (name: string) => async (response: Promise<{ status: number }>) => {
    t.equal((await response).status < 300, true, name);
    order.push(name);
  };
  const hashing = note('hashing')(
    send('POST', '/batch', { body: Array.from({ length: 8 }, (_, n) => withPassword(n)) }),
  );
  await note('other')(
    send('POST', '/batch', { body: [{ method: 'POST', path: '/items', body: { name: 'x' } }] }),
  );
  await hashing;
  t.same(order, ['other', 'hashing'], 'the only connection for transactions is free meanwhile');
});

t.test('a password goes with its record in a batch and under a key, by every write', SIGN_IN, async (t) => {
  const { send, db } = await testService(t);
  const hashes = async () =>
    new Map(
      (await db.run('select user_id::text as id, hash from passwords', [])).map((row) => [row.id, row.hash]),
    );
  const key = { 'idempotency-key': 'one' };
  const { body } = withPassword(1);
  const first = await send('POST', '/users', { headers: key, body });
  t.equal(first.status, 201);
  const before = (await hashes()).get(first.json.id);
  t.equal((await send('POST', '/users', { headers: key, body })).text, first.text);
  t.equal((await hashes()).get(first.json.id), before, 'a repeat sets nothing');
  const path = `/users/${first.json.id}`;
  let last = before;
  const changes = async (what: string, status: number) => {
    const now = (await hashes()).get(first.json.id);
    t.equal(status, 200, what);
    t.not(now, last, what);
    last = now;
  };
  for (const [n, type] of TYPES.entries()) {
    const password = `another phrase ${n}`;
    const patch = n === 2 ? [{ op: 'add', path: '/password', value: password }] : { password };
    const headers = { 'content-type': type };
    const operation = { method: 'PATCH', path, headers, body: patch };
    await changes(type, (await send('POST', '/batch', { body: [operation] })).status);
    const keyed = { ...headers, 'idempotency-key': `k${n}` };
    await changes(
      `${type} with a key`,
      (await send('PATCH', path, { type, headers: keyed, body: patch })).status,
    );
  }
  const put = { method: 'PUT', path, body: { ...body, password: 'the last phrase' } };
  await changes('PUT', (await send('POST', '/batch', { body: [put] })).status);
  const moved = [
    { op: 'add', path: '/hint', value: 'a phrase to move' },
    { op: 'move', from: '/hint', path: '/password' },
  ];
  const type = 'application/json-patch+json';
  t.equal((await send('PATCH', path, { type, body: moved })).status, 200);
  const inBatch = { method: 'PATCH', path, headers: { 'content-type': type }, body: moved };
  t.match(await send('POST', '/batch', { body: [inBatch] }), {
    status: 422,
    json: { error: { code: 'UNPROCESSABLE_PATCH', details: { operation: 0 } } },
  });
  const short = { ...withPassword(2), body: { ...withPassword(2).body, password: 'short' } };
  t.match(await send('POST', '/batch', { body: [withPassword(3), short] }), {
    status: 400,
    json: { error: { code: 'VALIDATION_ERROR', details: { operation: 1 } } },
  });
});

t.test('a stored response goes only to callers who may still send the request', async (t) => {
  const { keyFor, open, ada, eve, adasPost } = await setup(t);
  const strong = await keyFor(ada, 'users:read', 'posts:write', 'items:write');
  const weak = await keyFor(ada, 'items:read', 'posts:read');
  const self = await keyFor(ada, 'self');
  const keyed = (key: string, body: unknown) => ({ headers: { 'idempotency-key': key }, body });
  const batch = keyed('b', [
    { method: 'GET', path: `/users/${eve}` },
    { method: 'POST', path: '/items', body: { name: 'x' } },
  ]);
  const first = await strong('POST', '/batch', batch);
  t.equal(first.status, 200);
  t.equal((await strong('POST', '/batch', batch)).text, first.text);
  t.match(await weak('POST', '/batch', batch), {
    status: 403,
    json: { error: { code: 'INSUFFICIENT_SCOPE', details: { operation: 0 } } },
  });
  t.equal((await self('POST', '/batch', batch)).status, 403);

  const foreign = keyed('f', { userId: eve, title: 'for another' });
  t.equal((await strong('POST', '/posts', foreign)).status, 201);
  t.match(await self('POST', '/posts', foreign), { status: 201, text: '' }, 'without the record of another');

  const patch = keyed('p', { title: 'changed' });
  t.equal((await self('PATCH', `/posts/${adasPost}`, patch)).status, 200);
  t.equal((await self('PATCH', `/posts/${adasPost}`, patch)).headers['idempotency-replayed'], 'true');
  const inBatch = keyed('pb', [patchOf(`/posts/${adasPost}`)]);
  t.equal((await self('POST', '/batch', inBatch)).status, 200);
  t.equal((await self('POST', '/batch', inBatch)).headers['idempotency-replayed'], 'true');
  t.equal((await open.send('PATCH', `/posts/${adasPost}`, { body: { userId: eve } })).status, 200);
  t.match(await self('PATCH', `/posts/${adasPost}`, patch), { status: 204, text: '' }, 'no longer its own');
  t.match((await self('POST', '/batch', inBatch)).json.results, [{ status: 204, body: undefined }]);
});

t.test('self: a foreign parent is 422 whether it exists or not', async (t) => {
  const { keyFor, ada, eve, adasPost, open } = await setup(t);
  const self = await keyFor(ada, 'self');
  const path = `/posts/${adasPost}`;
  let keys = 0;
  const same = async (what: string, ask: (userId: unknown) => ReturnType<typeof self>) => {
    const known = await ask(eve);
    t.equal(known.status, 422, what);
    for (const userId of [ABSENT, 'nobody']) {
      const { status, text } = await ask(userId);
      t.same(
        [status, withoutRequestId(text)],
        [known.status, withoutRequestId(known.text)],
        `${what}: ${userId}`,
      );
    }
  };
  const kinds: [method: string, type: string, body: (userId: unknown) => unknown][] = [
    ['PUT', 'application/json', (userId) => ({ userId })],
    ['PATCH', 'application/json', (userId) => ({ userId })],
    ['PATCH', 'application/merge-patch+json', (userId) => ({ userId })],
    ['PATCH', 'application/json-patch+json', (userId) => [{ op: 'replace', path: '/userId', value: userId }]],
  ];
  for (const [method, type, body] of kinds) {
    const what = `${method} ${type}`;
    await same(what, (userId) => self(method, path, { type, body: body(userId) }));
    await same(`${what} with a key`, (userId) =>
      self(method, path, { type, headers: { 'idempotency-key': `s${keys++}` }, body: body(userId) }),
    );
    await same(`${what} in a batch`, (userId) =>
      self('POST', '/batch', {
        body: [{ method, path, headers: { 'content-type': type }, body: body(userId) }],
      }),
    );
  }
  await same('POST', (userId) => self('POST', '/posts', { body: { userId } }));
  await same('POST in a batch', (userId) =>
    self('POST', '/batch', { body: [{ method: 'POST', path: '/posts', body: { userId } }] }),
  );
  t.equal((await open.send('GET', path)).json._version, 1, 'nothing was written');
  t.equal((await self('PUT', path, { body: { userId: ada.toUpperCase(), title: 'own' } })).status, 200);
});

t.test('a subject of any length and any characters can use an Idempotency-Key', async (t) => {
  const subjects = ['x'.repeat(20_000), `${'x'.repeat(19_999)}y`, 'a\u0000b', 'ab', '\ud800', '\ud801'];
  const { service } = await setup(t);
  const secrets = subjects.map((subject, n) => ({
    id: `k${n}`,
    secret: 's'.repeat(32) + n,
    subject,
    scopes: ['admin'],
  }));
  const { send } = await testService(t, {
    DATABASE_URL: service.databaseUrl,
    AUTH: 'signature',
    SIGNING_SECRETS: JSON.stringify(secrets),
  });
  const ids = new Set<string>();
  for (const { id, secret } of secrets) {
    for (const time of [0, 100]) {
      const body = JSON.stringify({ name: 'x' });
      const headers = { ...sign(id, secret, 'POST', '/items', body, time), 'idempotency-key': 'same' };
      const response = await send('POST', '/items', { body, type: 'application/json', headers });
      t.equal(response.status, 201, response.text);
      t.equal(response.headers['idempotency-replayed'], time === 0 ? undefined : 'true');
      ids.add(response.json.id);
    }
  }
  t.equal(ids.size, subjects.length, 'each subject has its own keys');
});
