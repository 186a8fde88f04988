import { testService } from '../support/service.js';
import t from '../support/test.js';

t.jobs = 2;

const ABSENT = '01890000-0000-7000-8000-000000000000';

const header = { headers: { 'api-version': '2' } };

t.test('version 2 is below /api/v2, and at the root address for requests that name it', async (t) => {
  const { send } = await testService(t);
  const created = await send('POST', '/api/v2/items', { body: { name: 'Lamp', price: 2 } });
  t.equal(created.status, 201);
  t.equal(created.headers['api-version'], '2');
  const href = `/api/v2/items/${created.json.id}`;
  t.equal(created.headers.location, href);
  t.same(created.json._links, {
    self: { href, method: 'GET' },
    update: { href, method: 'PATCH' },
    delete: { href, method: 'DELETE' },
  });
  for (const [path, options] of [
    ['/api/v2/items', {}],
    ['/api/v2/items', header],
    ['/items', header],
    ['/items', { headers: { 'api-version': ' 2 ' } }],
  ] as const) {
    const { status, json, headers } = await send('GET', path, options);
    t.equal(status, 200);
    t.equal(headers['api-version'], '2');
    t.equal(/API-Version/.test(headers.vary ?? ''), path === '/items');
    t.same(json, {
      data: [created.json],
      meta: { limit: 20 },
      links: { self: '/api/v2/items?limit=20', next: null, prev: null, first: '/api/v2/items?limit=20' },
    });
    t.equal(headers.link, '</api/v2/items?limit=20>; rel="first"');
  }
  const first = await send('GET', `/items/${created.json.id}`);
  t.equal(first.headers['api-version'], '1');
  t.equal(first.json._links.self.href, `/items/${created.json.id}`);
  t.equal((await send('GET', href)).headers.etag, first.headers.etag);
  t.same((await send('GET', '/api/v1/items?page=1')).json.meta, {
    page: 1,
    limit: 20,
    total: 1,
    totalPages: 1,
  });
});

t.test('a version that does not exist, or that contradicts the path, is refused', async (t) => {
  const { send } = await testService(t);
  const unknown = await send('GET', '/items', { headers: { 'api-version': '3' } });
  t.equal(unknown.status, 400);
  t.match(unknown.json.error, { code: 'UNSUPPORTED_VERSION', details: { versions: ['1', '2'] } });
  for (const [path, version, type] of [
    ['/api/v1/items', '2', 'application/json'],
    ['/api/v2/items', '1', 'application/problem+json'],
    ['/api/v2/items', '3', 'application/problem+json'],
  ] as const) {
    const { status, headers, text } = await send('GET', path, { headers: { 'api-version': version } });
    t.equal(status, 400);
    t.equal(headers['content-type'], type);
    t.match(text, 'VERSION_MISMATCH');
  }
  t.equal((await send('GET', '/api/v9/items')).status, 404);
  t.equal((await send('GET', '/api/v22/items')).status, 404);
});

