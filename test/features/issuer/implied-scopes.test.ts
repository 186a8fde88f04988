import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import { setUserScopes } from '../../../src/auth/user-scopes.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import { authorizationServer, begin, consent, PASSWORD, signIn } from './authorization-server.js';

t.jobs = 3;

const sorted = (scope: unknown) => String(scope).split(' ').sort().join(' ');
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

for (const tokenFormat of ['jwt', 'opaque'] as const)
  t.test(`a scope that permits writing implies the one that permits reading: ${tokenFormat}`, async (t) => {
    const server = await authorizationServer(t);
    const { service, user } = server;
    await setUserScopes(service.db, user.id, ['items:write']);
    const { config } = await server.register({ scopes: ['items:write'], tokenFormat });
    const scopeOf = async (token: string) => sorted((await client.tokenIntrospection(config, token)).scope);

    const reader = await signIn(server, config, { scope: 'openid items:read' });
    t.equal(sorted(reader.scope), 'items:read openid', 'a client may request less than it has');
    t.equal(await scopeOf(reader.access_token), 'items:read openid');
    t.equal((await service.send('GET', '/items', bearer(reader.access_token))).status, 200);
    const write = { ...bearer(reader.access_token), body: { name: 'lamp' } };
    t.equal((await service.send('POST', '/items', write)).status, 403);

    const writer = await signIn(server, config, { scope: 'openid items:write' });
    const both = 'items:read items:write openid';
    t.equal(sorted(writer.scope), both);
    t.equal(await scopeOf(writer.access_token), both);
    if (tokenFormat === 'jwt') t.equal(sorted(decodeJwt(writer.access_token).scope), both);
    for (const [requested, granted] of [
      ['items:read', 'items:read'],
      ['openid items:write', both],
    ] as const) {
      const fresh = await signIn(server, config, { scope: 'openid items:write' });
      const renewed = await client.refreshTokenGrant(config, fresh.refresh_token!, { scope: requested });
      t.equal(await scopeOf(renewed.access_token), granted, `a refresh with ${requested}`);
      t.equal(sorted(renewed.scope), granted, 'in the response');
      if (tokenFormat === 'jwt') t.equal(sorted(decodeJwt(renewed.access_token).scope), granted);
    }
    const foreign = await begin(server, config, { scope: 'openid users:read' });
    t.match((await foreign.visitor.open(String(foreign.url))).url, /error=invalid_scope/, 'but not another');
  });

t.test('client credentials and devices imply it, too', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register({
    confidential: true,
    native: false,
    redirectUris: [],
    grantTypes: ['client_credentials'],
    scopes: ['items:write'],
  });
  for (const [scope, granted] of [
    ['items:read', 'items:read'],
    ['items:write', 'items:read items:write'],
    ['items:write items:read', 'items:read items:write'],
  ] as const) {
    const { access_token: token } = await client.clientCredentialsGrant(config, { scope });
    t.equal(sorted((await client.tokenIntrospection(config, token)).scope), granted, scope);
  }
  const reader = await server.register({ scopes: ['items:read'] });
  const body = new URLSearchParams({ client_id: reader.id, scope: 'items:write' });
  const pushed = await fetch(`${server.issuer}/par`, { method: 'POST', body });
  t.match(await pushed.json(), { error: /invalid_/ }, 'reading does not imply writing');
  const device = await server.register({
    grantTypes: ['urn:ietf:params:oauth:grant-type:device_code'],
    redirectUris: [],
    native: false,
    scopes: ['items:write'],
  });
  t.ok((await client.initiateDeviceAuthorization(device.config, { scope: 'items:read' })).user_code);
});

t.test('a consent to write needs no further one to read', async (t) => {
  const server = await authorizationServer(t);
  await setUserScopes(server.service.db, server.user.id, ['items:write']);
  const redirect = 'https://app.example.org/callback';
  const { config } = await server.register({
    redirectUris: [redirect],
    native: false,
    scopes: ['items:write'],
  });
  const parameters = { redirect_uri: redirect, prompt: '' };
  const flow = await begin(server, config, { ...parameters, scope: 'openid items:write' });
  t.match((await consent(flow, server.user)).url, /code=/);
  for (const scope of ['openid items:read', 'openid items:write']) {
    const again = await begin(server, config, { ...parameters, scope }, flow.visitor);
    t.match((await flow.visitor.open(String(again.url))).url, /code=/, scope);
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
    const { visitor, url } = await begin(server, config, { scope });
    const credentials = { email: server.user.email, password: PASSWORD, action: 'sign-in' };
    const { text } = await visitor.submit(await visitor.open(String(url)), credentials);
    t.same(
      [...text.matchAll(/<li>([^<]*)<\/li>/g)].map(([, meaning]) => meaning),
      meanings,
      scope,
    );
  }
});

t.test('a user or a client that may only read any more retains that', async (t) => {
  const server = await authorizationServer(t);
  const { service, user } = server;
  await setUserScopes(service.db, user.id, ['items:write']);
  const { config } = await server.register({ scopes: ['items:write'] });
  const { access_token: token } = await signIn(server, config, { scope: 'openid items:write' });
  const statuses = async () => [
    (await service.send('GET', '/items', bearer(token))).status,
    (await service.send('POST', '/items', { ...bearer(token), body: { name: 'lamp' } })).status,
  ];
  t.same(await statuses(), [200, 201]);
  await setUserScopes(service.db, user.id, ['items:read']);
  await until('it may only read', statuses, (seen) => seen.join() === '200,403');
});
