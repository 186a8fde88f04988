import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as client from 'openid-client';
import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { follow } from '../../events/follow.js';
import { byToken } from '../../support/credentials.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import {
  application,
  authorizationServer,
  begin,
  consent,
  INVALID_GRANT,
  MACHINE,
  refusal,
  signIn,
} from './authorization-server.js';
import type { Visitor } from './visitor.js';

t.jobs = 3;

t.test('authorization code with PKCE: a token for this API, which accepts it', async (t) => {
  const { server, id, config } = await application(t);
  const { service, user, issuer } = server;
  const tokens = await signIn(server, config);
  const claims = decodeJwt(tokens.access_token);
  t.equal(decodeProtectedHeader(tokens.access_token).typ, 'at+jwt', 'RFC 9068');
  t.match(claims, { iss: issuer, aud: issuer, sub: user.id, client_id: id });
  t.equal(claims.exp! - claims.iat!, 600);
  t.match(tokens.claims(), { sub: user.id });
  const headers = byToken(tokens.access_token);
  t.match(await service.send('GET', '/whoami', { headers }), { status: 200, json: { subject: user.id } });
  t.equal(await server.statusOf(tokens.access_token, `/users/${user.id}`), 200);
  t.equal(await server.statusOf(tokens.access_token, '/users'), 403);
  t.same(await client.fetchUserInfo(config, tokens.access_token, user.id), { sub: user.id });
  for (const method of ['GET', 'POST'])
    t.match(await service.send(method, '/userinfo', { headers }), { status: 200, json: { sub: user.id } });
});

t.test('client credentials, introspection and revocation; opaque tokens too', async (t) => {
  const server = await authorizationServer(t);
  for (const token_format of ['jwt', 'opaque'] as const) {
    const { id, config } = await server.register({ ...MACHINE, token_format });
    const issued = await client.clientCredentialsGrant(config, { scope: 'items:read' });
    const { access_token: token, expires_in: seconds } = issued;
    t.equal(seconds, 600);
    t.equal(token.includes('.'), token_format === 'jwt');
    const { json } = await server.service.send('GET', '/whoami', { headers: byToken(token) });
    t.match(json, { subject: id, scopes: ['items:read'] });
    const expected = { active: true, client_id: id, scope: 'items:read' };
    t.match(await client.tokenIntrospection(config, token), expected);
    await t.rejects(
      client.clientCredentialsGrant(config, { scope: 'users:write' }),
      refusal('invalid_scope'),
    );
    await client.tokenRevocation(config, token);
    t.match(await client.tokenIntrospection(config, token), { active: false });
    await server.ends(token);
  }
});

t.test('pushed requests (RFC 9126) and tokens that are bound to a key (RFC 9449)', async (t) => {
  const { server, config } = await application(t);
  const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'));
  const flow = await begin(server, config);
  const parameters = Object.fromEntries(flow.url.searchParams);
  const url = await client.buildAuthorizationUrlWithPAR(config, parameters, { DPoP });
  t.same([...url.searchParams.keys()].sort(), ['client_id', 'request_uri']);
  const page = await consent({ visitor: flow.visitor, url }, server.user);
  const checks = { pkceCodeVerifier: flow.verifier, expectedState: flow.state };
  const tokens = await client.authorizationCodeGrant(config, new URL(page.url), checks, undefined, { DPoP });
  t.equal(tokens.token_type, 'dpop');
  const own = new URL(`/users/${server.user.id}`, server.issuer);
  const request = [config, tokens.access_token, own, 'GET', undefined, undefined, { DPoP }] as const;
  t.equal((await client.fetchProtectedResource(...request)).status, 200);
  t.equal(await server.statusOf(tokens.access_token), 401, 'without a proof');
});

