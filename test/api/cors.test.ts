import { readdirSync, readFileSync } from 'node:fs';
import { headersOf, requestFields } from '../../src/features/api-docs/headers.js';
import { VERSIONS } from '../../src/versions/supported.js';
import { CITUS_URL } from '../support/citus.js';
import { type ServiceResponse, testDatabase, testService } from '../support/service.js';
import t from '../support/test.js';
import { words } from '../support/words.js';

const APP = 'https://app.example.org';
const OTHER = 'http://localhost:8080';
const CORS_ORIGINS = `${APP}, ${OTHER}`;

const corsFields = ({ headers }: ServiceResponse) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

const listOf = (field: unknown) =>
  String(field ?? '')
    .split(/,\s*/)
    .map((name) => name.toLowerCase());

/** The names of a preflight's fields that only a preflight has. */
const PREFLIGHT = ['methods', 'headers'].map((name) => `access-control-allow-${name}`);

t.test('off, no response has a field of it', async (t) => {
  const { send } = await testService(t);
  const headers = { origin: APP, 'access-control-request-method': 'PUT' };
  for (const [method, path] of [
    ['GET', '/items'],
    ['OPTIONS', '/items'],
    ['GET', '/nothing'],
  ] as const) {
    const response = await send(method, path, { headers });
    t.strictSame(corsFields(response), []);
    t.notOk(listOf(response.headers.vary).includes('origin'));
  }
});

t.test('every response to an origin that is listed may be read by its pages', async (t) => {
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
    ['GET', '/items', 400, { 'api-version': '3' }],
    ['POST', '/items', 415, { 'content-type': 'text/plain', 'content-length': '0' }],
    ['OPTIONS', '/items', 204],
    ['OPTIONS', '*', 204],
    ['DELETE', `/items/${id}`, 204],
  ];
  for (const [method, path, status, headers] of requests) {
    for (const origin of [APP, OTHER]) {
      const response = await send(method, path, { headers: { ...headers, origin } });
      t.equal(response.status, status, `${method} ${path} is ${status}`);
      t.equal(response.headers['access-control-allow-origin'], origin);
      t.ok(listOf(response.headers.vary).includes('origin'));
      t.equal(response.headers['access-control-allow-credentials'], undefined);
      const exposed = listOf(response.headers['access-control-expose-headers']);
      for (const name of words('etag location link retry-after ratelimit x-request-id api-version'))
        t.ok(exposed.includes(name), name);
    }
  }
});

t.test('every field that responses have is exposed, except those that pages may always read', async (t) => {
  const { send } = await testService(t, {
    CORS_ORIGINS,
    RATE_LIMIT: '100/60',
    V1_DEPRECATION: '2020-01-01T00:00:00Z',
    V1_SUNSET: '2999-01-01T00:00:00Z',
  });
  const headers = { origin: APP };
  const keyed = { ...headers, 'idempotency-key': 'k', prefer: 'return=minimal' };
  const create = () => send('POST', '/items', { headers: keyed, body: { name: 'x' } });
  const created = await create();
  const responses = [
    created,
    await create(),
    await send('GET', String(created.headers.location), { headers }),
    await send('OPTIONS', '/items', { headers }),
  ];
  const exposed = listOf(created.headers['access-control-expose-headers']);
  /** The CORS-safelisted response-header names, what browsers keep to themselves, and the connection's. */
  const others =
    /^(cache-control|content-language|content-length|content-type|expires|last-modified|pragma|vary|date|connection|keep-alive|transfer-encoding|x-content-type-options|access-control-.*)$/;
  for (const response of responses)
    for (const name of Object.keys(response.headers))
      t.ok(others.test(name) || exposed.includes(name), `${name} is in EXPOSED of src/http/cors.ts`);
});

t.test('other origins are served as ever, and get no field of it', async (t) => {
  const { send } = await testService(t, { CORS_ORIGINS });
  const foreign = [
    ...words(`
      https://evil.example.org http://app.example.org https://app.example.org:8443 https://app.example.org/
      https://APP.example.org https://app.example.org.evil.org null * __proto__
    `),
    ...[`${APP}, ${OTHER}`, '', undefined],
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
      const response = await send(method, path, { headers });
      t.equal(response.status, status);
      t.strictSame(corsFields(response), [], `${method} from ${origin}`);
      t.ok(listOf(response.headers.vary).includes('origin'), 'a cache stores them apart');
    }
  }
});

