import { createHash, randomBytes } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import * as client from 'openid-client';
import { byToken, PASSWORD } from '../../support/credentials.js';
import t from '../../support/test.js';
import { notInDefault, some, times } from '../../support/thorough.js';
import {
  application,
  authorizationServer,
  begin,
  codeOf,
  consent,
  postForm,
  REDIRECT,
  secondProcess,
  signIn,
} from './authorization-server.js';

t.jobs = 3;

t.test('a code without its verifier, redirect URI or client is refused', async (t) => {
  const { server, id, config } = await application(t);
  const without = (fields: Record<string, string>, name: string) =>
    Object.fromEntries(Object.entries(fields).filter(([each]) => each !== name));
  const rows = [
    ['code_verifier', 'invalid_grant'],
    ['redirect_uri', 'invalid_'],
    ['client_id', 'invalid_'],
    ['code', 'invalid_request'],
    ['grant_type', 'invalid_request'],
  ] as const;
  for (const [name, error] of some(rows, 2)) {
    const fields = await codeOf(server, id, config);
    const { status, json, headers } = await server.post('/token', without(fields, name));
    t.ok(status === 400 || status === 401, `${name}: ${status}`);
    t.match(json.error, error, name);
    t.match(headers.get('cache-control'), /no-store/);
  }
  const fields = await codeOf(server, id, config);
  const verifiers = ['', 'x', 'x'.repeat(42), 'x'.repeat(129), `${fields.code_verifier}x`];
  for (const verifier of some(verifiers, 2)) {
    const fresh = await codeOf(server, id, config);
    const { status } = await server.post('/token', { ...fresh, code_verifier: verifier });
    t.equal(status, 400, `a verifier of ${verifier.length} characters`);
  }
  const json = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fields),
  };
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

t.test('codes and refresh tokens are redeemed once by two processes', { skip: notInDefault }, async (t) => {
  const strict = { refreshReuseSeconds: 0 };
  const server = await authorizationServer(t, {}, strict);
  const second = await secondProcess(t, server, {}, strict);
  const { id, config } = await server.register();
  for (let round = 0; round < times(2, 5); round++) {
    const fields = await codeOf(server, id, config);
    const race = await Promise.all(
      [0, 1, 2, 3].map((n) => postForm(`${[server.issuer, second.url][n % 2]}/token`, fields)),
    );
    const issued = race.filter(({ status }) => status === 200);
    t.ok(issued.length <= 1, `codes: ${race.map(({ status }) => status)}`);
    for (const { status, json } of race)
      if (status !== 200) t.match({ status, json }, { status: 400, json: { error: 'invalid_grant' } });
    const tokens = await signIn(server, config);
    const refresh = { grant_type: 'refresh_token', client_id: id, refresh_token: tokens.refresh_token! };
    const again = await Promise.all(
      [0, 1, 2, 3].map((n) => postForm(`${[server.issuer, second.url][n % 2]}/token`, refresh)),
    );
    const renewed = again.filter(({ status }) => status === 200);
    t.ok(renewed.length <= 1, `refresh tokens: ${again.map(({ status }) => status)}`);
    for (const { json } of [...issued, ...renewed]) {
      const next = { grant_type: 'refresh_token', client_id: id, refresh_token: json.refresh_token! };
      t.equal((await postForm(`${second.url}/token`, next)).status, 400, 'a race ends the family');
    }
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