t.test('each error is a problem document with the address of its explanation', async (t) => {
  const { send, raw } = await testService(t);
  await send('POST', '/api/v2/users', { body: { email: 'a@example.org', name: 'A' } });
  const cases: readonly (readonly [
    method: string,
    path: string,
    body: unknown,
    status: number,
    code: string,
  ])[] = [
    ['GET', `/api/v2/items/${ABSENT}`, undefined, 404, 'NOT_FOUND'],
    ['GET', `/api/v2/users/${ABSENT}`, undefined, 404, 'USER_NOT_FOUND'],
    ['PUT', `/api/v2/items/${ABSENT}`, { name: 'x' }, 404, 'ITEM_NOT_FOUND'],
    ['POST', '/api/v2/users', { email: 'a@example.org', name: 'B' }, 409, 'EMAIL_TAKEN'],
    ['POST', '/api/v2/items', { name: 1 }, 400, 'VALIDATION_ERROR'],
    ['POST', '/api/v2/items', '{', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/v2/items?colour=red', undefined, 400, 'UNKNOWN_PARAMETER'],
    ['GET', '/api/v2/%zz', undefined, 400, 'BAD_REQUEST'],
  ];
  for (const [method, path, body, status, code] of cases) {
    for (const options of [{}, { headers: { accept: 'application/json' } }]) {
      const response = await send(method, path, { ...options, ...(body === undefined ? {} : { body }) });
      t.equal(response.status, status, `${method} ${path}`);
      t.equal(response.headers['content-type'], 'application/problem+json');
      const { type, title, detail, request_id, ...rest } = response.json;
      t.equal(type, `/api/v2/errors/${code}`);
      t.match([title, detail, request_id], [/\w/, /\w/, response.headers['x-request-id']]);
      t.match(rest, { status, code });
      t.strictSame(
        Object.keys(rest).filter((name) => !['status', 'code', 'details'].includes(name)),
        [],
      );
      t.equal((await send('GET', type)).json.code, code);
    }
  }
  const invalid = await send('POST', '/api/v2/items', { body: { name: 1 } });
  t.match(invalid.json.details, [{ path: '/name', keyword: 'type', message: /\w/ }]);
  const refused = await send('GET', `/api/v2/items/${ABSENT}`, { headers: { accept: 'image/png' } });
  t.equal(refused.status, 406);
  t.match(refused.json, { code: 'NOT_ACCEPTABLE', details: { available: ['application/json'] } });
  const csv = await send('GET', `/api/v2/items/${ABSENT}`, { headers: { accept: 'text/csv' } });
  t.equal(csv.headers['content-type'], 'application/problem+json');
  const long = await send('GET', `/api/v2/items?search=${'x'.repeat(9000)}`);
  t.equal(long.status, 414);
  t.equal(long.json.code, 'URI_TOO_LONG');
  t.match(await raw('GET /api/v2/items HTTP/1.1\r\n\r\n', /\}$/), /application\/problem\+json/);
  const root = await send('GET', `/items/${ABSENT}`, header);
  t.equal(root.json.type, '/api/v2/errors/NOT_FOUND');
});

t.test('a write that fails shows the present record with the links of version 2', async (t) => {
  const { send } = await testService(t);
  const { json } = await send('POST', '/api/v2/items', { body: { name: 'Lamp' } });
  const path = `/api/v2/items/${json.id}`;
  const failed = await send('PUT', path, { headers: { 'if-match': '"7"' }, body: { name: 'x' } });
  t.equal(failed.status, 412);
  t.equal(failed.json.details.current._links.self.href, path);
  const stale = await send('PATCH', path, { body: { name: 'x', _version: 9 } });
  t.equal(stale.status, 409);
  t.equal(stale.json.details.current._links.self.href, path);
  const patched = await send('PATCH', path, {
    type: 'application/json-patch+json',
    body: [{ op: 'test', path: '/_links/self/href', value: path }],
  });
  t.equal(patched.status, 200);
  t.equal(patched.json._links.self.href, path);
});

t.test('the creation of a record below its parent has a Location', async (t) => {
  const { send } = await testService(t);
  const user = await send('POST', '/api/v2/users', { body: { email: 'a@example.org', name: 'A' } });
  const path = user.json._links.posts.href;
  t.equal(path, `/api/v2/users/${user.json.id}/posts`);
  const post = await send('POST', path, { body: { title: 'T', content: 'C' } });
  t.equal(post.status, 201);
  t.equal(post.headers.location, `/api/v2/posts/${post.json.id}`);
  t.equal((await send('GET', post.headers.location!)).json.userId, user.json.id);
  const first = await send('POST', `/users/${user.json.id}/posts`, { body: { title: 'T', content: 'C' } });
  t.equal(first.headers.location, undefined);
  const list = await send('GET', `${path}?limit=1&count=exact`);
  t.equal(list.json.meta.total, 2);
  t.equal(list.json.data[0]._links.self.href, `/api/v2/posts/${post.json.id}`);
  t.match(list.json.links, { first: `${path}?limit=1&count=exact`, next: /^\/api\/v2\/users\/.*after=/ });
  t.equal((await send('GET', list.json.links.next)).json.data[0].id, first.json.id);
});

