import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as client from 'openid-client';
import { setUserScopes } from '../../../src/auth/user-scopes.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import { authorizationServer, begin, consent, PASSWORD, signIn } from './authorization-server.js';
import type { Visitor } from './visitor.js';

t.jobs = 3;

const INVALID_SCOPE = { error: 'invalid_scope' } as unknown as Error;
const INVALID_GRANT = { error: 'invalid_grant' } as unknown as Error;

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

t.test('authorization code with PKCE: a token for this API, which accepts it', async (t) => {
  const server = await authorizationServer(t);
  const { id, config } = await server.register();
  const tokens = await signIn(server, config);
  const claims = decodeJwt(tokens.access_token);
  t.equal(decodeProtectedHeader(tokens.access_token).typ, 'at+jwt', 'RFC 9068');
  t.match(claims, { iss: server.issuer, aud: server.issuer, sub: server.user.id, client_id: id });
  t.equal(claims.exp! - claims.iat!, 600);
  t.match(tokens.claims(), { sub: server.user.id });
  const { status, json } = await server.service.send('GET', '/whoami', bearer(tokens.access_token));
  t.match({ status, json }, { status: 200, json: { subject: server.user.id } });
  t.equal(
    (await server.service.send('GET', `/users/${server.user.id}`, bearer(tokens.access_token))).status,
    200,
  );
  t.equal((await server.service.send('GET', '/users', bearer(tokens.access_token))).status, 403);
  const info = await client.fetchUserInfo(config, tokens.access_token, server.user.id);
  t.same(info, { sub: server.user.id });
  for (const method of ['GET', 'POST'])
    t.match(await server.service.send(method, '/userinfo', bearer(tokens.access_token)), {
      status: 200,
      json: { sub: server.user.id },
    });
});

t.test('a refresh token is used once; its reuse ends the family', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const first = await signIn(server, config);
  const second = await client.refreshTokenGrant(config, first.refresh_token!);
  t.not(second.refresh_token, first.refresh_token);
  const { send } = server.service;
  t.equal((await send('GET', '/whoami', bearer(second.access_token))).status, 200);
  await server.service.db.run(
    "update issuer_records set consumed_at = consumed_at - interval '1 minute'",
    [],
  );
  await t.rejects(client.refreshTokenGrant(config, first.refresh_token!), INVALID_GRANT);
  await t.rejects(client.refreshTokenGrant(config, second.refresh_token!), INVALID_GRANT);
  await until(
    'access tokens of the family end',
    async () => (await send('GET', '/whoami', bearer(second.access_token))).status,
    401,
  );
});

t.test('of concurrent uses of one code or refresh token, one succeeds', async (t) => {
  const server = await authorizationServer(t, {}, { refreshReuseSeconds: 0 });
  const { config } = await server.register();
  const flow = await begin(server, config);
  const page = await consent(flow, server.user);
  const redeem = () =>
    client.authorizationCodeGrant(config, new URL(page.url), {
      pkceCodeVerifier: flow.verifier,
      expectedState: flow.state,
    });
  const results = await Promise.allSettled([redeem(), redeem(), redeem(), redeem()]);
  t.ok(results.filter(({ status }) => status === 'fulfilled').length <= 1);
  const { refresh_token: refresh } = await signIn(server, config);
  const again = await Promise.allSettled([1, 2, 3, 4].map(() => client.refreshTokenGrant(config, refresh!)));
  t.ok(again.filter(({ status }) => status === 'fulfilled').length <= 1);
});

