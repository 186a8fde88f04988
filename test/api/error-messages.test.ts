import { onlyBuiltIn } from '../support/names.js';
import { send as sendTo, testService } from '../support/service.js';
import t from '../support/test.js';

const ABSENT = '00000000-0000-4000-8000-000000000000';

t.test('an unknown query parameter of a list is 400 with the supported ones', async (t) => {
  const { send } = await testService(t, { AUTH: 'none' });
  const { json: user } = await send('POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
  const { json: hook } = await send('POST', '/webhooks', {
    body: { url: 'https://example.org/', types: ['*'] },
  });
  for (const [path, parameter, supported] of [
    ['/users?email=ann@example.org', 'email', ['page', 'limit']],
    ['/users?select=name', 'select', ['page', 'limit']],
    ['/users?sort=name', 'sort', ['page', 'limit']],
    ['/items?per_page=5', 'per_page', ['page', 'limit', 'sort', 'order', 'search']],
    ['/items?price=gt.100', 'price', ['page', 'limit', 'sort', 'order', 'search']],
    ['/items?page=1&Limit=5', 'Limit', ['page', 'limit', 'sort', 'order', 'search']],
    [`/users/${user.id}/posts?q=x`, 'q', ['page', 'limit']],
    ['/events?since=1', 'since', ['after', 'types', 'filter', 'limit', 'ticket']],
    ['/webhooks?page=2', 'page', ['after']],
    [`/webhooks/${hook.id}/deliveries?page=2`, 'page', ['after', 'status']],
  ] as const) {
    const { status, json } = await send('GET', path);
    t.equal(status, 400, path);
    t.equal(json.error.code, 'UNKNOWN_PARAMETER', path);
    t.match(json.error.details, { parameter, supported }, path);
    t.match(json.error.message, `\`${parameter}\``);
  }
  for (const path of [
    '/users?_=1700000000',
    '/items?_cache=no&page=1',
    '/items?page=x&limit=-1&sort=none&order=up',
    '/items?',
  ])
    t.equal((await send('GET', path)).status, 200, path);
  t.match(
    await send('POST', '/batch', { body: [{ method: 'GET', path: '/users?email=x' }] }),
    { status: 400, json: { error: { code: 'UNKNOWN_PARAMETER', details: { operation: 0 } } } },
    'also in a batch',
  );
});

t.test('a 404 names the nearest existing path', onlyBuiltIn('misspells names'), async (t) => {
  const { send } = await testService(t);
  for (const [path, nearest] of [
    ['/users/', '/users'],
    ['/user', '/users'],
    ['/Users', '/users'],
    ['/api/users', '/users'],
    ['/api/v1/user', '/users'],
    ['/itmes', '/items'],
    [`/item/${ABSENT}`, `/items/${ABSENT}`],
    ['/event', '/events'],
  ] as const) {
    const { status, json } = await send('GET', path);
    t.equal(status, 404, path);
    t.equal(json.error.details?.nearest, nearest, path);
    t.match(json.error.message, nearest);
  }
  for (const path of ['/books', '/xyz/abc', `/${'u'.repeat(3000)}`])
    t.equal((await send('GET', path)).json.error.details?.nearest, undefined, path.slice(0, 20));
});

t.test('a JSON syntax error has a position and quotes nothing; an empty body is called empty', async (t) => {
  const { send } = await testService(t);
  const type = { 'content-type': 'application/json' };
  for (const [raw, message] of [
    ['', /is empty/],
    ['{"name": "x",}', /^The body is not valid JSON: see position 13\.$/],
    ['{\n  "name": "x"\n  "price": 1\n}', /^The body is not valid JSON: see position 18\.$/],
    ["{'name': 'x'}", /^The body is not valid JSON: see position 1\.$/],
    ['{"name": secret at position 7}', /^The body is not valid JSON\.$/],
    ['{"name": "x"} {}', /^The body is not valid JSON: see position 14\.$/],
    ['{"name": "x"', /ends before/],
    ['[1, 2', /ends before/],
    ['nope', /^The body is not valid JSON\.$/],
    ['{"name": "a\tb"}', /^The body is not valid JSON: see position 11\.$/],
    ['{"price": 01}', /^The body is not valid JSON: see position 11\.$/],
    [`{"a": [${'[1],\n'.repeat(50_000)}[1], x]}`, /^The body is not valid JSON\.$/],
  ] as const) {
    const { status, json } = await send('POST', '/items', { body: raw, headers: type });
    t.equal(status, 400, raw);
    t.match(json.errors[0].message, message, raw);
  }
});

t.test('an array in place of a record names the way to many records', async (t) => {
  const { send } = await testService(t);
  for (const [method, path] of [
    ['POST', '/items'],
    ['PUT', `/items/${(await send('POST', '/items', { body: { name: 'a' } })).json.id}`],
  ] as const) {
    const { status, json } = await send(method, path, { body: [{ name: 'a' }] as never });
    t.equal(status, 400);
    t.match(json.errors, [
      { path: '', keyword: 'type', message: /must be an object: send many records as NDJSON/ },
    ]);
  }
});

t.test('failures name the member that is wrong, and what is allowed', async (t) => {
  const { send } = await testService(t, { AUTH: 'none' });
  t.match(
    (await send('POST', '/webhooks', { body: { url: 'https://example.org', types: ['*'], colour: 1 } })).json,
    {
      errors: [{ path: '/colour', message: /^is not a known field: there are url, / }],
    },
  );
  const patch = async (operations: unknown) => {
    const { json } = await send('POST', '/items', { body: { name: 'x' } });
    return send('PATCH', `/items/${json.id}`, { body: operations, type: 'application/json-patch+json' });
  };
  t.match((await patch([{ op: 'add', value: 1 }])).json, {
    errors: [{ path: '/0/path', message: /JSON Pointer, like \/name/ }],
  });
  t.match((await patch([{ op: 'put', path: '/name', value: 1 }])).json, {
    errors: [{ path: '/0/op', message: 'must be one of add, remove, replace, move, copy, test' }],
  });
  t.match((await patch([{ op: 'remove', path: '/colour' }])).json.error, {
    code: 'UNPROCESSABLE_PATCH',
    message: /\/colour/,
  });
  const batch = async (body: unknown) => (await send('POST', '/batch', { body })).json.errors;
  t.match(await batch({ operations: [{ method: 'GET', path: 'users' }] }), [
    { path: '/operations/0/path', keyword: 'pattern' },
  ]);
  t.match(await batch([{ method: 'FETCH', path: '/users' }]), [{ path: '/0/method' }]);
  t.match(await batch({ method: 'GET' }), [{ message: /must be an array of operations, or \{"operations"/ }]);
});

t.test('preflights do not count against RATE_LIMIT, and pages can read a 429', async (t) => {
  const origin = 'https://app.example.org';
  const { url } = await testService(t, { AUTH: 'none', RATE_LIMIT: '2/60', CORS_ORIGINS: origin });
  const headers = { origin, 'access-control-request-method': 'PUT' };
  for (let n = 0; n < 5; n++) t.equal((await sendTo(url, 'OPTIONS', '/items', { headers })).status, 204);
  t.equal((await sendTo(url, 'OPTIONS', '/none', { headers })).status, 404, 'also one for no path');
  const get = () => sendTo(url, 'GET', '/items', { headers: { origin } });
  t.same([(await get()).status, (await get()).status], [200, 200]);
  const limited = await get();
  t.equal(limited.status, 429);
  t.equal(limited.headers['access-control-allow-origin'], origin);
  t.match(limited.headers['access-control-expose-headers'], /Retry-After/);
  t.equal((await sendTo(url, 'OPTIONS', '/items', { headers })).status, 204);
  t.equal((await sendTo(url, 'OPTIONS', '/items')).status, 429, 'an OPTIONS that is no preflight counts');
});
