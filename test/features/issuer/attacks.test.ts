import { createHash, randomBytes } from 'node:crypto';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import * as client from 'openid-client';
import { byToken, PASSWORD } from '../../support/credentials.js';
import { signingKey } from '../../support/issuer.js';
import { mockLimits } from '../../support/pause.js';
import t from '../../support/test.js';
import { some } from '../../support/thorough.js';
import {
  application,
  authorizationServer,
  begin,
  codeOf,
  consent,
  INVALID_GRANT,
  postForm,
  REDIRECT,
  secondProcess,
  signIn,
} from './authorization-server.js';

t.jobs = 3;

// No wait of the limit ends, however long the requests take.
mockLimits(t);

for (const token_format of ['jwt', 'opaque'] as const)
  t.test(
    `of eight uses of a code at once at most one succeeds, and its tokens end: ${token_format}`,
    async (t) => {
      const { server, id, config } = await application(t, { token_format });
      const second = await secondProcess(t, server);
      for (let round = 0; round < 5; round++) {
        const fields = await codeOf(server, id, config);
        const responses = await Promise.all(
          Array.from({ length: 8 }, (_, at) =>
            postForm(`${[server.issuer, second.url][at % 2]}/token`, fields),
          ),
        );
        const issued = responses.filter(({ status }) => status !== 400);
        t.ok(issued.length <= 1, 'the others are refused');
        for (const { json } of issued) {
          await server.ends(json.access_token!);
          await t.rejects(client.refreshTokenGrant(config, json.refresh_token!), INVALID_GRANT);
        }
      }
    },
  );

