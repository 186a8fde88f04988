import { testService } from '../support/service.js';
import t from '../support/test.js';

t.test('a batch responds to each operation in order, in one transaction', async (t) => {
  const { send } = await testService(t);
  const user = (await send('POST', '/users', { body: { email: 'b@example.org', name: 'B' } })).json;
  const path = `/users/${user.id}`;
  const operations = [
    { method: 'POST', path: '/items', body: { name: 'one', price: 1 } },
    { method: 'POST', path: '/api/v1/items', body: { name: 'two' }, headers: { Prefer: 'return=minimal' } },
    { method: 'PATCH', path, body: { a: { b: 1 } }, headers: { 'If-Match': '"1"' } },
    {
      method: 'PATCH',
      path,
      body: [{ op: 'add', path: '/list', value: [1] }],
      headers: { 'content-type': 'application/json-patch+json' },
    },
    { method: 'GET', path },
    { method: 'GET', path, headers: { 'if-none-match': '"3"' } },
    { method: 'GET', path, headers: { accept: 'text/csv' } },
    { method: 'GET', path: '/items?page=1&limit=1' },
    { method: 'POST', path: `${path}/posts`, body: { title: 'nested' } },
    { method: 'PUT', path, body: { email: 'b@example.org', name: 'Bee', _version: 3 } },
    { method: 'OPTIONS', path },
    { method: 'DELETE', path },
    { method: 'DELETE', path },
  ];
  for (const base of ['', '/api/v1'])
    t.equal((await send('OPTIONS', `${base}/batch`)).headers.allow, 'POST, OPTIONS');
  const { status, json } = await send('POST', '/api/v1/batch', { body: { operations } });
  t.equal(status, 200);
  t.match(json.results, [
    {
      status: 201,
      headers: { location: /^\/items\//, etag: '"1"' },
      body: { name: 'one', price: 1, _links: {} },
    },
    { status: 201, headers: { 'preference-applied': 'return=minimal' } },
    { status: 200, headers: { etag: '"2"' }, body: { a: { b: 1 } } },
    { status: 200, body: { list: [1], _version: 3 } },
    { status: 200, body: { a: { b: 1 }, list: [1] } },
    { status: 304 },
    { status: 200, body: /^id,email,name,a,list,/ },
    { status: 200, body: { data: [{ name: 'two' }], meta: { total: 2 } } },
    { status: 201, body: { userId: user.id, title: 'nested' } },
    { status: 200, body: { name: 'Bee', _version: 4 } },
    { status: 204, headers: { allow: 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS' } },
    { status: 204 },
    { status: 204 },
  ]);
  t.notOk('body' in json.results[1]);
  t.equal((await send('GET', path)).status, 404);
  t.equal(
    (await send('POST', '/batch', { body: [{ method: 'GET', path: '/items' }] })).status,
    200,
    'a bare array too',
  );
});

t.test('all or nothing: the failing operation is reported with its index', async (t) => {
  const { send } = await testService(t);
  const user = (await send('POST', '/users', { body: { email: 'b@example.org', name: 'B' } })).json;
  const path = `/users/${user.id}`;
  const fails = async (operation: object, status: number, json: object) => {
    const operations = [
      { method: 'POST', path: '/items', body: { name: 'x' } },
      { method: 'PATCH', path, body: { x: 1 } },
      operation,
    ];
    const response = await send('POST', '/batch', { body: { operations } });
    t.equal(response.status, status, JSON.stringify(operation));
    t.match(response.json, { error: { details: { operation: 2 }, ...json } });
    t.equal((await send('GET', '/items')).json.meta.total, 0);
    t.equal((await send('GET', path)).json._version, 1);
  };
  await fails({ method: 'POST', path: '/users', body: { name: '' } }, 400, {
    code: 'VALIDATION_ERROR',
    details: { details: [{ path: '/email' }, { path: '/name' }] },
  });
  await fails({ method: 'POST', path: '/users', body: { email: 'b@example.org', name: 'B' } }, 409, {
    code: 'EMAIL_TAKEN',
  });
  await fails({ method: 'PUT', path, body: { email: 'b@example.org', name: 'B', _version: 1 } }, 409, {
    code: 'VERSION_CONFLICT',
    details: { details: { current: { _version: 2 } } },
  });
  await fails({ method: 'PATCH', path, body: {}, headers: { 'if-match': '"1"' } }, 412, {
    code: 'PRECONDITION_FAILED',
  });
  await fails({ method: 'POST', path: '/posts', body: { userId: 'nobody' } }, 422, {
    code: 'USER_NOT_FOUND',
  });
  await fails({ method: 'GET', path: '/users/7' }, 404, { code: 'USER_NOT_FOUND' });
  await fails({ method: 'GET', path: '/nothing' }, 404, { code: 'NOT_FOUND' });
  await fails({ method: 'GET', path: '/api/v9/items' }, 404, { code: 'NOT_FOUND' });
  await fails({ method: 'DELETE', path: '/users' }, 405, { code: 'METHOD_NOT_ALLOWED' });
  for (const accept of ['image/png', 'text/html'])
    await fails({ method: 'GET', path, headers: { accept } }, 406, { code: 'NOT_ACCEPTABLE' });
  await fails({ method: 'PATCH', path, body: {}, headers: { 'content-type': 'text/plain' } }, 415, {
    code: 'UNSUPPORTED_MEDIA_TYPE',
  });
  await fails({ method: 'GET', path: '/users' }, 400, { code: 'BAD_REQUEST' });
  await fails({ method: 'POST', path: '/batch', body: [] }, 400, { code: 'BAD_REQUEST' });
  await fails({ method: 'POST', path: '/api/v1/batch', body: [] }, 400, { code: 'BAD_REQUEST' });
  await fails({ method: 'GET', path: '/items/%zz' }, 400, { code: 'BAD_REQUEST' });
  await fails({ method: 'GET', path: `/items?page=1&sort=${'a,'.repeat(5000)}` }, 414, {
    code: 'URI_TOO_LONG',
    details: { details: { limit: 8192 } },
  });
});

t.test('a malformed batch is refused before anything runs', async (t) => {
  const { send } = await testService(t);
  const get = { method: 'GET', path: '/items' };
  const refused = async (body: unknown, path: string) =>
    t.match(await send('POST', '/batch', { body }), { status: 400, json: { errors: [{ path }] } }, path);
  await refused({}, '');
  await refused([], '');
  await refused(
    Array.from({ length: 101 }, () => get),
    '',
  );
  await refused([get, 7], '/1');
  await refused([{ ...get, method: 'TRACE' }], '/0/method');
  await refused([{ ...get, path: 'items' }], '/0/path');
  await refused([{ ...get, headers: { accept: 1 } }], '/0/headers/accept');
  const keyed = [{ ...get, headers: { 'Idempotency-Key': 'x' } }];
  t.match((await send('POST', '/batch', { body: keyed })).json.error, {
    code: 'BAD_REQUEST',
    details: { operation: 0 },
  });
  await refused([{ ...get, what: 1 }], '/0');
  t.equal(
    (await send('POST', '/batch', { body: Array.from({ length: 100 }, () => get) })).json.results.length,
    100,
  );
});

t.test('a batch can be repeated safely', async (t) => {
  const { send } = await testService(t);
  const post = () =>
    send('POST', '/batch', {
      headers: { 'idempotency-key': 'b' },
      body: [{ method: 'POST', path: '/items', body: { name: 'x' } }],
    });
  const first = await post();
  t.match(await post(), { status: 200, text: first.text, headers: { 'idempotency-replayed': 'true' } });
  t.equal((await send('GET', '/items')).json.meta.total, 1);
});

t.test('batches that lock the same records in different orders all end', async (t) => {
  const { send } = await testService(t);
  const ids: string[] = [];
  for (let n = 0; n < 4; n++)
    ids.push((await send('POST', '/items', { body: { name: `n${n}`, list: [] } })).json.id);
  const type = { 'content-type': 'application/json-patch+json' };
  const add = (id: string) => ({
    method: 'PATCH',
    path: `/items/${id}`,
    headers: type,
    body: [{ op: 'add', path: '/list/-', value: 1 }],
  });
  const once = async (order: readonly string[]): Promise<void> => {
    const response = await send('POST', '/batch', { body: order.map(add) });
    if (response.status === 503) {
      t.equal(response.headers['retry-after'], '1');
      return once(order);
    }
    t.equal(response.status, 200, response.text);
  };
  await Promise.all(Array.from({ length: 12 }, (_, n) => once(n % 2 === 0 ? ids : ids.toReversed())));
  for (const id of ids) t.equal((await send('GET', `/items/${id}`)).json.list.length, 12);
});
