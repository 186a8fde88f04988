import { decodeJwt, SignJWT, UnsecuredJWT } from 'jose';
import * as client from 'openid-client';
import { signingKey } from '../../support/issuer.js';
import { mockLimits } from '../../support/pause.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import {
  authorizationServer,
  begin,
  consent,
  PASSWORD,
  REDIRECT,
  secondProcess,
  signIn,
} from './authorization-server.js';
import { Visitor } from './visitor.js';

t.jobs = 3;

// No wait of the limit ends, however long the requests take.
mockLimits(t);

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const refused = (error: string) => ({ error }) as unknown as Error;

t.test('a code is of one client, one verifier, one redirect URI and one use', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const other = await server.register({ name: 'Other' });
  const code = async () => {
    const flow = await begin(server, config);
    return { flow, url: new URL((await consent(flow, server.user)).url) };
  };
  const redeem = (url: URL, verifier: string, state: string, by = config) =>
    client.authorizationCodeGrant(by, url, { pkceCodeVerifier: verifier, expectedState: state });
  const wrong = await code();
  await t.rejects(
    redeem(wrong.url, client.randomPKCECodeVerifier(), wrong.flow.state),
    refused('invalid_grant'),
    'another verifier',
  );
  const foreign = await code();
  await t.rejects(
    redeem(foreign.url, foreign.flow.verifier, foreign.flow.state, other.config),
    refused('invalid_grant'),
    'another client',
  );
  const moved = await code();
  const elsewhere = new URL(moved.url);
  elsewhere.port = '7778';
  await t.rejects(
    redeem(elsewhere, moved.flow.verifier, moved.flow.state),
    refused('invalid_grant'),
    'another redirect URI',
  );
  const replayed = await code();
  const { access_token: token } = await redeem(replayed.url, replayed.flow.verifier, replayed.flow.state);
  await t.rejects(
    redeem(replayed.url, replayed.flow.verifier, replayed.flow.state),
    refused('invalid_grant'),
    'a second use',
  );
  await until(
    'the tokens of the first use end',
    async () => (await server.service.send('GET', '/whoami', bearer(token))).status,
    401,
  );
  await t.rejects(redeem(wrong.url, wrong.flow.verifier, 'another state'), 'another state');
});

for (const format of ['jwt', 'opaque'] as const)
  t.test(
    `of eight uses of a code at once one succeeds, and its tokens of the format ${format} end`,
    async (t) => {
      const server = await authorizationServer(t);
      const { config } = await server.register({ token_format: format });
      const second = await secondProcess(t, server);
      for (let round = 0; round < 5; round++) {
        const flow = await begin(server, config);
        const { searchParams } = new URL((await consent(flow, server.user)).url);
        const body = new URLSearchParams({
          grant_type: 'authorization_code',
          client_id: config.clientMetadata().client_id,
          code: searchParams.get('code')!,
          redirect_uri: REDIRECT,
          code_verifier: flow.verifier,
        });
        const responses = await Promise.all(
          Array.from({ length: 8 }, (_, at) =>
            (at % 2 === 0 ? server.service : second).send('POST', '/token', {
              headers: { 'content-type': 'application/x-www-form-urlencoded' },
              body: String(body),
            }),
          ),
        );
        t.same(responses.map(({ status }) => status).sort(), [200, ...Array(7).fill(400)]);
        const { access_token, refresh_token } = responses.find(({ status }) => status === 200)!.json;
        await until(
          'the access token ends',
          async () => (await second.send('GET', '/whoami', bearer(access_token))).status,
          401,
        );
        await t.rejects(client.refreshTokenGrant(config, refresh_token), refused('invalid_grant'));
      }
    },
  );

