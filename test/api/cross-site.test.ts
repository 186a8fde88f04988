import { authority, withoutOpenssl } from '../support/certificates.js';
import { byPassword, makeKey, makeUser } from '../support/credentials.js';
import { type ServiceResponse, type TestService, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { some } from '../support/thorough.js';

const APP = 'https://app.example.org';
const EVIL = 'https://evil.example';
const REFUSED = { status: 403, json: { error: { code: 'ORIGIN_NOT_ALLOWED' } } };

/** Fields that browsers send with requests of pages of other sites. */
const FOREIGN: Record<string, Record<string, string>> = {
  'another site': { 'sec-fetch-site': 'cross-site', origin: EVIL },
  'another site without its origin': { 'sec-fetch-site': 'cross-site' },
  'a sandboxed frame': { 'sec-fetch-site': 'cross-site', origin: 'null' },
  'another host of the domain': { 'sec-fetch-site': 'same-site', origin: 'http://other.localhost' },
  'an old browser, or http': { origin: EVIL },
  'an opaque origin in an old browser': { origin: 'null' },
  'another port in an old browser': { origin: 'http://127.0.0.1:1' },
};

t.test('without AUTH, pages of other sites write nothing', async (t) => {
  const service = await testService(t, { CORS_ORIGINS: APP });
  const { send } = service;
  const { host } = new URL(service.url);
  const { json: item } = await send('POST', '/items', { body: { name: 'lamp' } });
  const path = `/items/${item.id}`;
  for (const [from, headers] of Object.entries(FOREIGN)) {
    t.match(await send('PATCH', path, { body: { name: 'table' }, headers }), REFUSED, from);
    t.equal((await send('GET', path, { headers })).json.name, 'lamp', 'reading is not writing');
    t.equal((await send('OPTIONS', '/items', { headers })).status, 204);
  }
  for (const [from, headers] of Object.entries({
    'a program': {},
    'a page of the service': { 'sec-fetch-site': 'same-origin', origin: service.url },
    'such a page behind a proxy with another Host': { 'sec-fetch-site': 'same-origin', origin: EVIL },
    'such a page in an old browser': { origin: `http://${host}` },
    'the address bar': { 'sec-fetch-site': 'none' },
    'an allowed page': { 'sec-fetch-site': 'cross-site', origin: APP },
    'an allowed page in an old browser': { origin: APP },
  }))
    t.equal((await send('PATCH', path, { body: { from }, headers })).status, 200, from);
});

t.test('PUBLIC_URL names the origin of the pages of the service', async (t) => {
  const { send } = await testService(t, { PUBLIC_URL: 'https://api.example.org' });
  const from = (origin: string) => send('POST', '/items', { body: { name: 'x' }, headers: { origin } });
  t.equal((await from('https://api.example.org')).status, 201);
  t.match(await from('http://api.example.org'), REFUSED);
});

t.test('a browser adds Basic credentials on its own, but no keys', async (t) => {
  const service = await testService(t, {
    AUTH: 'api-key, basic',
    INSECURE: 'basic',
    BASIC_SCOPES: 'admin',
  });
  const keyed = { 'x-api-key': (await makeKey(service.db)).key };
  const basic = byPassword((await makeUser(service, 'ada@example.org')).email);
  for (const [from, headers] of Object.entries(FOREIGN)) {
    const ticket = (credential: Record<string, string>) =>
      service.send('POST', '/events/tickets', { headers: { ...headers, ...credential } });
    t.match(await ticket(basic), REFUSED, from);
    t.equal((await ticket(keyed)).status, 201, from);
  }
  t.equal((await service.send('POST', '/events/tickets', { headers: basic })).status, 201);
});

/** Origins with a Host: whether a browser that names no site may write from there over http, and over https. */
const ORIGINS: [host: string, origin: string, overHttp: boolean, overHttps: boolean][] = [
  ['plinth.test', 'http://plinth.test', true, false],
  ['plinth.test:80', 'http://plinth.test', true, false],
  ['Plinth.Test:80', 'http://plinth.test', true, false],
  ['plinth.test:8080', 'http://plinth.test:8080', true, false],
  ['plinth.test', 'https://plinth.test', false, true],
  ['plinth.test:443', 'https://plinth.test', false, true],
  ['plinth.test:8080', 'https://plinth.test:8080', false, true],
  ['localhost', 'https://localhost', false, true],
  ['plinth.test:443', 'http://plinth.test', false, false],
  ['plinth.test:80', 'https://plinth.test', false, false],
  ['plinth.test:8080', 'http://plinth.test', false, false],
  ['plinth.test', 'http://plinth.test:8080', false, false],
  ['plinth.test', 'ws://plinth.test', false, false],
  ['plinth.test', 'http://evil.example', false, false],
  ['plinth.test', 'https://evil.example', false, false],
  ['plinth.test', 'null', false, false],
];

type Send = (headers: Record<string, string>) => Promise<ServiceResponse>;

async function checkOrigins(t: Test, isSecure: boolean, send: Send, proxy: Record<string, string> = {}) {
  for (const [host, origin, overHttp, overHttps] of ORIGINS) {
    const expected = (isSecure ? overHttps : overHttp) ? { status: 201 } : REFUSED;
    t.match(
      await send({ host, origin, ...proxy }),
      expected,
      `${host} from ${origin} ${JSON.stringify(proxy)}`,
    );
  }
}

t.test('the scheme, host and port of the Origin are those that the client requests', async (t) => {
  const env = { ALLOWED_HOSTS: 'plinth.test' };
  const write =
    ({ send }: TestService): Send =>
    (headers) =>
      send('POST', '/items', { body: { name: 'x' }, headers });
  const https = { 'x-forwarded-proto': 'https' };
  const direct = write(await testService(t, env));
  await checkOrigins(t, false, direct);
  await checkOrigins(t, false, direct, https);

  const behind = write(await testService(t, { ...env, TRUST_PROXY: '127.0.0.1' }));
  await checkOrigins(t, false, behind);
  await checkOrigins(t, false, behind, { 'x-forwarded-proto': 'http' });
  await checkOrigins(t, false, behind, { forwarded: 'for=192.0.2.1;proto=https' });
  await checkOrigins(t, true, behind, https);
  await checkOrigins(t, true, behind, { 'x-forwarded-proto': 'http, https' });

  const forwarded = write(
    await testService(t, { ...env, TRUST_PROXY: '127.0.0.1', PROXY_HEADERS: 'forwarded' }),
  );
  await checkOrigins(t, true, forwarded, { forwarded: 'for=192.0.2.1;proto=https' });
  await checkOrigins(t, false, forwarded, https);
});

t.test('over TLS of the service, pages of http write nothing', { skip: withoutOpenssl }, async (t) => {
  const ca = authority(t);
  const { certFile: TLS_CERT, keyFile: TLS_KEY } = ca.sign('server');
  const { send } = await testService(t, { ALLOWED_HOSTS: 'plinth.test', TLS_CERT, TLS_KEY });
  const options = { body: { name: 'x' }, tls: { ca: ca.cert } };
  await checkOrigins(t, true, (headers) => send('POST', '/items', { ...options, headers }));
});

t.test('a browser adds a certificate on its own', { skip: withoutOpenssl }, async (t) => {
  const ca = authority(t);
  const server = ca.sign('server');
  const service = await testService(t, {
    AUTH: 'api-key, mtls',
    CORS_ORIGINS: APP,
    TLS_CERT: server.certFile,
    TLS_KEY: server.keyFile,
    TLS_CLIENT_CA: ca.certFile,
  });
  const { cert, key: secret } = ca.sign('alice');
  await makeKey(service.db, { subject: 'alice', certificate: cert });
  const { key } = await makeKey(service.db);
  const tls = { ca: ca.cert, cert, key: secret };
  const ticket = (headers: Record<string, string>) =>
    service.send('POST', '/events/tickets', { tls, headers });
  for (const [from, headers] of Object.entries(FOREIGN)) {
    t.match(await ticket(headers), REFUSED, from);
    t.equal((await ticket({ ...headers, 'x-api-key': key })).status, 201, `${from}, with a key`);
  }
  for (const headers of [{}, { origin: APP }, { origin: service.url }, { 'sec-fetch-site': 'same-origin' }])
    t.equal((await ticket(headers as Record<string, string>)).status, 201, JSON.stringify(headers));
});

/** Settings that decide which operations there are, and which of them take a credential. */
const SETTINGS: Readonly<Record<string, Record<string, string>>> = {
  'without AUTH': {},
  'with Basic and all features': {
    AUTH: 'api-key, basic, bearer',
    INSECURE: 'basic',
    BASIC_SCOPES: 'admin',
    AUTH_SERVER: 'on',
    PUBLIC_URL: 'http://127.0.0.1:3000',
    TOMBSTONES: 'on',
    REQUIRE_IF_MATCH: 'on',
  },
};

type Operations = Record<string, { readonly responses: Record<string, { readonly $ref?: string }> }>;

for (const [name, env] of Object.entries(SETTINGS))
  t.test(`each operation that writes refuses pages of other sites, ${name}`, async (t) => {
    const service = await testService(t, env);
    const own = 'AUTH' in env ? byPassword((await makeUser(service, 'ada@example.org')).email) : {};
    const { json } = await service.send('GET', '/openapi.json', { headers: own });
    const operations = Object.entries(json.paths as Record<string, Operations>).flatMap(([path, item]) =>
      ['post', 'put', 'patch', 'delete'].flatMap((method) =>
        item[method] ? [{ method, path, ...item[method] }] : [],
      ),
    );
    t.ok(operations.length > 20, 'the document has them');
    for (const { method, path, responses } of operations) {
      t.match(responses[403]?.$ref, /\bORIGIN_NOT_ALLOWED\b/, `the document of ${method} ${path}`);
      // Writes to several records need a filter.
      const target = `${path.replace(/\{\w+\}/g, '018bcfe5-6800-7000-8000-000000000000')}?filter=x`;
      for (const [from, headers] of some(Object.entries(FOREIGN), 2)) {
        const response = await service.send(method.toUpperCase(), target, {
          headers: { ...own, ...headers },
        });
        t.match(
          response,
          { status: 403, text: /\bORIGIN_NOT_ALLOWED\b/ },
          `${method} ${target} from ${from}`,
        );
      }
    }
  });
