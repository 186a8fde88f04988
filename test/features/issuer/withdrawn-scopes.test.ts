import * as client from 'openid-client';
import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { follow } from '../../events/follow.js';
import { plinth } from '../../support/command.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import { authorizationServer, secondProcess, signIn } from './authorization-server.js';

t.jobs = 3;

const SCOPE = 'openid self items:write events:read offline_access';
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const sorted = (scope: string | undefined) => scope?.split(' ').sort().join(' ');

for (const tokenFormat of ['jwt', 'opaque'] as const)
  t.test(`a withdrawn scope leaves tokens, refreshes and streams: ${tokenFormat}`, async (t) => {
    const server = await authorizationServer(t);
    const { service, issuer, user } = server;
    const second = await secondProcess(t, server);
    await setUserScopes(service.db, user.id, ['items:write', 'events:read']);
    const { config } = await server.register({
      scopes: ['self', 'items:write', 'events:read'],
      token_format: tokenFormat,
    });
    const tokens = await signIn(server, config, { scope: SCOPE });
    const { access_token: token } = tokens;
    const write = async ({ send } = service) =>
      (await send('POST', '/items', { ...bearer(token), body: { name: 'lamp' } })).status;
    t.same([await write(), await write(second)], [201, 201]);
    const stream = await follow(t, `${issuer}/events?types=items.*`, bearer(token).headers);
    t.equal(stream.status, 200);

    const env = { DATABASE_URL: service.databaseUrl };
    const set = await plinth(t, ['users', 'set-scopes', user.email, '--scopes', 'events:read'], env);
    t.equal(set.code, 0, set.err);
    await until(
      'both processes refuse the scope',
      async () => [await write(), await write(second)],
      (seen) => seen.every((status) => status === 403),
    );
    await until('the stream ends', () => stream.isOver());
    const { json } = await service.send('GET', '/whoami', bearer(token));
    t.same([...json.scopes].sort(), ['events:read', 'openid', 'self'], 'the others stay');
    t.equal(
      sorted((await client.tokenIntrospection(config, token)).scope),
      sorted('openid self events:read'),
    );

    const fresh = await signIn(server, config, { scope: SCOPE });
    t.notMatch(fresh.scope, /items/, 'a new consent');
    const renewed = await client.refreshTokenGrant(config, tokens.refresh_token!, { scope: SCOPE });
    t.equal(sorted(renewed.scope), sorted('openid self events:read'), 'a token from before the withdrawal');
    const attempt = await service.send('POST', '/items', {
      ...bearer(renewed.access_token),
      body: { name: 'x' },
    });
    t.equal(attempt.status, 403);
  });

t.test('administration that was withdrawn permits nothing more', async (t) => {
  const server = await authorizationServer(t);
  const { service, user } = server;
  await setUserScopes(service.db, user.id, ['admin']);
  const { config } = await server.register({ scopes: ['admin', 'users:write'] });
  const { access_token: token } = await signIn(server, config, { scope: 'openid admin users:write' });
  const statuses = async () => [
    (await service.send('GET', '/oauth-clients', bearer(token))).status,
    (await service.send('GET', '/users', bearer(token))).status,
  ];
  t.same(await statuses(), [200, 200]);
  const env = { DATABASE_URL: service.databaseUrl };
  t.equal((await plinth(t, ['users', 'set-scopes', user.email, '--scopes', ''], env)).code, 0);
  await until('it is refused', statuses, (seen) => seen.every((status) => status === 403));
});

t.test('the deletion of a user notifies of scopes only if the user had some', async (t) => {
  const server = await authorizationServer(t);
  const { db } = server.service;
  const messages: string[] = [];
  let isOpen = false;
  const close = db.listen('plinth_issuer', {
    onMessage: (message) => messages.push(message),
    onOpen: () => {
      isOpen = true;
    },
    onLost: () => undefined,
  });
  t.teardown(close);
  await until('it listens', () => isOpen);
  // Notifications arrive in the order of their transactions.
  const arrival = async (mark: string) => {
    await db.run("select pg_notify('plinth_issuer', $1)", [mark]);
    await until('all has arrived', () => messages.includes(mark));
  };
  const remove = async (scopes: readonly string[]) => {
    const { id } = await server.addUser(`with-${scopes.length}@example.org`);
    if (scopes.length > 0) await setUserScopes(db, id, scopes);
    await arrival('begin');
    messages.length = 0;
    await db.run('delete from public_collections.users where id = $1', [id]);
    await arrival('end');
    return messages.filter((message) => message !== 'end');
  };
  t.same(await remove([]), []);
  t.same(await remove(['items:read']), ['revoked']);
});
