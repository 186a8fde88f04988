import { authority, withoutOpenssl } from '../support/certificates.js';
import { makeKey } from '../support/credentials.js';
import { raw, type SendOptions, testService } from '../support/service.js';
import t from '../support/test.js';

const PRIVATE = /^(?:no-store|private\b.*)$/;
/** Resources that every caller gets alike, without a credential. */
const PUBLIC = new Set(['/.well-known/oauth-protected-resource']);

t.test('every response that depends on a credential is private or not stored', async (t) => {
  const service = await testService(t, { AUTH: 'api-key,bearer', TOMBSTONES: 'on', AUTH_FAILURES: '0' });
  const { key } = await makeKey(service.db);
  const { key: weak } = await makeKey(service.db, { scopes: ['self'] });
  const as = (credential: string, more: SendOptions = {}): SendOptions => ({
    ...more,
    headers: { 'x-api-key': credential, ...more.headers },
  });
  const seen = new Set<number>();
  const check = async (method: string, path: string, options: SendOptions) => {
    const { status, headers, json } = await service.send(method, path, options);
    seen.add(status);
    t.match(headers['cache-control'], PRIVATE, `${method} ${path}: ${status}`);
    return { status, headers, json };
  };
  const user = await check('POST', '/users', as(key, { body: { email: 'a@example.org', name: 'A' } }));
  const id: string = user.json.id;
  const item = await check('POST', '/items', as(key, { body: { name: 'I' } }));

  for (const { path, actions } of service.routes) {
    // The style and the script of pages have their hashes in their paths.
    if (PUBLIC.has(path) || path.startsWith('/_assets/')) continue;
    const target = path.replace(':id', id);
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'TRACE', ...Object.keys(actions)]) {
      await check(method, target, {});
      await check(method, target, as('plinth_wrong'));
      await check(method, target, as(weak));
      if (method === 'DELETE') continue;
      const body = method === 'GET' || method === 'HEAD' ? {} : { body: '{', type: 'application/json' };
      await check(method, target, as(key, body));
      await check(method, target, as(key, { headers: { accept: 'image/png' } }));
      await check(method, target, as(key, { headers: { accept: 'text/html' } }));
    }
  }

  const { headers } = await check('GET', `/items/${item.json.id}`, as(key));
  await check('GET', `/items/${item.json.id}`, as(key, { headers: { 'if-none-match': headers.etag! } }));
  await check('GET', `/users/${id}`, as(key, { headers: { 'if-match': '"99"' } }));
  await check('GET', '/users', as(key));
  await check('GET', '/users?page=1', as(key));
  await check('GET', `/users/${id}/posts`, as(key));
  await check('GET', '/items?sort=name', as(key));
  await check('GET', '/nowhere', as(key));
  await check('GET', '/items?bad=1', as(key));
  await check('GET', `/items?search=${'a'.repeat(9000)}`, as(key));
  await check('GET', '/items', as(key, { headers: { 'x-long': 'a'.repeat(17_000) } }));
  await check('PATCH', `/users/${id}`, as(key, { body: { name: 'B' } }));
  await check(
    'PATCH',
    `/users/${id}`,
    as(key, { body: { name: 'C' }, headers: { prefer: 'return=minimal' } }),
  );
  await check('PATCH', `/users/${id}`, as(key, { body: { _version: 1, name: 'D' } }));
  await check('PATCH', `/users/${id}`, as(key, { body: '{}', type: 'text/plain' }));
  await check('PUT', `/users/${id}`, as(key, { body: { email: 'a@example.org', name: 'E' } }));
  await check('POST', '/posts', as(key, { body: { userId: 'none' } }));
  await check('POST', '/users', as(key, { headers: { expect: 'nothing' }, body: {} }));
  const once = as(key, { body: { name: 'once' }, headers: { 'idempotency-key': 'k' } });
  t.equal((await check('POST', '/items', once)).status, 201);
  t.equal((await check('POST', '/items', once)).headers['idempotency-replayed'], 'true');
  await check('DELETE', `/users/${id}`, as(key));
  await check('GET', `/users/${id}`, as(key));
  await check('FOO', '/users', as(key));
  service.setMaintenance(true);
  await check('GET', '/users', as(key));
  const wanted = [200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 409, 410, 412, 414, 415, 417, 422, 431];
  for (const status of [...wanted, 501, 503]) t.ok(seen.has(status), `${status} was among them`);

  const malformed = await raw(service.url, 'GET /a b HTTP/1.1\r\n\r\n');
  t.match(malformed, /^HTTP\/1\.1 400 .*\r\ncache-control: no-store\r\n/is);
});

t.test('over TLS each response has Strict-Transport-Security', { skip: withoutOpenssl }, async (t) => {
  const ca = authority(t);
  const server = ca.sign('server');
  const env = { TLS_CERT: server.certFile, TLS_KEY: server.keyFile };
  const tls = { tls: { ca: ca.cert } };
  const plain = await testService(t);
  t.equal((await plain.send('GET', '/items')).headers['strict-transport-security'], undefined);
  const { send } = await testService(t, env);
  for (const [method, path] of [
    ['GET', '/items'],
    ['GET', '/items?page=1'],
    ['HEAD', '/users'],
    ['GET', '/nowhere'],
    ['OPTIONS', '/items'],
    ['FOO', '/items'],
    ['GET', '/healthz'],
  ] as const) {
    const { headers } = await send(method, path, tls);
    t.equal(headers['strict-transport-security'], 'max-age=31536000', `${method} ${path}`);
  }
  const headers = { 'x-long': 'a'.repeat(60_000) };
  const refused = await send('GET', '/items', { ...tls, headers });
  t.equal(refused.status, 431);
  t.equal(refused.headers['strict-transport-security'], 'max-age=31536000', 'one that is no request');
  const short = await testService(t, { ...env, HSTS_MAX_AGE: '60' });
  const field = (await short.send('GET', '/items', tls)).headers['strict-transport-security'];
  t.equal(field, 'max-age=60');
  const off = await testService(t, { ...env, HSTS_MAX_AGE: '0' });
  t.equal((await off.send('GET', '/items', tls)).headers['strict-transport-security'], undefined);
});
