import { discoverOAuthServerInfo } from '@modelcontextprotocol/sdk/client/auth.js';
import { valuesOf } from '../../support/callers.js';
import { declare } from '../../support/collections.js';
import { byKey, makeKey } from '../../support/credentials.js';
import { type SendOptions, testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { authorizationServer } from '../issuer/authorization-server.js';
import { connect } from './session.js';

t.jobs = 2;

/** A message on its own, as any HTTP client may send it. */
const message = (method: string, params: object = {}): SendOptions => ({
  body: { jsonrpc: '2.0', id: 1, method, params },
});

const LIST = message('tools/list');
const INITIALIZE = message('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
});

async function withKeys(t: Test, env: Record<string, string> = {}) {
  const service = await testService(t, { MCP: 'on', AUTH: 'api-key', ...env });
  const as = async (scopes: string[], subject = 'tester') => {
    const { key } = await makeKey(service.db, { scopes, subject });
    return { key, ...(await connect(t, service.url, { 'x-api-key': key })) };
  };
  return { ...service, as };
}

const named = async (client: Awaited<ReturnType<typeof connect>>['client']) =>
  (await client.listTools()).tools.map(({ name }) => name).sort();

t.test('a client without a credential learns where to get one', async (t) => {
  const { issuer, service } = await authorizationServer(t, { MCP: 'on' });
  const response = await service.send('POST', '/mcp', INITIALIZE);
  const metadata = `${issuer}/.well-known/oauth-protected-resource`;
  t.match(response, { status: 401, json: { error: { code: 'UNAUTHORIZED' } } });
  t.match(response.headers['www-authenticate'], `resource_metadata="${metadata}"`);
  await t.rejects(connect(t, service.url), /401|credential/);
  const found = await discoverOAuthServerInfo(new URL('/mcp', service.url), {
    resourceMetadataUrl: new URL(metadata),
  });
  t.match(found, {
    authorizationServerUrl: issuer,
    resourceMetadata: { resource: issuer },
    authorizationServerMetadata: { issuer, code_challenge_methods_supported: ['S256'] },
  });
});

t.test('tools are listed and run as far as the scopes permit', async (t) => {
  const { as, db } = await withKeys(t);
  const { client, call } = await as(['items:read']);
  t.same(await named(client), ['items_get', 'items_group', 'items_list']);
  const writer = await as(['items:write']);
  t.same(
    await named(writer.client),
    ['create', 'delete', 'get', 'group', 'list', 'update'].map((verb) => `items_${verb}`),
  );
  const { value } = await writer.call('items_create', { record: { name: 'Lamp' } });
  const { id } = value.record;
  t.match((await call('items_get', { id })).value, { etag: '"1"', record: { name: 'Lamp' } });
  const error = { status: 403, code: 'INSUFFICIENT_SCOPE', details: { scope: 'items:write' } };
  const refused = { isError: true, value: { error } };
  t.match(await call('items_create', { record: { name: 'Chair' } }), refused);
  t.match(await call('items_update', { id, patch: { price: 1 } }), refused);
  t.match(await call('items_delete', { id }), refused);
  t.match(await call('users_list'), { isError: true, value: { error: { code: 'INSUFFICIENT_SCOPE' } } });
  t.same(valuesOf((await client.listResourceTemplates()).resourceTemplates, 'uriTemplate'), [
    'plinth://items/{id}',
  ]);
  const hidden = client.readResource({ uri: `plinth://users/${id}` });
  await t.rejects(hidden, { code: -32_600, data: { status: 403, code: 'INSUFFICIENT_SCOPE' } });
  const [row] = await db.run('select count(*)::int as count from public_collections.items', []);
  t.match(row, { count: 1 }, 'nothing was written');
});

t.test('self: a caller sees and changes its own records', async (t) => {
  const open = await testService(t);
  const user = async (name: string) =>
    (await open.send('POST', '/users', { body: { name, email: `${name}@example.org` } })).json.id as string;
  const [ada, eve] = [await user('ada'), await user('eve')];
  const post = async (userId: string) =>
    (await open.send('POST', '/posts', { body: { userId, title: 'a' } })).json.id as string;
  const [adas, eves] = [await post(ada), await post(eve)];
  const { as } = await withKeys(t, { DATABASE_URL: open.databaseUrl });
  const { client, call } = await as(['self'], ada);
  t.same(await named(client), [
    ...['create', 'delete', 'get', 'group', 'list', 'update'].map((verb) => `posts_${verb}`),
    ...['get', 'update'].map((verb) => `users_${verb}`),
  ]);
  const allowed = async (name: string, args: object) =>
    t.equal((await call(name, args as never)).isError, false, `${name} ${JSON.stringify(args)}`);
  const refused = async (name: string, args: object, status = 403) =>
    t.match(await call(name, args as never), { isError: true, value: { error: { status } } });
  await allowed('users_get', { id: ada });
  await allowed('users_update', { id: ada, patch: { age: 40 } });
  await allowed('posts_update', { id: adas, patch: { title: 'b' } });
  await allowed('posts_create', { record: { userId: ada, title: 'c' } });
  const { value } = await call('posts_list');
  t.same(new Set(value.data.map(({ userId }: { userId: string }) => userId)), new Set([ada]));
  t.equal(value.meta.total, 2);
  await refused('users_get', { id: eve });
  await refused('users_update', { id: eve, patch: { age: 1 } });
  await refused('posts_get', { id: eves }, 404);
  await allowed('posts_delete', { id: eves });
  t.equal((await open.send('GET', `/posts/${eves}`)).status, 200, 'as one that does not exist');
  await refused('posts_create', { record: { userId: eve, title: 'd' } }, 422);
  await refused('users_list', {});
  const hidden = client.readResource({ uri: `plinth://users/${eve}` });
  await t.rejects(hidden, { code: -32_600, data: { status: 403 } });
});