t.test('a preflight needs no credential, and its response lists what the resource can do', async (t) => {
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
    ['/items', 'GET, HEAD, QUERY, POST, PATCH, DELETE, OPTIONS'],
    ['/api/v1/items/x', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
  ];
  for (const [path, methods] of allows) {
    const response = await send('OPTIONS', path, { headers });
    t.equal(response.status, 204);
    t.equal(response.text, '');
    t.match(response.headers, {
      'access-control-allow-origin': APP,
      'access-control-allow-methods': methods,
      'access-control-max-age': '600',
      allow: methods.replace('POST, PATCH, DELETE', 'POST'),
    });
    const allowed = listOf(response.headers['access-control-allow-headers']);
    for (const name of words('authorization content-type if-match idempotency-key x-api-key x-signature'))
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

t.test('a response has one Vary field, since some proxies read the last one alone', async (t) => {
  for (const env of [{ CORS_ORIGINS }, { CORS_ORIGINS, COMPRESSION: 'off' }, {}]) {
    const service = await testService(t, env);
    const { host } = new URL(service.url);
    for (const [method, path] of [
      ['GET', '/items'],
      ['GET', '/api/v2/items'],
      ['GET', '/items/x'],
      ['GET', '/nothing'],
      ['OPTIONS', '/items'],
      ['POST', '/items'],
      ['GET', '/events?limit=1'],
      ['GET', '/docs'],
    ]) {
      // The id of a request may have the name of a field.
      const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${APP}\r\nX-Request-Id: Vary\r\n`;
      const response = await service.raw(`${head}Content-Length: 0\r\nConnection: close\r\n\r\n`);
      const fields = response.split('\r\n\r\n')[0]!.match(/^vary:.*$/gim) ?? [];
      t.ok(fields.length <= 1, `${method} ${path}: ${fields.join(' ')}`);
      t.match(response, /^X-Request-Id: Vary\r$/m);
      if (!('CORS_ORIGINS' in env)) continue;
      t.equal(fields.length, 1, `${method} ${path}`);
      t.ok(listOf(fields[0]!.slice('vary:'.length).trim()).includes('origin'), `${method} ${path}`);
      if (path === '/items') t.ok(listOf(fields[0]!.slice('vary:'.length).trim()).includes('accept'), path);
    }
  }
});

/** Fields of the documentation that pages do not set or read, and why. */
const OTHER_FIELDS: Readonly<Record<string, string>> = {
  accept: 'every page may set it',
  'accept-encoding': 'the browser sets it',
  'content-length': 'the browser sets it',
  cookie: 'the browser sets it',
  host: 'the browser sets it',
  origin: 'the browser sets it',
  'sec-fetch-site': 'the browser sets it',
  forwarded: 'a proxy sets it',
  'x-forwarded-for': 'a proxy sets it',
  'x-forwarded-proto': 'a proxy sets it',
  'last-modified': 'every page may read it',
  'x-http-method-override': 'it has no effect',
  'strict-transport-security': 'the browser reads it',
};

/** A text that looks like the name of a field. */
const NO_FIELDS = ['by-sa', 'json-rpc', 'libpq-connstring', 'rp-initiated', 'server-sent', 'x-forwarded'];

const NOT_ON_CITUS = { skip: CITUS_URL !== '' && 'Citus has no DATABASE_READ_URL' };

t.test('pages may set and read every field that the documentation mentions', NOT_ON_CITUS, async (t) => {
  const DATABASE_URL = await testDatabase(t);
  // Features add fields.
  const all = { CORS_ORIGINS, MCP: 'on', DATABASE_URL, DATABASE_READ_URL: DATABASE_URL };
  const { send } = await testService(t, all);
  const headers = { origin: APP, 'access-control-request-method': 'PATCH' };
  const preflight = await send('OPTIONS', '/items', { headers });
  const allowed = listOf(preflight.headers['access-control-allow-headers']);
  const exposed = listOf(preflight.headers['access-control-expose-headers']);
  const ofDocument = VERSIONS.flatMap((version) =>
    Object.values(requestFields(version)).map(({ name }) => String(name).toLowerCase()),
  );
  for (const name of ofDocument) t.ok(allowed.includes(name), `${name} of the OpenAPI document`);
  const responses = VERSIONS.flatMap((version) => Object.keys(headersOf(version)));
  const safe = ['cache-control', 'last-modified', 'content-type', 'content-length', 'accept'];
  for (const name of responses.map((each) => each.toLowerCase()).filter((each) => !safe.includes(each)))
    t.ok(exposed.includes(name), `${name} of the OpenAPI document`);
  const root = new URL('../../../', import.meta.url);
  const pages = [
    'README.md',
    ...readdirSync(new URL('docs/', root))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ];
  const pattern =
    /\b[A-Z][A-Za-z]*(?:-[A-Z][A-Za-z]*)+\b|\b(?:Authorization|Prefer|DPoP|RateLimit|Deprecation|Sunset)\b|`(?:traceparent|tracestate)`/g;
  for (const page of pages)
    for (const [found] of readFileSync(new URL(page, root), 'utf8').matchAll(pattern)) {
      const name = found.replaceAll('`', '').toLowerCase();
      const isKnown = allowed.includes(name) || exposed.includes(name) || name in OTHER_FIELDS;
      t.ok(isKnown || NO_FIELDS.includes(name), `${page}: ${found}`);
    }
});