t.test('an authorization request without PKCE, with plain PKCE, or for another response', async (t) => {
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

t.test('a code is of one client, one verifier and one redirect URI', async (t) => {
  const { server, id, config } = await application(t);
  const other = await server.register({ name: 'Other' });
  const rows: [change: Record<string, string | undefined>, error: string][] = [
    [{ code_verifier: undefined }, 'invalid_grant'],
    [{ code_verifier: 'x'.repeat(42) }, 'invalid_'],
    [{ code_verifier: client.randomPKCECodeVerifier() }, 'invalid_grant'],
    [{ redirect_uri: undefined }, 'invalid_'],
    [{ redirect_uri: REDIRECT.replace('7777', '7778') }, 'invalid_grant'],
    [{ client_id: undefined }, 'invalid_'],
    [{ client_id: other.id }, 'invalid_grant'],
    [{ code: undefined }, 'invalid_request'],
    [{ grant_type: undefined }, 'invalid_request'],
  ];
  for (const [change, error] of rows) {
    const fields = Object.entries({ ...(await codeOf(server, id, config)), ...change });
    const given = fields.filter((field): field is [string, string] => field[1] !== undefined);
    const { status, json, headers } = await server.post('/token', Object.fromEntries(given));
    t.ok(status === 400 || status === 401, `${Object.keys(change)}: ${status}`);
    t.match(json.error, error, `${Object.entries(change)}`);
    t.match(headers.get('cache-control'), /no-store/);
  }
  const fields = await codeOf(server, id, config);
  const headers = { 'content-type': 'application/json' };
  const json = { method: 'POST', headers, body: JSON.stringify(fields) };
  t.equal((await fetch(`${server.issuer}/token`, json)).status, 400, 'JSON');
  t.equal((await fetch(`${server.issuer}/token?${new URLSearchParams(fields)}`)).status, 405, 'GET');
  t.equal((await server.post('/token', fields)).status, 200, 'the code is still valid');
});

t.test('a user whose id is that of a client is not the client', async (t) => {
  const server = await authorizationServer(t);
  const users = server.service.collections.find(({ resource }) => resource.hasPasswords)!.whole;
  for (const tokenFormat of some(['jwt', 'opaque'] as const, 1)) {
    const { id, config } = await server.register({ token_format: tokenFormat });
    const user = { id, email: `${tokenFormat}@example.org` };
    await users.createWithId(id, users.check({ email: user.email, name: 'Eve', password: PASSWORD }));
    const { access_token: token } = await signIn({ ...server, user }, config);
    const { json } = await server.service.send('GET', '/whoami', { headers: byToken(token) });
    t.equal(json.subject, id, tokenFormat);
  }
});

t.test('a pushed request is of one client and one use', async (t) => {
  const { server, config } = await application(t);
  const other = await server.register();
  const flow = await begin(server, config);
  const url = await client.buildAuthorizationUrlWithPAR(config, Object.fromEntries(flow.url.searchParams));
  const foreign = new URL(url);
  foreign.searchParams.set('client_id', other.id);
  const refused = `${REDIRECT.replace(':7777', '')}?error=`;
  t.ok((await flow.visitor.open(String(foreign))).url.startsWith(refused), 'another client');
  const page = await consent({ visitor: flow.visitor, url }, server.user);
  t.match(page.url, /\?code=/);
  t.ok((await flow.visitor.open(String(url))).url.startsWith(refused), 'again');
  url.searchParams.set('request_uri', 'https://evil.example/request');
  t.ok((await flow.visitor.open(String(url))).url.startsWith(refused), 'an address');
});

t.test('a DPoP proof is for one request, token and key (RFC 9449)', async (t) => {
  const { server, id, config } = await application(t, {}, { AUTH_FAILURES: '0' });
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = await exportJWK(publicKey);
  const prove = (claims: Record<string, unknown>, key = privateKey, header = {}) =>
    new SignJWT({ jti: randomBytes(16).toString('base64url'), iat: Math.floor(Date.now() / 1000), ...claims })
      .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk, ...header })
      .sign(key);
  const fields = await codeOf(server, id, config);
  const atToken = { htm: 'POST', htu: `${server.issuer}/token` };
  const proof = await prove(atToken);
  const issued = await server.post('/token', fields, { dpop: proof });
  t.match(issued, { status: 200, json: { token_type: 'DPoP' } });
  const replayed = await server.post('/token', await codeOf(server, id, config), { dpop: proof });
  t.match(replayed, { status: 400, json: { error: 'invalid_grant' } }, 'a proof at /token, again');
  const refresh = { grant_type: 'refresh_token', client_id: id, refresh_token: issued.json.refresh_token! };
  t.equal((await server.post('/token', refresh)).status, 400, 'a refresh token without its key');

  const token = issued.json.access_token!;
  const ath = createHash('sha256').update(token).digest('base64url');
  const right = { htm: 'GET', htu: `${server.issuer}/whoami`, ath };
  const call = async (dpop: string, scheme = 'DPoP') => {
    const headers = { authorization: `${scheme} ${token}`, dpop };
    return (await server.service.send('GET', '/whoami', { headers })).status;
  };
  const stranger = await generateKeyPair('ES256');
  const once = await prove(right);
  t.equal(await call(once), 200);
  t.equal(await call(once), 401, 'a proof again');
  for (const [what, claims] of [
    ['another method', { ...right, htm: 'POST' }],
    ['another address', { ...right, htu: `${server.issuer}/users` }],
    ['another origin', { ...right, htu: 'https://evil.example/whoami' }],
    ['another token', { ...right, ath: createHash('sha256').update('x').digest('base64url') }],
    ['no token', { ...right, ath: undefined }],
    ['of the past', { ...right, iat: Math.floor(Date.now() / 1000) - 3600 }],
    ['of the future', { ...right, iat: Math.floor(Date.now() / 1000) + 3600 }],
    ['no id', { ...right, jti: undefined }],
  ] as const)
    t.equal(await call(await prove(claims)), 401, what);
  const own = { jwk: await exportJWK(stranger.publicKey) };
  for (const [what, key, header] of [
    ['a signature of another key', stranger.privateKey, {}],
    ['another key', stranger.privateKey, own],
    ['another type', privateKey, { typ: 'JWT' }],
  ] as const)
    t.equal(await call(await prove(right, key, header)), 401, what);
  t.equal(await call(await prove(right), 'Bearer'), 401, 'as a Bearer token');
  t.equal(await server.statusOf(token), 401);
});
