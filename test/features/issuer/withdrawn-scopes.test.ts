import * as client from 'openid-client';
import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { follow } from '../../events/follow.js';
import { plinth } from '../../support/command.js';
import { byToken } from '../../support/credentials.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import { authorizationServer, secondProcess, signIn } from './authorization-server.js';

t.jobs = 3;

const SCOPE = 'openid self items:write events:read offline_access';
const bearer = (token: string) => ({ headers: byToken(token) });
const sorted = (scope: string | undefined) => scope?.split(' ').sort().join(' ');

for (const tokenFormat of ['jwt', 'opaque'] as const)
  t.test(`a withdrawn scope leaves tokens, refreshes, streams and tickets: ${tokenFormat}`, async (t) => {
    const server = await authorizationServer(t);
    const { service, issuer, user } = server;
    const second = await secondProcess(t, server);
    await setUserScopes(service.db, user.id, ['items:write', 'events:read']);
    const scopes = ['self', 'items:write', 'events:read'];
    const { config } = await server.register({ scopes, token_format: tokenFormat });
    const tokens = await signIn(server, config, { scope: SCOPE });
    const { access_token: token } = tokens;
    const write = async ({ send } = service) =>
      (await send('POST', '/items', { ...bearer(token), body: { name: 'lamp' } })).status;
    t.same([await write(), await write(second)], [201, 201]);
    const stream = await follow(t, `${issuer}/events?types=items.*`, bearer(token).headers);
    t.equal(stream.status, 200);
    const make = async (): Promise<string> =>
      (await service.send('POST', '/events/tickets', bearer(token))).json._links.events.href;
    const [used, late] = [await make(), await make()];
    const byTicket = await follow(t, `${second.url}${used}&types=items.*&after=now`);
    t.equal(byTicket.status, 200);

    const env = { DATABASE_URL: service.databaseUrl };
    const set = await plinth(t, ['users', 'set-scopes', user.email, '--scopes', 'events:read'], env);
    t.equal(set.code, 0, set.err);
    const both = async () => `${await write()},${await write(second)}`;
    await until('both processes refuse the scope', both, '403,403');
    await until('both streams end', () => stream.isOver() && byTicket.isOver());
    const { json } = await service.send('GET', '/whoami', bearer(token));
    t.same([...json.scopes].sort(), ['events:read', 'openid', 'self'], 'the others stay');
    const left = sorted('openid self events:read');
    t.equal(sorted((await client.tokenIntrospection(config, token)).scope), left);

    const accept = { accept: 'text/event-stream' };
    const unused = await second.send('GET', `${late}&types=items.*`, { headers: accept });
    t.equal(unused.status, 403, 'an unused ticket');
    const fresh = await signIn(server, config, { scope: SCOPE });
    t.notMatch(fresh.scope, /items/, 'a new consent');
    const renewed = await client.refreshTokenGrant(config, tokens.refresh_token!, { scope: SCOPE });
    t.equal(sorted(renewed.scope), left, 'a token from before the withdrawal');
    const attempt = { ...bearer(renewed.access_token), body: { name: 'x' } };
    t.equal((await service.send('POST', '/items', attempt)).status, 403);
  });

t.test('administration that was withdrawn permits nothing more', async (t) => {
  const server = await authorizationServer(t);
  const { service, user } = server;
  await setUserScopes(service.db, user.id, ['admin']);
  const { config } = await server.register({ scopes: ['admin', 'users:write'] });
  const { access_token: token } = await signIn(server, config, { scope: 'openid admin users:write' });
  const statuses = async () =>
    `${await server.statusOf(token, '/oauth-clients')},${await server.statusOf(token, '/users')}`;
  t.equal(await statuses(), '200,200');
  const env = { DATABASE_URL: service.databaseUrl };
  t.equal((await plinth(t, ['users', 'set-scopes', user.email, '--scopes', ''], env)).code, 0);
  await until('it is refused', statuses, '403,403');
});