t.test('client credentials, introspection and revocation; opaque tokens too', async (t) => {
  const server = await authorizationServer(t);
  for (const tokenFormat of ['jwt', 'opaque'] as const) {
    const { id, config } = await server.register({
      type: 'confidential',
      redirect_uris: [],
      grant_types: ['client_credentials'],
      token_format: tokenFormat,
    });
    const { access_token: token, expires_in: seconds } = await client.clientCredentialsGrant(config, {
      scope: 'items:read',
    });
    t.equal(seconds, 600);
    t.equal(token.includes('.'), tokenFormat === 'jwt');
    const { send } = server.service;
    t.match((await send('GET', '/whoami', bearer(token))).json, { subject: id, scopes: ['items:read'] });
    t.match(await client.tokenIntrospection(config, token), {
      active: true,
      client_id: id,
      scope: 'items:read',
    });
    await t.rejects(client.clientCredentialsGrant(config, { scope: 'users:write' }), INVALID_SCOPE);
    await client.tokenRevocation(config, token);
    t.match(await client.tokenIntrospection(config, token), { active: false });
    await until('it is refused', async () => (await send('GET', '/whoami', bearer(token))).status, 401);
  }
  const foreign = await fetch(`${server.issuer}/introspect`, {
    method: 'POST',
    body: new URLSearchParams({ token: 'x' }),
  });
  t.equal(foreign.status, 400, 'without a client');
});

t.test('a device', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register({
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
    redirect_uris: [],
  });
  const device = await client.initiateDeviceAuthorization(config, { scope: 'openid self' });
  t.equal(device.verification_uri, `${server.issuer}/device`);
  const { visitor } = await begin(server, config);
  let page = await visitor.open(device.verification_uri);
  page = await visitor.submit(page, { user_code: 'WRONG-CODE' });
  t.match(page.text, /There is no such code/);
  page = await visitor.submit(page, { user_code: device.user_code });
  t.match(page.text, device.user_code);
  page = await visitor.submit(page, {});
  page = await visitor.submit(page, { email: server.user.email, password: PASSWORD, action: 'sign-in' });
  page = await visitor.submit(page, { action: 'allow' });
  t.match(page.text, /is connected/);
  const tokens = await client.pollDeviceAuthorizationGrant(config, { ...device, interval: 0.05 });
  t.equal(
    (await server.service.send('GET', '/whoami', bearer(tokens.access_token))).json.subject,
    server.user.id,
  );
});

t.test('pushed requests (RFC 9126) and tokens that are bound to a key (RFC 9449)', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const keys = await client.randomDPoPKeyPair('ES256');
  const DPoP = client.getDPoPHandle(config, keys);
  const flow = await begin(server, config);
  const parameters = Object.fromEntries(flow.url.searchParams);
  const url = await client.buildAuthorizationUrlWithPAR(config, parameters, { DPoP });
  t.same([...url.searchParams.keys()].sort(), ['client_id', 'request_uri']);
  const page = await consent({ visitor: flow.visitor, url }, server.user);
  const checks = { pkceCodeVerifier: flow.verifier, expectedState: flow.state };
  const tokens = await client.authorizationCodeGrant(config, new URL(page.url), checks, undefined, { DPoP });
  t.equal(tokens.token_type, 'dpop');
  const url2 = new URL(`/users/${server.user.id}`, server.issuer);
  const response = await client.fetchProtectedResource(
    config,
    tokens.access_token,
    url2,
    'GET',
    undefined,
    undefined,
    { DPoP },
  );
  t.equal(response.status, 200);
  t.equal(
    (await server.service.send('GET', '/whoami', bearer(tokens.access_token))).status,
    401,
    'without a proof',
  );
});

t.test('a consent is remembered, except for a native application, which anyone can imitate', async (t) => {
  const server = await authorizationServer(t);
  const redirect = 'https://app.example.org/callback';
  const { config } = await server.register({ type: 'confidential', redirect_uris: [redirect] });
  const parameters = { redirect_uri: redirect, scope: 'openid self', prompt: '' };
  const flow = await begin(server, config, parameters);
  t.match((await consent(flow, server.user)).url, `${redirect}?code=`);
  const again = await begin(server, config, parameters, flow.visitor);
  const page = await flow.visitor.open(String(again.url));
  t.match(page.url, `${redirect}?code=`);
  t.equal(new URL(page.url).searchParams.get('iss'), server.issuer, 'RFC 9207');
  const more = await begin(server, config, { ...parameters, scope: 'openid self items:read' }, flow.visitor);
  await setUserScopes(server.service.db, server.user.id, ['items:read']);
  t.match((await flow.visitor.open(String(more.url))).text, /read items/, 'more scopes need a new one');
  const other = await begin(
    server,
    (await server.register()).config,
    { scope: 'openid', prompt: '' },
    flow.visitor,
  );
  await consent(other, server.user);
  const repeated = await begin(
    server,
    (await server.register()).config,
    { scope: 'openid', prompt: '' },
    flow.visitor,
  );
  t.match((await flow.visitor.open(String(repeated.url))).text, /value="allow"/);
});

