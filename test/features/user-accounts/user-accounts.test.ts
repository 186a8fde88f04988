import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { follow } from '../../events/follow.js';
import { plinth } from '../../support/command.js';
import { byToken, makeKey, PASSWORD } from '../../support/credentials.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import { Authenticator, optionsOf, tokenOf } from '../issuer/authenticator.js';
import { authorizationServer, begin, signIn } from '../issuer/authorization-server.js';
import { Visitor } from '../issuer/visitor.js';

const server = await authorizationServer(t, { AUTH: 'bearer,api-key' });
const { service, user } = server;
const { key: admin } = await makeKey(service.db);
const send = (method: string, path: string, body?: object, key = admin) =>
  service.send(method, path, { headers: { 'x-api-key': key }, ...(body && { body }) });
const path = `/user-accounts/${user.id}`;

t.test('an administrator reads and changes accounts', async (t) => {
  const { key: other } = await makeKey(service.db, { scopes: ['users:write'] });
  for (const refused of ['/user-accounts', path])
    t.equal((await send('GET', refused, undefined, other)).status, 403);
  const { json, headers } = await send('GET', path);
  t.match(json, {
    id: user.id,
    email: user.email,
    scopes: [],
    disabled: false,
    has_password: true,
    passkeys: 0,
  });
  t.match((await send('GET', '/user-accounts')).json.data, [{ id: user.id }]);
  const changed = await send('PATCH', path, { scopes: ['items:read'] });
  t.match([changed.status, changed.json], [200, { scopes: ['items:read'], disabled: false }]);
  const stale = { 'x-api-key': admin, 'if-match': String(headers.etag) };
  t.equal((await service.send('PATCH', path, { headers: stale, body: { scopes: [] } })).status, 412);
  t.equal((await service.send('GET', path, { headers: stale })).status, 412);
  for (const each of ['/user-accounts', path]) {
    const { etag } = (await send('GET', each)).headers;
    const same = { 'x-api-key': admin, 'if-none-match': String(etag) };
    t.equal((await service.send('GET', each, { headers: same })).status, 304, each);
  }
  t.match(await send('PATCH', path, { scopes: ['all:things'] }), {
    status: 400,
    json: { error: { details: [{ path: '/scopes/0', keyword: 'enum' }] } },
  });
  for (const name of ['scopes', 'disabled', 'second_factor', 'sessions'])
    t.match(await send('PATCH', path, { [name]: null }), {
      status: 400,
      json: { error: { details: [{ path: `/${name}`, keyword: 'type' }] } },
    });
  for (const id of ['x', '01a20900-0000-7000-8000-000000000001'])
    t.equal((await send('PATCH', `/user-accounts/${id}`, { scopes: [] })).status, 404);
  for (const [method, at] of [
    ['POST', '/user-accounts'],
    ['DELETE', path],
    ['PUT', path],
  ] as const)
    t.equal((await send(method, at, {})).status, 405, 'users begin and end as records');
});

t.test('the tokens, sessions and keys of a disabled user end, and do not come back', async (t) => {
  const { config } = await server.register();
  const { access_token: token } = await signIn(server, config);
  const { key: own } = await makeKey(service.db, { subject: user.id, scopes: ['self'] });
  const statuses = async () => [
    (await service.send('GET', '/whoami', { headers: byToken(token) })).status,
    (await send('GET', '/whoami', undefined, own)).status,
  ];
  t.same(await statuses(), [200, 200]);
  t.match((await send('PATCH', path, { disabled: true })).json, { disabled: true, sessions: 0 });
  await until('both end', statuses, (seen) => seen.every((status) => status === 401));
  await t.rejects(signIn(server, config), /the sign-in ends at/);
  t.match((await send('PATCH', path, { disabled: false })).json, { disabled: false, disabled_at: null });
  t.equal((await statuses())[0], 401, 'a token that has ended');
  await until('the key, which is not deleted, is valid again', async () => (await statuses())[1], 200);
  t.ok((await signIn(server, config)).access_token);
});

