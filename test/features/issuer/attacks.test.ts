import { decodeJwt, SignJWT, UnsecuredJWT } from 'jose';
import * as client from 'openid-client';
import { PASSWORD } from '../../support/credentials.js';
import { signingKey } from '../../support/issuer.js';
import { mockLimits } from '../../support/pause.js';
import t from '../../support/test.js';
import {
  application,
  begin,
  codeOf,
  consent,
  INVALID_GRANT,
  postForm,
  secondProcess,
  signIn,
} from './authorization-server.js';
import { Visitor } from './visitor.js';

t.jobs = 3;

// No wait of the limit ends, however long the requests take.
mockLimits(t);

t.test('a code is of one client, one verifier, one redirect URI and one use', async (t) => {
  const { server, config } = await application(t);
  const other = await server.register({ name: 'Other' });
  const code = async () => {
    const { verifier, state, ...flow } = await begin(server, config);
    return { url: new URL((await consent(flow, server.user)).url), verifier, state, by: config };
  };
  const redeem = async (change: Partial<Awaited<ReturnType<typeof code>>>, given = code()) => {
    const { url, verifier, state, by } = { ...(await given), ...change };
    return client.authorizationCodeGrant(by, url, { pkceCodeVerifier: verifier, expectedState: state });
  };
  const verifier = client.randomPKCECodeVerifier();
  await t.rejects(redeem({ verifier }), INVALID_GRANT, 'another verifier');
  await t.rejects(redeem({ by: other.config }), INVALID_GRANT, 'another client');
  await t.rejects(redeem({ state: 'another state' }), 'another state');
  const moved = await code();
  moved.url.port = '7778';
  await t.rejects(redeem(moved), INVALID_GRANT, 'another redirect URI');
  const replayed = await code();
  const { access_token: token } = await redeem(replayed);
  await t.rejects(redeem(replayed), INVALID_GRANT, 'a second use');
  await server.ends(token);
});

for (const token_format of ['jwt', 'opaque'] as const)
  t.test(`of eight uses of a code at once one succeeds, and its tokens end: ${token_format}`, async (t) => {
    const { server, id, config } = await application(t, { token_format });
    const second = await secondProcess(t, server);
    for (let round = 0; round < 5; round++) {
      const fields = await codeOf(server, id, config);
      const responses = await Promise.all(
        Array.from({ length: 8 }, (_, at) =>
          postForm(`${[server.issuer, second.url][at % 2]}/token`, fields),
        ),
      );
      t.same(responses.map(({ status }) => status).sort(), [200, ...Array(7).fill(400)]);
      const { access_token, refresh_token } = responses.find(({ status }) => status === 200)!.json;
      await server.ends(access_token!);
      await t.rejects(client.refreshTokenGrant(config, refresh_token!), INVALID_GRANT);
    }
  });

t.test('an authorization request without PKCE, with plain PKCE, or for another redirect URI', async (t) => {
  const { server, config } = await application(t);
  const { url, visitor } = await begin(server, config);
  const open = (change: (parameters: URLSearchParams) => void) => {
    const changed = new URL(url);
    change(changed.searchParams);
    return visitor.open(String(changed));
  };
  const none = await open((parameters) => {
    parameters.delete('code_challenge');
    parameters.delete('code_challenge_method');
  });
  t.match(none.url, /error=invalid_request&error_description=[^&]*PKCE/);
  const plain = await open((parameters) => parameters.set('code_challenge_method', 'plain'));
  t.match(plain.url, /error=invalid_request/);
  for (const uri of [
    'https://evil.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://127.0.0.1:7777/callback/..',
    'http://127.0.0.1:7777/other',
    'http://user@127.0.0.1:7777/callback',
  ]) {
    const page = await open((parameters) => parameters.set('redirect_uri', uri));
    t.equal(page.status, 400, uri);
    t.match(page.text, /invalid_redirect_uri/);
    t.match(page.headers.get('content-security-policy'), /default-src 'none'.*frame-ancestors 'none'/);
  }
  for (const [name, value, error] of [
    ['response_type', 'token', 'unsupported_response_type'],
    ['response_type', 'id_token', 'unsupported_response_type'],
    ['scope', 'users:write', 'invalid_scope'],
    ['resource', 'https://other.example', 'invalid_target'],
    ['request', 'x.y.z', 'request_not_supported'],
  ] as const)
    t.match((await open((parameters) => parameters.set(name, value))).url, `error=${error}`, name);
  const unknown = await open((parameters) => parameters.set('client_id', '<script>alert(1)</script>'));
  t.equal(unknown.status, 400);
  t.notMatch(unknown.text, /<script>/);
});

t.test('the forms are bound to the browser and to the page', async (t) => {
  const { server, config } = await application(t);
  const flow = await begin(server, config);
  const page = await flow.open();
  const fields = { email: server.user.email, password: PASSWORD, action: 'sign-in' };
  t.equal((await flow.visitor.submit(page, { ...fields, csrf: 'forged' })).status, 403);
  const stolen = await new Visitor(server.issuer).submit(page, fields);
  t.match(stolen, { status: 400, text: /Start again/ }, 'without the cookie of the browser');
  const other = await begin(server, config);
  await other.open();
  t.equal((await other.visitor.submit(page, fields)).status, 400, 'with the cookie of another request');
  const denied = await flow.visitor.submit(page, { action: 'cancel' });
  t.match(denied.url, /error=access_denied/);
});

t.test('wrong passwords are counted, and then refused for a while', async (t) => {
  const { server, config } = await application(t, {}, { AUTH_FAILURES: '3' });
  const flow = await begin(server, config);
  let page = await flow.open();
  for (let n = 0; n < 3; n++) {
    page = await flow.visitor.enter(page, server.user, 'wrong');
    t.match(page, { status: 422, text: /The email or the password is wrong/ });
    t.match(page.text, `value="${server.user.email}"`);
  }
  page = await flow.visitor.enter(page, server.user);
  t.equal(page.status, 429);
  t.ok(Number(page.headers.get('retry-after')) > 0);
});

t.test('the API rejects tokens that are forged or of another kind', async (t) => {
  const { server, config } = await application(t);
  const tokens = await signIn(server, config);
  const claims = decodeJwt(tokens.access_token);
  const { privateKey } = await signingKey('forged');
  const head = { alg: 'ES256', typ: 'at+jwt' };
  const [header, payload, signature] = tokens.access_token.split('.') as [string, string, string];
  const admin = Buffer.from(JSON.stringify({ ...claims, scope: 'admin' })).toString('base64url');
  for (const [token, what] of [
    [new UnsecuredJWT(claims).encode(), 'alg none'],
    [await new SignJWT(claims).setProtectedHeader(head).sign(privateKey), 'another key'],
    [`${header}.${admin}.${signature}`, 'other claims'],
    [tokens.id_token!, 'an ID token'],
    [tokens.refresh_token!, 'a refresh token'],
    [`${header}.${payload}.`, 'no signature'],
  ] as const)
    t.equal(await server.statusOf(token), 401, what);
  t.equal(await server.statusOf(tokens.access_token), 200);
});