t.test('a collection that everyone may read still needs a credential here', async (t) => {
  const notes = { type: 'object', properties: {}, 'x-collection': { public: 'read' } };
  const COLLECTIONS = declare(t, { 'notes.json': notes });
  const { send, as } = await withKeys(t, { COLLECTIONS, MIGRATE: 'auto' });
  t.equal((await send('POST', '/mcp', LIST)).status, 401);
  t.same(await named((await as(['items:read'])).client), ['notes_get', 'notes_group', 'notes_list']);
});

t.test('each message counts against the rate limit, and an array of them is refused', async (t) => {
  const { send, db } = await withKeys(t, { RATE_LIMIT: '2/3600' });
  const headers = byKey((await makeKey(db, { scopes: ['items:read'] })).key);
  const array = await send('POST', '/mcp', { headers, body: [LIST.body, LIST.body] });
  t.match(array, { status: 400, json: { error: { code: 'BAD_REQUEST', message: /one JSON-RPC message/ } } });
  t.equal((await send('POST', '/mcp', { headers, ...LIST })).status, 200);
  const limited = {
    status: 429,
    headers: { 'retry-after': String },
    json: { error: { code: 'RATE_LIMITED' } },
  };
  t.match(await send('POST', '/mcp', { headers, ...LIST }), limited);
});

t.test('pages of other origins are refused, and those of CORS_ORIGINS and PUBLIC_URL are not', async (t) => {
  const app = 'https://app.example.org';
  const env = { MCP: 'on', CORS_ORIGINS: app, PUBLIC_URL: 'https://api.example.org' };
  const { send } = await testService(t, env);
  const from = (origin: string) => send('POST', '/mcp', { ...LIST, headers: { origin } });
  for (const origin of ['https://evil.example', 'null', 'http://localhost', 'https://app.example.org:8443'])
    t.match(await from(origin), { status: 403, json: { error: { code: 'ORIGIN_NOT_ALLOWED' } } });
  for (const origin of ['https://app.example.org', 'https://api.example.org'])
    t.equal((await from(origin)).status, 200);
  const headers = { origin: app, 'access-control-request-method': 'POST' };
  const preflight = await send('OPTIONS', '/mcp', { headers });
  t.match(preflight.headers['access-control-allow-headers'], /MCP-Protocol-Version/);
  const rebound = await send('POST', '/mcp', { ...LIST, headers: { host: 'evil.example' } });
  t.match(rebound, { status: 421, json: { error: { code: 'MISDIRECTED_REQUEST' } } });
});

t.test('the transport has no sessions and no streams', async (t) => {
  const { send } = await testService(t, { MCP: 'on' });
  const initialized = await send('POST', '/mcp', INITIALIZE);
  t.match(initialized, { status: 200, headers: { 'content-type': 'application/json' } });
  t.equal(initialized.headers['mcp-session-id'], undefined);
  t.match(initialized.json, { jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-11-25' } });
  const notification = { body: { jsonrpc: '2.0', method: 'notifications/initialized' } };
  t.match(await send('POST', '/mcp', notification), { status: 202, text: '' });
  for (const method of ['GET', 'DELETE'])
    t.match(await send(method, '/mcp'), { status: 405, headers: { allow: 'POST, OPTIONS' } });
  const old = await send('POST', '/mcp', { ...LIST, headers: { 'mcp-protocol-version': '1999-01-01' } });
  t.match(old, { status: 400, json: { error: { code: -32_000 } } });
  t.match(await send('POST', '/mcp', { body: { method: 'tools/list' } }), { status: 400 });
  t.match(await send('POST', '/mcp', message('tools/drop')), { json: { error: { code: -32_601 } } });
  t.equal((await send('POST', '/mcp', { ...LIST, headers: { accept: 'text/html' } })).status, 406);
  t.equal((await send('POST', '/mcp', { ...LIST, type: 'text/plain' })).status, 415);
  t.equal((await send('POST', '/mcp', { body: '{' })).status, 400);
  const batch = { operations: [{ method: 'POST', path: '/mcp', body: LIST.body }] };
  t.equal((await send('POST', '/batch', { body: batch })).status, 404);
});

t.test('bodies are bounded as everywhere', async (t) => {
  const { url, send } = await testService(t, { MCP: 'on', BODY_LIMIT: '2000' });
  const { call } = await connect(t, url);
  const large = { name: 'items_create', arguments: { record: { name: 'a', text: 'x'.repeat(2000) } } };
  t.match(await send('POST', '/mcp', message('tools/call', large)), {
    status: 413,
    json: { error: { code: 'PAYLOAD_TOO_LARGE', details: { limit: 2000 } } },
  });
  await t.rejects(call(large.name, large.arguments), /413|may have at most/);
  const fields = Array.from({ length: 60 }, (_, index) => `f${index}`);
  t.match(await call('items_list', { fields }), { isError: true, value: { error: { status: 400 } } });
});

t.test('a database that is away is a 503, and nothing of its error is shown', async (t) => {
  const { send, db } = await testService(t, { MCP: 'on' });
  t.equal((await send('POST', '/mcp', LIST)).status, 200);
  await db.run('alter table public_collections.items rename to things', []);
  const got = await send('POST', '/mcp', message('tools/call', { name: 'items_list', arguments: {} }));
  t.match(got, { status: 500, json: { error: { code: 'INTERNAL_ERROR' } } });
  t.notMatch(got.text, /relation|items/);
  await db.close();
  const away = await send('POST', '/mcp', message('tools/call', { name: 'items_list', arguments: {} }));
  t.match(away, { status: 503, headers: { 'retry-after': String }, json: { error: { code: String } } });
});