t.test('all that a user has in one process ends when another process disables the user', async (t) => {
  const settings = { AUTH: 'bearer,api-key', AUTH_FAILURES: '0' };
  const first = await authorizationServer(t, { host: 'localhost', ...settings });
  const { service, issuer, user } = first;
  const second = await testService(t, {
    ...settings,
    AUTH_SERVER: 'on',
    PUBLIC_URL: issuer,
    DATABASE_URL: service.databaseUrl,
  });
  const { key: operator } = await makeKey(service.db);
  const { key: own } = await makeKey(service.db, { subject: user.id, scopes: ['self', 'events:read'] });
  const visitor = new Visitor(issuer);
  const right = { email: user.email, password: PASSWORD, action: 'sign-in' };
  const account = await visitor.submit(await visitor.open('/account'), right);
  const authenticator = new Authenticator(issuer);
  const response = authenticator.create(optionsOf(account));
  t.match(
    (await visitor.submit(account, { token: tokenOf(account), action: 'passkey', response })).text,
    'Added',
  );
  const [jwt, opaque] = await Promise.all(
    (['jwt', 'opaque'] as const).map(async (token_format) => {
      const { config } = await first.register({ token_format });
      return signIn(first, config);
    }),
  );
  const credentials: Record<string, string>[] = [
    { authorization: `Bearer ${jwt!.access_token}` },
    { authorization: `Bearer ${opaque!.access_token}` },
    { 'x-api-key': own },
  ];
  const statuses = () =>
    Promise.all(
      credentials.map(async (headers) => (await service.send('GET', '/whoami', { headers })).status),
    );
  t.same(await statuses(), [200, 200, 200]);
  const streams = await Promise.all(
    credentials.map((headers) => follow(t, `${issuer}/events`, { ...headers })),
  );
  t.same(
    streams.map(({ status }) => status),
    [200, 200, 200],
  );
  const { config } = await first.register();
  const waiting = await begin(first, config);
  const form = await waiting.open();
  const headers = { 'x-api-key': operator };
  const body = { disabled: true };
  t.equal((await second.send('PATCH', `/user-accounts/${user.id}`, { headers, body })).status, 200);
  await until('all credentials end', statuses, (seen) => seen.every((status) => status === 401));
  await until('all streams end', () => streams.every((stream) => stream.isOver()));
  const byPasskey = await authenticator.signIn(waiting.visitor, form, 1, user.id);
  t.match(byPasskey, { status: 422, text: 'The passkey is not valid here' });
  t.match(await waiting.visitor.submit(byPasskey, right), { status: 422 });
  t.match((await visitor.open('/account')).text, 'to your account', 'the session');
});

t.test('the sessions of a user end, with what applications have obtained', async (t) => {
  const { config } = await server.register();
  const { access_token: token } = await signIn(server, config);
  t.ok((await send('GET', path)).json.sessions > 0);
  t.match(await send('PATCH', path, { sessions: 99 }), {
    status: 400,
    json: { error: { details: [{ path: '/sessions', keyword: 'const' }] } },
  });
  const { status, json } = await send('PATCH', path, { sessions: 0 });
  t.match([status, json], [200, { sessions: 0, disabled: false }]);
  const read = { headers: byToken(token) };
  await until(
    'the token ends',
    async () => (await service.send('GET', '/whoami', read)).status,
    (seen) => seen === 401,
  );
  t.ok((await signIn(server, config)).access_token, 'the user may sign in again');
});

t.test('the command lists, shows, disables, enables and deletes users', async (t) => {
  const env = { DATABASE_URL: service.databaseUrl };
  const { id, email } = await server.addUser('bob@example.org');
  await setUserScopes(service.db, id, ['items:read']);
  const run = async (...args: string[]) => {
    const { code, out, err } = await plinth(t, ['users', ...args], env);
    t.equal(code, 0, err);
    return out;
  };
  t.match(JSON.parse((await run('list')).split('\n')[0]!), { id, email, scopes: ['items:read'] });
  await run('disable', email);
  t.match(JSON.parse(await run('show', email)), { email, disabled: true, scopes: ['items:read'] });
  await run('enable', email);
  await run('scopes', email, '--scopes', '');
  t.match(JSON.parse(await run('show', email, '--json')), { disabled: false, scopes: [] });
  await run('delete', email);
  t.equal((await plinth(t, ['users', 'show', email], env)).code, 1);
  t.equal((await send('GET', `/user-accounts/${id}`)).status, 404);
});