t.test('a batch has one version for all of its operations', async (t) => {
  const { send } = await testService(t);
  const create = { method: 'POST', path: '/items', body: { name: 'Lamp' } };
  const { json } = await send('POST', '/api/v2/batch', {
    body: [create, { method: 'GET', path: '/api/v2/items?limit=1' }],
  });
  t.match(json.results[0].headers.location, /^\/api\/v2\/items\//);
  t.match(json.results[1].body.links.first, '/api/v2/items?limit=1');
  for (const operation of [
    { method: 'GET', path: '/api/v1/items' },
    { method: 'GET', path: '/items', headers: { 'api-version': '1' } },
  ]) {
    const { status, json } = await send('POST', '/api/v2/batch', { body: [operation] });
    t.equal(status, 400);
    t.match(json, { code: 'VERSION_MISMATCH', details: { operation: 0 } });
  }
  const first = await send('POST', '/batch', { body: [{ method: 'GET', path: '/api/v2/items?limit=1' }] });
  t.equal(first.json.error.code, 'VERSION_MISMATCH');
});

t.test('a repeated request gets the response of its version', async (t) => {
  const { send } = await testService(t);
  const keyed = { headers: { 'idempotency-key': 'k' }, body: { name: 'Lamp', note: 'x'.repeat(5000) } };
  const created = await send('POST', '/api/v2/items', keyed);
  const again = await send('POST', '/items', { ...keyed, headers: { ...keyed.headers, 'api-version': '2' } });
  t.equal(again.headers['idempotency-replayed'], 'true');
  t.equal(again.headers.location, created.headers.location);
  t.same(again.json, created.json);
  t.equal((await send('POST', '/items', keyed)).json.error.code, 'IDEMPOTENCY_KEY_REUSED');
});

t.test('links follow PUBLIC_PREFIX: version 2 is beside version 1', async (t) => {
  for (const [publicPrefix, expected] of [
    ['/api/v1', '/api/v2'],
    ['/shop/api/v1', '/shop/api/v2'],
    ['/shop', '/shop/api/v2'],
  ] as const) {
    const { send } = await testService(t, { PUBLIC_PREFIX: publicPrefix });
    const { headers } = await send('POST', '/api/v2/items', { body: { name: 'Lamp' } });
    t.match(headers.location, new RegExp(`^${expected}/items/`));
    t.equal((await send('GET', '/api/v2/items')).json.links.first, `${expected}/items?limit=20`);
    t.equal((await send('GET', '/api/v2/nothing')).json.type, `${expected}/errors/NOT_FOUND`);
    t.match((await send('POST', '/items', { body: { name: 'Lamp' } })).headers.location, publicPrefix);
    const problem = await send('GET', '/nothing', { headers: { accept: 'application/problem+json' } });
    t.equal(problem.json.type, `${publicPrefix}/errors/NOT_FOUND`);
  }
});

t.test('a browser gets the same pages as in version 1', async (t) => {
  const { send } = await testService(t);
  await send('POST', '/api/v2/items', { body: { name: 'Lamp' } });
  const html = { headers: { accept: 'text/html' } };
  const page = await send('GET', '/api/v2/items?page=1&sort=name', html);
  t.equal(page.status, 200);
  t.match(page.text, /<table/);
  t.match(page.headers['content-type'], 'text/html');
  const missing = await send('GET', '/api/v2/items?colour=red', html);
  t.match(missing.headers['content-type'], 'text/html');
});
