import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { byToken } from '../../support/credentials.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import {
  authorizationServer,
  begin,
  consent,
  DEVICE,
  MACHINE,
  refusal,
  signIn,
} from './authorization-server.js';

t.jobs = 3;

const sorted = (scope: unknown) => String(scope).split(' ').sort().join(' ');
const meaningsIn = (text: string) => [...text.matchAll(/<li>([^<]*)<\/li>/g)].map(([, meaning]) => meaning);
const bearer = (token: string) => ({ headers: byToken(token) });

for (const tokenFormat of ['jwt', 'opaque'] as const)
  t.test(`a scope that permits writing implies the one that permits reading: ${tokenFormat}`, async (t) => {
    const server = await authorizationServer(t);
    const { service, user } = server;
    await setUserScopes(service.db, user.id, ['items:write']);
    const { config } = await server.register({ scopes: ['items:write'], token_format: tokenFormat });
    const scopeOf = async (token: string) => sorted((await client.tokenIntrospection(config, token)).scope);

    const reader = await signIn(server, config, { scope: 'openid items:read' });
    t.equal(sorted(reader.scope), 'items:read openid', 'a client may request less than it has');
    t.equal(await scopeOf(reader.access_token), 'items:read openid');
    t.equal((await service.send('GET', '/items', bearer(reader.access_token))).status, 200);
    const write = { ...bearer(reader.access_token), body: { name: 'lamp' } };
    t.equal((await service.send('POST', '/items', write)).status, 403);

    const writer = await signIn(server, config, { scope: 'openid items:write' });
    t.equal(sorted(writer.scope), 'items:write openid', 'a response names what was requested');
    t.equal(await scopeOf(writer.access_token), 'items:write openid');
    if (tokenFormat === 'jwt') t.equal(sorted(decodeJwt(writer.access_token).scope), 'items:write openid');
    t.equal((await service.send('GET', '/items', bearer(writer.access_token))).status, 200);
    for (const [scope, granted] of [
      [undefined, 'items:write openid'],
      ['items:read', 'items:read'],
      ['openid items:write', 'items:write openid'],
      ['openid items:write users:read offline_access', 'items:write openid'],
    ] as const) {
      const fresh = await signIn(server, config, { scope: 'openid items:write' });
      const parameters = scope === undefined ? undefined : { scope };
      const renewed = await client.refreshTokenGrant(config, fresh.refresh_token!, parameters);
      t.equal(await scopeOf(renewed.access_token), granted, `a refresh with ${scope}`);
      t.equal(sorted(renewed.scope), granted, 'in the response');
      if (tokenFormat === 'jwt') t.equal(sorted(decodeJwt(renewed.access_token).scope), granted);
      const again = await client.refreshTokenGrant(config, renewed.refresh_token!);
      t.equal(sorted(again.scope), 'items:write openid', 'the next refresh has all again');
    }
    const { refresh_token: token } = writer;
    const foreign = client.refreshTokenGrant(config, token!, { scope: 'users:read' });
    await t.rejects(foreign, refusal('invalid_scope'), 'but not others alone');
    t.ok((await client.refreshTokenGrant(config, token!)).access_token, 'a refused refresh consumes nothing');
  });