t.test('an authorization request without PKCE, with plain PKCE, or for another redirect URI', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
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
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const flow = await begin(server, config);
  const page = await flow.visitor.open(String(flow.url));
  const fields = { email: server.user.email, password: PASSWORD, action: 'sign-in' };
  t.equal((await flow.visitor.submit(page, { ...fields, csrf: 'forged' })).status, 403);
  const stranger = await begin(server, config);
  const stolen = await stranger.visitor.submit(page, fields);
  t.equal(stolen.status, 400, 'without the cookie of the browser');
  t.match(stolen.text, /Start again/);
  const other = await begin(server, config);
  await other.visitor.open(String(other.url));
  t.equal((await other.visitor.submit(page, fields)).status, 400, 'with the cookie of another request');
  const denied = await flow.visitor.submit(page, { action: 'cancel' });
  t.match(denied.url, /error=access_denied/);
});

t.test('wrong passwords are counted, and then refused for a while', async (t) => {
  const server = await authorizationServer(t, { AUTH_FAILURES: '3' });
  const { config } = await server.register();
  const flow = await begin(server, config);
  let page = await flow.visitor.open(String(flow.url));
  for (let n = 0; n < 3; n++) {
    page = await flow.visitor.submit(page, {
      email: server.user.email,
      password: 'wrong',
      action: 'sign-in',
    });
    t.equal(page.status, 422);
    t.match(page.text, /The email or the password is wrong/);
    t.match(page.text, `value="${server.user.email}"`);
  }
  page = await flow.visitor.submit(page, { email: server.user.email, password: PASSWORD, action: 'sign-in' });
  t.equal(page.status, 429);
  t.ok(Number(page.headers.get('retry-after')) > 0);
});

t.test('wrong client secrets and guessed device codes are limited too', async (t) => {
  const server = await authorizationServer(t, { AUTH_FAILURES: '3' });
  const { id } = await server.register({
    type: 'confidential',
    redirect_uris: [],
    grant_types: ['client_credentials'],
  });
  const token = (secret: string) =>
    fetch(`${server.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'items:read' }),
    });
  for (let n = 0; n < 3; n++) t.equal((await token(`wrong ${n}`)).status, 401);
  const limited = await token('wrong again');
  t.equal(limited.status, 429);
  t.ok(Number(limited.headers.get('retry-after')) > 0);
});

t.test('guesses of device codes are limited', async (t) => {
  const server = await authorizationServer(t, { AUTH_FAILURES: '3' });
  const visitor = new Visitor(server.issuer);
  let page = await visitor.open('/device');
  for (let n = 0; n < 3; n++) {
    page = await visitor.submit(page, { user_code: `AAAA-AAA${n}` });
    t.equal(page.status, 422);
  }
  page = await visitor.submit(page, { user_code: 'AAAA-AAAB' });
  t.equal(page.status, 429);
  t.ok(Number(page.headers.get('retry-after')) > 0);
});

t.test('the API rejects tokens that are forged or of another kind', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const tokens = await signIn(server, config);
  const claims = decodeJwt(tokens.access_token);
  const key = await signingKey('forged');
  const forged = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
    .sign(key.privateKey);
  const [header, payload, signature] = tokens.access_token.split('.') as [string, string, string];
  const admin = Buffer.from(JSON.stringify({ ...claims, scope: 'admin' })).toString('base64url');
  for (const [token, what] of [
    [new UnsecuredJWT(claims).encode(), 'alg none'],
    [forged, 'another key'],
    [`${header}.${admin}.${signature}`, 'other claims'],
    [tokens.id_token!, 'an ID token'],
    [tokens.refresh_token!, 'a refresh token'],
    [`${header}.${payload}.`, 'no signature'],
  ] as const)
    t.equal((await server.service.send('GET', '/whoami', bearer(token))).status, 401, what);
  t.equal((await server.service.send('GET', '/whoami', bearer(tokens.access_token))).status, 200);
});

t.test('a refresh token cannot widen its scopes, or be used by another client', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const other = await server.register();
  const { refresh_token: token, scope } = await signIn(server, config);
  await t.rejects(client.refreshTokenGrant(other.config, token!), refused('invalid_grant'));
  await t.rejects(
    client.refreshTokenGrant(config, token!, { scope: 'items:read' }),
    refused('invalid_scope'),
  );
  const wider = await client.refreshTokenGrant(config, token!, { scope: `${scope} items:read` });
  t.equal(wider.scope, scope);
});
