import t from 'tap';
import { type Answer, testService } from '../support/service.js';

const APP = 'https://app.example.org';
const OTHER = 'http://localhost:8080';
const CORS_ORIGINS = `${APP}, ${OTHER}`;

const corsFields = ({ headers }: Answer) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

const listOf = (field: unknown) =>
  String(field ?? '')
    .split(/,\s*/)
    .map((name) => name.toLowerCase());

/** The names of a preflight's fields that only a preflight has. */
const PREFLIGHT = ['methods', 'headers'].map((name) => `access-control-allow-${name}`);

t.test('off, no answer has a field of it', async (t) => {
  const { send } = await testService(t);
  const headers = { origin: APP, 'access-control-request-method': 'PUT' };
  for (const [method, path] of [
    ['GET', '/items'],
    ['OPTIONS', '/items'],
    ['GET', '/nothing'],
  ] as const) {
    const answer = await send(method, path, { headers });
    t.strictSame(corsFields(answer), []);
    t.notOk(listOf(answer.headers.vary).includes('origin'));
  }
});

t.test('every answer to an origin that is listed may be read by its pages', async (t) => {
  const { send } = await testService(t, { CORS_ORIGINS });
  const { id } = (await send('POST', '/items', { body: { name: 'x' } })).json;
  const requests: [method: string, path: string, status: number, headers?: Record<string, string>][] = [
    ['GET', `/items/${id}`, 200],
    ['GET', `/items/${id}`, 304, { 'if-none-match': '"1"' }],
    ['GET', '/users', 200],
    ['HEAD', '/users', 200],
    ['GET', '/items?limit=1', 200, { accept: 'text/html' }],
    ['GET', '/nothing', 404],
    ['GET', '/api/v7/items', 404],
    ['TRACE', '/items', 405],
    ['GET', '/items', 400, { host: 'a b' }],
    ['GET', '/items', 400, { 'api-version': '2' }],
    ['POST', '/items', 415, { 'content-type': 'text/plain', 'content-length': '0' }],
    ['OPTIONS', '/items', 204],
    ['OPTIONS', '*', 204],
    ['DELETE', `/items/${id}`, 204],
  ];
  for (const [method, path, status, headers] of requests) {
    for (const origin of [APP, OTHER]) {
      const answer = await send(method, path, { headers: { ...headers, origin } });
      t.equal(answer.status, status, `${method} ${path} is ${status}`);
      t.equal(answer.headers['access-control-allow-origin'], origin);
      t.ok(listOf(answer.headers.vary).includes('origin'));
      t.equal(answer.headers['access-control-allow-credentials'], undefined);
      const exposed = listOf(answer.headers['access-control-expose-headers']);
      for (const name of [
        'etag',
        'location',
        'link',
        'retry-after',
        'ratelimit',
        'x-request-id',
        'api-version',
      ])
        t.ok(exposed.includes(name), name);
    }
  }
});

t.test('every field that answers have and pages need not ask for is exposed', async (t) => {
  const { send } = await testService(t, {
    CORS_ORIGINS,
    RATE_LIMIT: '100/60',
    V1_DEPRECATION: '2020-01-01T00:00:00Z',
    V1_SUNSET: '2999-01-01T00:00:00Z',
    V1_SUCCESSOR: '/api/v2',
  });
  const headers = { origin: APP };
  const created = await send('POST', '/items', {
    headers: { ...headers, 'idempotency-key': 'k', prefer: 'return=minimal' },
    body: { name: 'x' },
  });
  const answers = [
    created,
    await send('POST', '/items', {
      headers: { ...headers, 'idempotency-key': 'k', prefer: 'return=minimal' },
      body: { name: 'x' },
    }),
    await send('GET', String(created.headers.location), { headers }),
    await send('OPTIONS', '/items', { headers }),
  ];
  const exposed = listOf(created.headers['access-control-expose-headers']);
  /** The CORS-safelisted response-header names, what browsers keep to themselves, and the connection's. */
  const others =
    /^(cache-control|content-language|content-length|content-type|expires|last-modified|pragma|vary|date|connection|keep-alive|transfer-encoding|x-content-type-options|access-control-.*)$/;
  for (const answer of answers)
    for (const name of Object.keys(answer.headers)) t.ok(others.test(name) || exposed.includes(name), name);
});

t.test('other origins are served as ever, and told nothing', async (t) => {
  const { send } = await testService(t, { CORS_ORIGINS });
  const foreign = [
    'https://evil.example.org',
    'http://app.example.org',
    'https://app.example.org:8443',
    'https://app.example.org/',
    'https://APP.example.org',
    'https://app.example.org.evil.org',
    `${APP}, ${OTHER}`,
    'null',
    '*',
    '',
    '__proto__',
    undefined,
  ];
  for (const origin of foreign) {
    const headers = {
      ...(origin === undefined ? {} : { origin }),
      'access-control-request-method': 'POST',
    };
    for (const [method, path, status] of [
      ['GET', '/items', 200],
      ['GET', '/nothing', 404],
      ['OPTIONS', '/items', 204],
    ] as const) {
      const answer = await send(method, path, { headers });
      t.equal(answer.status, status);
      t.strictSame(corsFields(answer), [], `${method} from ${origin}`);
      t.ok(listOf(answer.headers.vary).includes('origin'), 'a cache keeps them apart');
    }
  }
});

t.test('a preflight is answered without a credential, for what the resource can do', async (t) => {
  const { send } = await testService(t, {
    CORS_ORIGINS,
    AUTH: 'signature',
    SIGNING_SECRETS: JSON.stringify([{ id: 'k', secret: 's'.repeat(32), subject: 'a', scopes: ['admin'] }]),
  });
  const headers = {
    origin: APP,
    'access-control-request-method': 'PATCH',
    'access-control-request-headers': 'authorization,if-match',
  };
  const allows: [path: string, methods: string][] = [
    ['/items', 'GET, HEAD, POST, OPTIONS'],
    ['/api/v1/items/x', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
  ];
  for (const [path, methods] of allows) {
    const answer = await send('OPTIONS', path, { headers });
    t.equal(answer.status, 204);
    t.equal(answer.text, '');
    t.match(answer.headers, {
      'access-control-allow-origin': APP,
      'access-control-allow-methods': methods,
      'access-control-max-age': '600',
      allow: methods,
    });
    const allowed = listOf(answer.headers['access-control-allow-headers']);
    for (const name of [
      'authorization',
      'content-type',
      'if-match',
      'idempotency-key',
      'x-api-key',
      'x-signature',
    ])
      t.ok(allowed.includes(name), name);
    t.notOk(allowed.includes('*'));
  }
  const plain = await send('OPTIONS', '/items', { headers: { origin: APP } });
  t.equal(plain.status, 204);
  for (const name of PREFLIGHT) t.notOk(name in plain.headers, 'an OPTIONS that is no preflight');
  t.equal((await send('OPTIONS', '/nothing', { headers })).status, 404);
  const refused = await send('GET', '/items', { headers: { origin: APP } });
  t.equal(refused.status, 401, 'what follows needs one');
  t.equal(refused.headers['access-control-allow-origin'], APP);
});
