import { authority, withoutOpenssl } from '../support/certificates.js';
import { makeKey } from '../support/credentials.js';
import { type SendOptions, testService } from '../support/service.js';
import t from '../support/test.js';

const APP = 'https://app.example.org';
const EVIL = 'https://evil.example';
const REFUSED = { status: 403, json: { error: { code: 'ORIGIN_NOT_ALLOWED' } } };

/** What browsers send with requests of pages of other sites. */
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
  const body = { url: 'https://hooks.example.org/', types: ['items.*'] };
  const { json: hook } = await send('POST', '/webhooks', { body });
  const writes: [method: string, path: string, SendOptions?][] = [
    ['POST', `/webhooks/${hook.id}/rotate`],
    ['POST', '/events/tickets'],
    ['POST', '/items', { body: { name: 'chair' } }],
    ['POST', '/batch', { body: [{ method: 'DELETE', path: `/items/${item.id}` }] }],
    ['PUT', `/items/${item.id}`, { body: { name: 'table' } }],
    ['PATCH', `/items/${item.id}`, { body: { name: 'table' } }],
    ['DELETE', `/items/${item.id}`],
    ['DELETE', `/webhooks/${hook.id}`],
  ];
  for (const [method, path, options = {}] of writes)
    for (const [from, headers] of Object.entries(FOREIGN))
      t.match(await send(method, path, { ...options, headers }), REFUSED, `${method} ${path} from ${from}`);
  t.equal((await send('GET', `/items/${item.id}`)).json.name, 'lamp');
  t.match((await send('GET', '/items')).json.data ?? (await send('GET', '/items')).json, { length: 1 });

  for (const headers of Object.values(FOREIGN)) {
    t.equal((await send('GET', `/items/${item.id}`, { headers })).status, 200, 'reading is not writing');
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
    t.equal((await send('PATCH', `/items/${item.id}`, { body: { from }, headers })).status, 200, from);
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
    BASIC_INSECURE: 'loopback',
    BASIC_SCOPES: 'admin',
  });
  const { key } = await makeKey(service.db);
  const keyed = { 'x-api-key': key };
  const user = { email: 'ada@example.org', name: 'Ada', password: 'a long enough password 1' };
  t.equal((await service.send('POST', '/users', { headers: keyed, body: user })).status, 201);
  const basic = {
    authorization: `Basic ${Buffer.from(`${user.email}:${user.password}`).toString('base64')}`,
  };
  for (const [from, headers] of Object.entries(FOREIGN)) {
    const ticket = (credential: Record<string, string>) =>
      service.send('POST', '/events/tickets', { headers: { ...headers, ...credential } });
    t.match(await ticket(basic), REFUSED, from);
    t.equal((await ticket(keyed)).status, 201, from);
  }
  t.equal((await service.send('POST', '/events/tickets', { headers: basic })).status, 201);
});

t.test('the default port is in the Host, in the Origin or in neither', async (t) => {
  const { send } = await testService(t, { ALLOWED_HOSTS: 'plinth.test' });
  const from = (host: string, origin: string) =>
    send('POST', '/items', { body: { name: 'x' }, headers: { host, origin } });
  for (const [host, origin] of [
    ['plinth.test:80', 'http://plinth.test'],
    ['plinth.test', 'http://plinth.test'],
    ['Plinth.Test:80', 'http://plinth.test'],
    ['plinth.test:443', 'https://plinth.test'],
    ['plinth.test:8080', 'http://plinth.test:8080'],
  ] as const)
    t.equal((await from(host, origin)).status, 201, `${host} from ${origin}`);
  for (const [host, origin] of [
    ['plinth.test:443', 'http://plinth.test'],
    ['plinth.test:80', 'https://plinth.test'],
    ['plinth.test:8080', 'http://plinth.test'],
    ['plinth.test', 'http://plinth.test:8080'],
    ['plinth.test', 'http://evil.example'],
    ['plinth.test', 'null'],
  ] as const)
    t.match(await from(host, origin), REFUSED, `${host} from ${origin}`);
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
