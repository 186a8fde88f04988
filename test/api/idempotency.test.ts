import { connect } from '../../src/db/db.js';
import { prune } from '../../src/db/maintenance.js';
import { LOCKS } from '../support/citus.js';
import { onlyBuiltIn } from '../support/names.js';
import { startProcess } from '../support/process.js';
import { RETENTION, send, testDatabase, testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

const keyed = (key: string) => ({ 'idempotency-key': key });

t.test('a repeat gets the stored response', async (t) => {
  const { send } = await testService(t);
  const post = () => send('POST', '/items', { headers: keyed('"a b"'), body: { name: 'once' } });
  const first = await post();
  t.equal(first.status, 201);
  t.equal(first.headers['idempotency-replayed'], undefined);
  for (let n = 0; n < 3; n++) {
    const again = await post();
    t.equal(again.status, 201);
    t.equal(again.text, first.text);
    for (const name of ['location', 'etag', 'content-type', 'last-modified'] as const)
      t.equal(again.headers[name], first.headers[name]);
    t.equal(again.headers['idempotency-replayed'], 'true');
  }
  t.equal((await send('GET', '/items')).json.meta.total, 1);

  const path = first.headers.location!;
  const patch = () =>
    send('PATCH', path, {
      headers: keyed('p'),
      type: 'application/json-patch+json',
      body: [{ op: 'add', path: '/list', value: [] }],
    });
  const patched = await patch();
  t.match(patched.json, { _version: 2 });
  t.equal((await patch()).text, patched.text);
  t.equal((await send('GET', path)).json._version, 2, 'applied once');

  const user = await send('POST', '/users', {
    headers: keyed('u'),
    body: { email: 'k@example.org', name: 'K', password: 'correct horse' },
  });
  const nested = () =>
    send('POST', `/users/${user.json.id}/posts`, {
      headers: { ...keyed('n'), prefer: 'return=minimal' },
      body: { t: 1 },
    });
  t.match(await nested(), { status: 201, text: '' });
  t.match(await nested(), {
    status: 201,
    text: '',
    headers: { 'idempotency-replayed': 'true', 'preference-applied': 'return=minimal' },
  });
  t.equal((await send('GET', '/posts')).json.length, 1);
});

t.test('the key is a quoted string or a bare one', async (t) => {
  const { send } = await testService(t);
  const post = (key: string) => send('POST', '/items', { headers: keyed(key), body: { name: 'x' } });
  const first = await post('8e03978e-40d5-43dd-bc93-6894a57f9324');
  t.equal((await post('"8e03978e-40d5-43dd-bc93-6894a57f9324"')).text, first.text, 'one key in two forms');
  for (const bad of ['""', '"a', 'a b', 'a"b', 'x'.repeat(256), '"\\x"']) {
    t.match(await post(bad), { status: 400, json: { error: { code: 'BAD_REQUEST' } } }, bad.slice(0, 10));
  }
  t.equal((await post('x'.repeat(255))).status, 201);
  t.equal(
    (await send('GET', '/items', { headers: keyed('""') })).status,
    200,
    'of no concern to other methods',
  );
});

t.test('a different request under the same key is 422', async (t) => {
  const { send } = await testService(t);
  const { headers } = await send('POST', '/items', { headers: keyed('k'), body: { name: 'x' } });
  const refused = { status: 422, json: { error: { code: 'IDEMPOTENCY_KEY_REUSED' } } };
  t.match(
    await send('POST', '/items', { headers: keyed('k'), body: { name: 'y' } }),
    refused,
    'another body',
  );
  t.match(
    await send('POST', '/posts', { headers: keyed('k'), body: { name: 'x' } }),
    refused,
    'another path',
  );
  t.match(
    await send('PATCH', headers.location!, { headers: keyed('k'), body: { name: 'x' } }),
    refused,
    'another method',
  );
  t.equal(
    (await send('POST', '/api/v1/items', { headers: keyed('k'), body: { name: 'x' } })).status,
    201,
    'the same resource',
  );
});

t.test('what failed is not stored', async (t) => {
  const { send } = await testService(t);
  const post = (body: object) => send('POST', '/users', { headers: keyed('k'), body });
  t.equal((await post({ name: 'No address' })).status, 400);
  t.equal(
    (await post({ email: 'a@example.org', name: 'A' })).status,
    201,
    'the key is free for the corrected request',
  );
  const duplicate = () =>
    send('POST', '/users', { headers: keyed('t'), body: { email: 'a@example.org', name: 'B' } });
  t.equal((await duplicate()).status, 409);
  t.equal((await duplicate()).headers['idempotency-replayed'], undefined);
});

t.test('one still in flight is 409 with Retry-After', async (t) => {
  const service = await testService(t);
  const sql = sqlOf(t, service.databaseUrl);
  const { json } = await service.send('POST', '/items', { body: { name: 'x' } });
  const patch = () =>
    service.send('PATCH', `/items/${json.id}`, { headers: keyed('f'), body: { name: 'y' } });
  let first: ReturnType<typeof patch> | undefined;
  // While another session holds the record, the first request cannot end.
  await sql.begin(async (tx) => {
    await tx`select 1 from items where id = ${json.id} for update`;
    first = patch();
    for (;;) {
      const [row] = await tx`select count(*)::integer as n from ${tx(LOCKS)} where not granted`;
      if (row!.n > 0) break;
    }
    const second = await patch();
    t.match(second, {
      status: 409,
      headers: { 'retry-after': '1' },
      json: { error: { code: 'IDEMPOTENCY_KEY_IN_USE' } },
    });
  });
  t.equal((await first!).status, 200);
  t.match(await patch(), { status: 200, headers: { 'idempotency-replayed': 'true' } });
});

t.test('many at once through two services make one record', async (t) => {
  const databaseUrl = await testDatabase(t);
  const services = [
    await testService(t, { DATABASE_URL: databaseUrl }),
    await testService(t, { DATABASE_URL: databaseUrl }),
  ];
  const attempts = Array.from({ length: 30 }, (_, n) =>
    services[n % 2]!.send('POST', '/items', { headers: keyed('same'), body: { name: 'x' } }),
  );
  const responses = await Promise.all(attempts);
  const created = responses.filter(({ status }) => status === 201);
  t.ok(created.length > 0);
  t.equal(new Set(created.map(({ text }) => text)).size, 1);
  t.equal(responses.filter(({ status }) => status === 409).length, responses.length - created.length);
  t.equal((await services[0]!.send('GET', '/items')).json.meta.total, 1);
});

t.test(
  'a response that a crash lost is there for the retry',
  onlyBuiltIn('is about processes'),
  async (t) => {
    const databaseUrl = await testDatabase(t);
    const sql = sqlOf(t, databaseUrl);
    const survivor = await testService(t, { DATABASE_URL: databaseUrl });
    for (const name of ['stored', 'unknown']) {
      const service = startProcess(t, { DATABASE_URL: databaseUrl });
      const request = { headers: keyed(name), body: { name } };
      // The response is never read: whether it was sent makes no difference to the client.
      const lost = send(await service.ready(), 'POST', '/items', request).catch(() => undefined);
      const isStored = async () => (await sql`select from items where name = ${name}`).length === 1;
      if (name === 'stored') await until('the record is there', isStored);
      service.child.kill('SIGKILL');
      await service.ended;
      await lost;
      const retry = await until(
        'the request of the killed process has ended',
        () => survivor.send('POST', '/items', request),
        ({ status }) => status !== 409,
      );
      t.equal(retry.status, 201);
      if (name === 'stored') t.equal(retry.headers['idempotency-replayed'], 'true');
    }
    t.equal((await survivor.send('GET', '/items')).json.meta.total, 2, 'one record a key');
  },
);

t.test('a response is stored for IDEMPOTENCY_TTL and then removed', async (t) => {
  const { send, databaseUrl } = await testService(t, { IDEMPOTENCY_TTL: '100' });
  const sql = sqlOf(t, databaseUrl);
  const post = (key: string) => send('POST', '/items', { headers: keyed(key), body: { name: 'x' } });
  const first = await post('a');
  await post('b');
  await sql`update idempotency_keys set created_at = now() - interval '101 seconds' where key = 'a'`;
  const second = await post('a');
  t.equal(second.status, 201);
  t.not(second.text, first.text, 'past its time a key is new again');
  await sql`update idempotency_keys set created_at = now() - interval '101 seconds' where key = 'a'`;
  const db = connect(databaseUrl, {
    dbConnections: 1,
    dbSearches: 1,
    dbStreams: 1,
    queue: 10,
    dbTimeoutMs: 5000,
    tombstones: false,
    events: false,
  });
  t.teardown(() => db.close());
  await prune(db, { ...RETENTION, idempotencyTtlSeconds: 100, tombstoneTtlSeconds: 100 });
  t.same(
    (await sql`select key from idempotency_keys`).map(({ key }) => key),
    ['b'],
  );
});

t.test('tombstones respond with 410, also for what a cascade deleted', async (t) => {
  const databaseUrl = await testDatabase(t);
  const { url, db } = await testService(t, { DATABASE_URL: databaseUrl, TOMBSTONES: 'on' });
  const without = await testService(t, { DATABASE_URL: databaseUrl });
  const user = (await send(url, 'POST', '/users', { body: { email: 'g@example.org', name: 'G' } })).json;
  const post = (await send(url, 'POST', `/users/${user.id}/posts`, { body: {} })).json;
  t.equal((await send(url, 'DELETE', `/users/${user.id}`)).status, 204);
  const gone = { status: 410, json: { error: { code: 'GONE' } } };
  for (const path of [`/users/${user.id}`, `/posts/${post.id}`]) {
    t.match(await send(url, 'GET', path), gone);
    t.match(
      await send(url, 'PUT', path, { body: { email: 'g@example.org', name: 'G', userId: user.id } }),
      gone,
    );
    t.match(await send(url, 'PATCH', path, { body: { a: 1 } }), gone);
    t.equal((await send(url, 'DELETE', path)).status, 204);
    t.equal((await send(without.url, 'GET', path)).status, 404, 'a service without them says 404');
  }
  t.equal((await send(url, 'HEAD', `/users/${user.id}`)).status, 410);
  t.equal((await send(url, 'GET', '/users/01890000-0000-7000-8000-000000000000')).status, 404, 'never there');
  await db.run(`update tombstones set deleted_at = now() - interval '2 days'`, []);
  await prune(db, { ...RETENTION, idempotencyTtlSeconds: 1, tombstoneTtlSeconds: 86_400 });
  t.equal((await send(url, 'GET', `/users/${user.id}`)).status, 404, 'forgotten after its time');
  const item = (await send(without.url, 'POST', '/items', { body: { name: 'x' } })).json;
  await send(without.url, 'DELETE', `/items/${item.id}`);
  t.equal((await send(url, 'GET', `/items/${item.id}`)).status, 404, 'a service without them leaves none');
});

t.test('a repeated creation of a webhook, and of another secret, has no body', async (t) => {
  const { send } = await testService(t, { INSECURE: 'webhooks' });
  const post = (path: string, key: string, body?: object) =>
    send('POST', path, { headers: keyed(key), ...(body && { body }) });
  const hook = { url: 'https://example.org/hook', types: ['*'] };
  const first = await post('/webhooks', 'a', hook);
  t.match(first, { status: 201, json: { secret: /^whsec_/ } });
  const again = await post('/webhooks', 'a', hook);
  t.match(again, { status: 201, text: '', headers: { 'idempotency-replayed': 'true' } });
  t.equal(again.headers.location, first.headers.location);
  t.equal((await post('/webhooks', 'a', { ...hook, types: [] })).status, 422);
  const rotate = () => post(`${first.headers.location}/rotate`, 'b');
  t.match(await rotate(), { status: 200, json: { _version: 2 } });
  t.match(await rotate(), { status: 204, text: '' });
  const { data } = (await send('GET', '/webhooks')).json;
  t.match([data.length, data[0]._version], [1, 2]);
});