t.test('an application of the operator needs no consent, and has no more scopes than its user', async (t) => {
  const server = await authorizationServer(t);
  const redirect = 'https://app.example.org/callback';
  const fields = { redirect_uris: [redirect], scopes: ['self', 'items:read', 'items:write'] };
  const { config } = await server.register({ ...fields, first_party: true });
  await setUserScopes(server.service.db, server.user.id, ['items:read']);
  const allowed = async (scope: string, visitor?: Visitor) => {
    const flow = await begin(server, config, { redirect_uri: redirect, scope, prompt: '' }, visitor);
    let page = await flow.visitor.open(String(flow.url));
    if (!visitor)
      page = await flow.visitor.submit(page, {
        email: server.user.email,
        password: PASSWORD,
        action: 'sign-in',
      });
    t.match(page.url, `${redirect}?code=`, 'no page of consent');
    const tokens = await client.authorizationCodeGrant(config, new URL(page.url), {
      pkceCodeVerifier: flow.verifier,
      expectedState: flow.state,
    });
    return { scopes: tokens.scope?.split(' ').sort(), visitor: flow.visitor };
  };
  const first = await allowed('openid self');
  t.same(first.scopes, ['openid', 'self']);
  const more = await allowed('openid self items:read items:write', first.visitor);
  t.same(more.scopes, ['items:read', 'openid', 'self'], 'also in a session that has a grant');
  const forced = await begin(server, config, { redirect_uri: redirect, scope: 'openid' }, first.visitor);
  t.match((await forced.visitor.open(String(forced.url))).text, /value="allow"/, 'prompt=consent');
  const other = await server.register(fields);
  const foreign = { redirect_uri: redirect, scope: 'openid', prompt: '' };
  const { url } = await begin(server, other.config, foreign, first.visitor);
  t.match((await first.visitor.open(String(url))).text, /value="allow"/, 'another application');
  const native = await server.register({ first_party: true });
  const onDevice = await begin(server, native.config, { scope: 'openid', prompt: '' }, first.visitor);
  t.match((await first.visitor.open(String(onDevice.url))).text, /value="allow"/, 'a native one');
});

t.test('the deletion of a user ends sessions, tokens and event streams', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register({ scopes: ['self', 'self:delete'] });
  const tokens = await signIn(server, config, { scope: 'openid self self:delete offline_access' });
  const { send } = server.service;
  t.equal((await send('DELETE', `/users/${server.user.id}`, bearer(tokens.access_token))).status, 204);
  await until(
    'the token is refused',
    async () => (await send('GET', '/whoami', bearer(tokens.access_token))).status,
    401,
  );
  await t.rejects(client.refreshTokenGrant(config, tokens.refresh_token!), INVALID_GRANT);
});

t.test('metadata is published at both addresses', async (t) => {
  const { service, issuer } = await authorizationServer(t);
  for (const name of ['openid-configuration', 'oauth-authorization-server']) {
    const { json } = await service.send('GET', `/.well-known/${name}`);
    t.match(json, {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      introspection_endpoint: `${issuer}/introspect`,
      userinfo_endpoint: `${issuer}/userinfo`,
      device_authorization_endpoint: `${issuer}/device_authorization`,
      revocation_endpoint: `${issuer}/revoke`,
      jwks_uri: `${issuer}/jwks`,
      pushed_authorization_request_endpoint: `${issuer}/par`,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      authorization_response_iss_parameter_supported: true,
    });
    t.notOk(json.registration_endpoint);
    t.notMatch(json.grant_types_supported, ['implicit', 'password']);
  }
  t.match((await service.send('GET', '/jwks')).json, { keys: [{ kty: 'EC', alg: 'ES256', use: 'sig' }] });
});