t.test('a consent is remembered, except for a native application, which anyone can imitate', async (t) => {
  const server = await authorizationServer(t);
  const redirect = 'https://app.example.org/callback';
  const { config } = await server.register({ type: 'confidential', redirect_uris: [redirect] });
  const parameters = { redirect_uri: redirect, scope: 'openid self', prompt: '' };
  const flow = await begin(server, config, parameters);
  t.match((await consent(flow, server.user)).url, `${redirect}?code=`);
  const again = await begin(server, config, parameters, flow.visitor);
  const page = await again.open();
  t.match(page.url, `${redirect}?code=`);
  t.equal(new URL(page.url).searchParams.get('iss'), server.issuer, 'RFC 9207');
  const more = await begin(server, config, { ...parameters, scope: 'openid self items:read' }, flow.visitor);
  await setUserScopes(server.service.db, server.user.id, ['items:read']);
  t.match((await more.open()).text, /read items/, 'more scopes need a new one');
  const native = { scope: 'openid', prompt: '' };
  await consent(await begin(server, (await server.register()).config, native, flow.visitor), server.user);
  const repeated = await begin(server, (await server.register()).config, native, flow.visitor);
  t.match((await repeated.open()).text, /value="allow"/);
});

t.test('an application of the operator needs no consent, and has no more scopes than its user', async (t) => {
  const server = await authorizationServer(t);
  const redirect = 'https://app.example.org/callback';
  const fields = { redirect_uris: [redirect], scopes: ['self', 'items:read', 'items:write'] };
  const { config } = await server.register({ ...fields, first_party: true });
  await setUserScopes(server.service.db, server.user.id, ['items:read']);
  const allowed = async (scope: string, visitor?: Visitor) => {
    const flow = await begin(server, config, { redirect_uri: redirect, scope, prompt: '' }, visitor);
    const page = await (visitor ? flow.open() : flow.enter(server.user));
    t.match(page.url, `${redirect}?code=`, 'no page of consent');
    const tokens = await flow.redeem(page.url);
    return { scopes: tokens.scope?.split(' ').sort(), visitor: flow.visitor };
  };
  const first = await allowed('openid self');
  t.same(first.scopes, ['openid', 'self']);
  const more = await allowed('openid self items:read items:write', first.visitor);
  t.same(more.scopes, ['items:read', 'openid', 'self'], 'also in a session that has a grant');
  const forced = await begin(server, config, { redirect_uri: redirect, scope: 'openid' }, first.visitor);
  t.match((await forced.open()).text, /value="allow"/, 'prompt=consent');
  const other = await server.register(fields);
  const foreign = { redirect_uri: redirect, scope: 'openid', prompt: '' };
  const anew = await begin(server, other.config, foreign, first.visitor);
  t.match((await anew.open()).text, /value="allow"/, 'another application');
  const native = await server.register({ first_party: true });
  const onDevice = await begin(server, native.config, { scope: 'openid', prompt: '' }, first.visitor);
  t.match((await onDevice.open()).text, /value="allow"/, 'a native one');
});

t.test('the deletion of a user ends sessions, codes, tokens and event streams', async (t) => {
  const { server, config } = await application(t, { scopes: ['self', 'self:delete'] });
  const { send, db } = server.service;
  const tokens = await signIn(server, config, { scope: 'openid self self:delete offline_access' });
  const flow = await begin(server, config);
  const { url } = await consent(flow, server.user);
  const headers = byToken(tokens.access_token);
  const stream = await follow(t, `${server.issuer}/events`, headers);
  t.equal(stream.status, 200);
  t.equal((await send('DELETE', `/users/${server.user.id}`, { headers })).status, 204);
  await server.ends(tokens.access_token);
  await until('the stream ends', () => stream.isOver());
  await t.rejects(client.refreshTokenGrant(config, tokens.refresh_token!), INVALID_GRANT);
  await t.rejects(flow.redeem(url), INVALID_GRANT, 'the code');
  t.match((await flow.visitor.open('/account')).text, /to your account/, 'the session');
  t.same(await db.run('select from issuer_records where user_id = $1', [server.user.id]), []);
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