t.test('a client that requests more scopes than it is registered for gets what it may have', async (t) => {
  const server = await authorizationServer(t);
  await setUserScopes(server.service.db, server.user.id, ['admin']);
  const scope = 'openid self items:read items:write users:write admin unknown';
  const granted = 'items:read items:write openid';
  const { config, id } = await server.register({ scopes: ['items:write'] });
  const flow = await begin(server, config, { scope });
  const { text } = await flow.enter(server.user);
  t.same(meaningsIn(text), ['know who you are', 'read, change and delete items'], 'the page names no others');
  t.equal(sorted((await signIn(server, config, { scope })).scope), granted);
  const pushed = await server.post('/par', {
    ...{ client_id: id, response_type: 'code', scope, redirect_uri: 'http://127.0.0.1/callback' },
    ...{ code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' },
  });
  t.equal(pushed.status, 201, 'a pushed request');
  const device = await server.register({ ...DEVICE, scopes: ['items:write'] });
  t.ok((await client.initiateDeviceAuthorization(device.config, { scope })).user_code, 'a device');
  const robot = await server.register({ ...MACHINE, scopes: ['items:write', 'posts:read'] });
  for (const [requested, given] of [
    ['items:read', 'items:read'],
    ['items:write', 'items:write'],
    ['items:write items:read', 'items:read items:write'],
    ['users:read items:read admin', 'items:read'],
    ['posts:write', 'posts:read'],
  ] as const) {
    const tokens = await client.clientCredentialsGrant(robot.config, { scope: requested });
    t.equal(sorted(tokens.scope), given, requested);
    t.equal(sorted((await client.tokenIntrospection(robot.config, tokens.access_token)).scope), given);
  }
  const refused = client.clientCredentialsGrant(robot.config, { scope: 'admin users:read' });
  await t.rejects(refused, refusal('invalid_scope'), 'others alone');
  const foreign = await begin(server, config, { scope: 'users:read' });
  t.match((await foreign.open()).url, /error=invalid_scope/);
});

t.test('a consent to write needs no further one to read', async (t) => {
  const server = await authorizationServer(t);
  await setUserScopes(server.service.db, server.user.id, ['items:write']);
  const redirect = 'https://app.example.org/callback';
  const { config } = await server.register({ redirect_uris: [redirect], scopes: ['items:write'] });
  const parameters = { redirect_uri: redirect, prompt: '' };
  const flow = await begin(server, config, { ...parameters, scope: 'openid items:write' });
  t.match((await consent(flow, server.user)).url, /code=/);
  for (const scope of ['openid items:read', 'openid items:write']) {
    const again = await begin(server, config, { ...parameters, scope }, flow.visitor);
    t.match((await again.open()).url, /code=/, scope);
  }
});

t.test('the page names a scope once, also if another one implies it', async (t) => {
  const server = await authorizationServer(t);
  await setUserScopes(server.service.db, server.user.id, ['items:write', 'posts:read']);
  const { config } = await server.register({ scopes: ['items:write', 'posts:read'] });
  for (const [scope, ...meanings] of [
    ['openid items:write', 'know who you are', 'read, change and delete items'],
    ['items:read items:write', 'read, change and delete items'],
    ['items:read', 'read items'],
    ['posts:read items:write', 'read posts', 'read, change and delete items'],
  ] as const) {
    const { text } = await (await begin(server, config, { scope })).enter(server.user);
    t.same(meaningsIn(text), meanings, scope);
  }
});

t.test('a user or a client that may only read any more retains that', async (t) => {
  const server = await authorizationServer(t);
  const { service, user } = server;
  await setUserScopes(service.db, user.id, ['items:write']);
  const { config } = await server.register({ scopes: ['items:write'] });
  const tokens = await signIn(server, config, { scope: 'openid items:write' });
  const statuses = async (token: string) => [
    (await service.send('GET', '/items', bearer(token))).status,
    (await service.send('POST', '/items', { ...bearer(token), body: { name: 'lamp' } })).status,
  ];
  t.same(await statuses(tokens.access_token), [200, 201]);
  await setUserScopes(service.db, user.id, ['items:read']);
  const seen = () => statuses(tokens.access_token);
  await until('it may only read', seen, (found) => found.join() === '200,403');
  const { scope } = await client.tokenIntrospection(config, tokens.access_token);
  t.equal(sorted(scope), 'items:read openid', 'introspection names it');
  const renewed = await client.refreshTokenGrant(config, tokens.refresh_token!);
  t.equal(sorted(renewed.scope), 'items:read openid', 'a refresh retains it');
  t.same(await statuses(renewed.access_token), [200, 403]);
});
