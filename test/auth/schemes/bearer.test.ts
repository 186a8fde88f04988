import { createHmac } from 'node:crypto';
import { exportSPKI } from 'jose';
import {
  AUDIENCE,
  assemble,
  bearerOf,
  claims,
  json,
  METADATA,
  outcomeOf,
  sign,
  signAsIs,
  signingKey,
  testIssuer,
} from '../../support/issuer.js';
import { mockClock } from '../../support/pause.js';
import { type TestService, testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { words } from '../../support/words.js';

const es = await signingKey('es', 'ES256');
const rs = await signingKey('rs', 'RS256');
const ps = await signingKey('ps', 'PS256');

const settings = (ISSUER: string) => ({ AUTH: 'bearer', ISSUER, AUDIENCE, AUTH_FAILURES: '0' });

const whoami = (service: TestService, token: string) =>
  service.send('GET', '/whoami', { headers: { authorization: `Bearer ${token}` } });

/** The scheme alone, with an issuer and a token. */
async function opened(t: Test, more?: Record<string, unknown>) {
  const issuer = await testIssuer(t, es);
  const { clock, use } = bearerOf(t, mockClock(t), settings(issuer.url));
  const tokenOf = (own: Record<string, unknown> = {}, key = es) => sign(key, claims(issuer.url, own));
  return {
    issuer,
    clock,
    tokenOf,
    token: await tokenOf(more),
    outcome: (text: string) => outcomeOf(use(text)),
  };
}

t.test('valid tokens', async (t) => {
  const issuer = await testIssuer(t, es, rs);
  const service = await testService(t, settings(issuer.url));
  const make = (more?: Record<string, unknown>, header?: object) =>
    sign(es, claims(issuer.url, more), header);
  const rows: [says: string, token: string, scopes?: string[]][] = [
    ['ES256', await make()],
    ['RS256', await sign(rs, claims(issuer.url))],
    ['made by hand', signAsIs(es, { alg: 'ES256', kid: 'es', typ: 'at+jwt' }, claims(issuer.url))],
    ['full type', await make({}, { typ: 'application/AT+JWT' })],
    ['one key of the kind', await make({}, { kid: undefined })],
    ['aud among others', await make({ aud: ['x', AUDIENCE] })],
    ['scp as a list', await make({ scope: undefined, scp: ['a', 'b'] }), ['a', 'b']],
    ['scp as text', await make({ scope: undefined, scp: 'a b' }), ['a', 'b']],
    ['no scope', await make({ scope: undefined }), []],
    ['over 4 KB', await make({ more: 'x'.repeat(6000) })],
  ];
  for (const [says, token, scopes = ['items:read', 'items:write']] of rows) {
    for (const time of ['first', 'second']) {
      const response = await whoami(service, token);
      t.equal(response.status, 200, `${says}, ${time} time`);
      t.match(response.json, { subject: 'ada', scheme: 'bearer', scopes }, says);
    }
  }
  t.same(issuer.requests, [METADATA, '/jwks'], 'the keys are fetched once');
  const token = rows[0]![1];
  const lower = await service.send('GET', '/items', { headers: { authorization: `bearer ${token}` } });
  t.equal(lower.status, 200, 'the name of the scheme in any letter case');
  const forbidden = await service.send('GET', '/users', { headers: { authorization: `Bearer ${token}` } });
  t.equal(forbidden.status, 403);
  t.match(forbidden.headers['www-authenticate'], /insufficient_scope", scope="users:read"/);
});

const LOGOUT = { 'http://schemas.openid.net/event/backchannel-logout': {} };

t.test('invalid tokens', async (t) => {
  const issuer = await testIssuer(t, es, rs, ps);
  const service = await testService(t, settings(issuer.url));
  const now = Math.floor(Date.now() / 1000);
  const valid = claims(issuer.url);
  const token = await sign(es, valid);
  const [header, payload, signature] = token.split('.') as [string, string, string];
  const stranger = await signingKey('es');
  const unknown = await signingKey('unknown');
  const evil = `${issuer.url}/evil`;
  const hmac = (secret: string) => {
    const unsigned = assemble({ alg: 'HS256', typ: 'at+jwt', kid: 'rs' }, valid, '');
    return unsigned + createHmac('sha256', secret).update(unsigned.slice(0, -1)).digest('base64url');
  };
  const arrayType = signAsIs(es, { alg: 'ES256', kid: 'es', typ: ['at+jwt'] }, valid);
  const forged = Buffer.from(JSON.stringify({ ...valid, scope: 'admin' })).toString('base64url');
  const only = (more: object) => sign(es, claims(issuer.url, more as Record<string, unknown>));
  const untyped = (more: object, typ?: string) => sign(es, { ...valid, ...more }, { typ });
  const response = { token_introspection: { active: true } };
  const NONE = /not an access token/;
  const rows: [says: string, token: string, description: RegExp][] = [
    ['expired', await only({ exp: now - 60 }), /expired/],
    ['exp of a year that no Date has', await only({ exp: 1e300 }), /invalid time/],
    ['no exp', await only({ exp: undefined }), /no exp/],
    [
      'exp as text',
      signAsIs(es, { alg: 'ES256', kid: 'es' }, { ...valid, exp: '9999999999' }),
      /no exp|malformed/,
    ],
    ['nbf in the future', await only({ nbf: now + 60 }), /not valid yet/],
    ['another issuer', await only({ iss: 'https://evil.example.org' }), /another issuer/],
    ['no issuer', await only({ iss: undefined }), /another issuer/],
    ['a slash more', await only({ iss: `${issuer.url}/` }), /another issuer/],
    ['another audience', await only({ aud: ['https://other.example.org'] }), /another audience/],
    ['no audience', await only({ aud: undefined }), /another audience/],
    ['part of the audience', await only({ aud: `${AUDIENCE}/x` }), /another audience/],
    ['no subject', await only({ sub: undefined }), /subject/],
    ['an empty subject', await only({ sub: '' }), /subject/],
    ['a subject that is no text', await only({ sub: 7 }), /subject|malformed/],
    ['alg none', assemble({ alg: 'none', typ: 'at+jwt' }, valid, ''), /algorithm|malformed/],
    ['alg None with a signature', assemble({ alg: 'None', kid: 'es' }, valid, signature), /algorithm/],
    ['no alg', assemble({ kid: 'es' }, valid, signature), /malformed/],
    ['HS256 with the public key in PEM', hmac(await exportSPKI(rs.publicKey)), /algorithm/],
    ['HS256 with the public key as JWK', hmac(JSON.stringify(rs.jwk)), /algorithm/],
    ['an algorithm that is not pinned', await sign(ps, valid), /algorithm/],
    ['RS256 named over an EC key', await sign(rs, valid, { kid: 'es' }), /an unknown key/],
    ['an unknown key', await sign(unknown, valid), /an unknown key/],
    ["a stranger's key under a known name", await sign(stranger, valid), /signature/],
    ['its own key in the header', await sign(stranger, valid, { jwk: stranger.jwk }), /signature/],
    ['its own key set', await sign(stranger, valid, { jku: evil, x5u: evil }), /signature/],
    ['forged claims', `${header}.${forged}.${signature}`, /signature/],
    ['a signature cut off', `${header}.${payload}.`, /signature/],
    ['a signature cut short', token.slice(0, -4), /signature/],
    ['a header that is no JSON', `AAAA.${payload}.${signature}`, /malformed/],
    ['crit', signAsIs(es, { alg: 'ES256', kid: 'es', crit: ['bound'], bound: 1 }, valid), /malformed/],
    ['crit b64', signAsIs(es, { alg: 'ES256', kid: 'es', crit: ['b64'], b64: false }, valid), /malformed/],
    ['no type', await untyped({}), NONE],
    ['an id_token by type', await untyped({}, 'JWT'), NONE],
    ['a logout token', await untyped({}, 'logout+jwt'), NONE],
    ['an id_token by nonce', await untyped({ nonce: 'n' }), NONE],
    ['an id_token by at_hash', await untyped({ at_hash: 'h' }), NONE],
    ['a type that is an array', arrayType, NONE],
    ['an id_token with the type of an access token', await only({ nonce: 'n' }), NONE],
    ['an id_token by c_hash', await only({ c_hash: 'h' }), NONE],
    ['a security event token without a type', await untyped({ events: LOGOUT }), NONE],
    ['a security event token', await only({ events: LOGOUT }), NONE],
    ['an id_token of Cognito', await only({ token_use: 'id' }), NONE],
    ['an id_token of Keycloak', await only({ typ: 'ID' }), NONE],
    ['a refresh token of Keycloak', await only({ typ: 'Refresh' }), NONE],
    ['an offline token of Keycloak', await only({ typ: 'Offline' }), NONE],
    ['a logout token of Keycloak', await only({ typ: 'Logout' }), NONE],
    ['a claim typ that is an array', await only({ typ: ['Bearer'] }), NONE],
    ['an introspection response (RFC 9701)', await untyped(response, 'token-introspection+jwt'), NONE],
    ['an introspection response without a type', await untyped(response), NONE],
    ['a userinfo response', await untyped({ scope: undefined, email: 'a@example.org' }), NONE],
    ['bound to a certificate', await only({ cnf: { 'x5t#S256': 'x' } }), /client certificate/],
    ['bound to a key of DPoP', await only({ cnf: { jkt: 'x' } }), /bound/],
    ['bound to both', await only({ cnf: { 'x5t#S256': 'x', jkt: 'x' } }), /bound/],
    ['bound to nothing', await only({ cnf: {} }), /bound/],
    ['opaque', 'abc123', /unsupported/],
    ['four parts', `${token}.AAAA`, /unsupported/],
    ['five parts', 'a.b.c.d.e', /unsupported/],
    ['not a token', 'a b', /malformed/],
    ['quotes', 'a"b', /malformed/],
    ['a key of the api-key scheme', 'plinth_abc', /unsupported/],
  ];
  for (const [says, token, description] of rows) {
    for (const time of ['first', 'second']) {
      const response = await whoami(service, token);
      t.equal(response.status, 401, `${says}, ${time} time`);
      t.match(response.json?.error?.message, description, says);
      const challenge = String(response.headers['www-authenticate']);
      t.match(
        challenge,
        /^Bearer realm="plinth", error="invalid_token", error_description="[^"]*", resource_metadata="http:\/\/[^"]*\/\.well-known\/oauth-protected-resource"$/,
      );
      t.notOk(token.length > 20 && response.text.includes(token), 'the response has no part of the token');
    }
  }
  t.notOk(issuer.requests.includes('/evil'), 'URLs in a token are never requested');
  const fetches = issuer.requests.filter((path) => path === '/jwks').length;
  t.ok(fetches <= 2, 'unknown keys do not cause repeated fetches');
  t.equal((await whoami(service, token)).status, 200, 'a valid token is still accepted');
});

t.test('a client that acts for itself is never a user', async (t) => {
  const issuer = await testIssuer(t, es);
  const service = await testService(t, { ...settings(issuer.url), JWT_TYP: 'JWT' });
  const user = '11111111-2222-4333-8444-555555555555';
  const other = '99999999-2222-4333-8444-555555555555';
  const rows: [says: string, more: object, isClient: boolean][] = [
    ['RFC 9068', { client_id: user }, true],
    ['azp', { azp: user }, true],
    ['Entra ID, app-only by idtyp', { azp: other, idtyp: 'app' }, true],
    ['Entra ID, app-only by oid', { azp: other, oid: user, roles: [] }, true],
    ['Entra ID, version 1', { appid: user }, true],
    ['Auth0', { azp: other, gty: 'client-credentials' }, true],
    ['Keycloak', { azp: 'Robot', preferred_username: 'service-account-robot' }, true],
    ['a user of a client', { client_id: other, azp: other, oid: other }, false],
    ['a user of a client of Keycloak', { azp: 'robot', preferred_username: 'ada' }, false],
  ];
  for (const [says, more, isClient] of rows) {
    const token = await sign(es, claims(issuer.url, { sub: user, scope: 'self', ...more }));
    t.equal((await whoami(service, token)).json.subject, isClient ? `client:${user}` : user, says);
    const headers = { authorization: `Bearer ${token}` };
    t.equal((await service.send('GET', `/users/${user}`, { headers })).status, isClient ? 403 : 404, says);
  }
});

t.test('a jti is accepted once, by all services together', async (t) => {
  const issuer = await testIssuer(t, es);
  const env = { ...settings(issuer.url), JWT_REPLAY: 'reject' };
  const one = await testService(t, env);
  const two = await testService(t, { ...env, DATABASE_URL: one.databaseUrl });
  const token = await sign(es, claims(issuer.url, { jti: 'a' }));
  const responses = await Promise.all([one, two, one, two].map((service) => whoami(service, token)));
  t.same(responses.map(({ status }) => status).sort(), [200, 401, 401, 401]);
  t.match((await whoami(two, token)).json.error.message, /used before/);
  const other = await sign(es, claims(issuer.url, { jti: 'b' }));
  t.equal((await whoami(two, other)).status, 200);
  t.match((await whoami(one, await sign(es, claims(issuer.url)))).json.error.message, /no jti/);
});

t.test('keys are added and withdrawn', async (t) => {
  const next = await signingKey('next');
  const { issuer, clock, tokenOf, outcome } = await opened(t);
  const later = { exp: Math.floor(Date.now() / 1000) + 10 * 86_400 };
  const old = await tokenOf(later);
  t.equal(await outcome(old), 'valid');

  issuer.publish(es, next);
  clock.ms += 10_000;
  const fresh = await tokenOf(later, next);
  t.equal(await outcome(fresh), 'valid', 'a new key is accepted 10 seconds after the last fetch');

  issuer.publish(next);
  clock.ms += 6 * 60_000;
  t.equal(await outcome(old), 'valid', 'requests do not wait for the refresh of old keys');
  t.ok(issuer.requests.length >= 4, 'but they are fetched');
  clock.ms += 11 * 60_000;
  t.match(await outcome(old), /an unknown key/, 'a withdrawn key is refused');
  t.equal(await outcome(fresh), 'valid');

  await issuer.leave();
  clock.ms += 60 * 60_000;
  t.equal(await outcome(fresh), 'valid', 'stored keys are used while the issuer is unavailable');
  clock.ms += 60 * 60_000;
  t.equal(await outcome(fresh), 'valid');
  const unknown = await tokenOf(later, await signingKey('unknown'));
  t.equal(await outcome(unknown), 503, 'an unknown key is 503');
  t.equal(await outcome(unknown), 503, 'and remains one');
  clock.ms += 25 * 3_600_000;
  t.equal(await outcome(fresh), 503, 'after a day the keys are too old');

  await issuer.comeBack();
  clock.ms += 60_000;
  // The pause after a failed fetch is timed by the clock of the process.
  await until('tokens are accepted again', () => outcome(fresh), 'valid');
  t.match(await outcome(unknown), /an unknown key/, 'the unknown key is refused again');
});

t.test('tokens of a withdrawn key leave the cache', async (t) => {
  const next = await signingKey('next');
  const { issuer, clock, tokenOf, token, outcome } = await opened(t);
  await outcome(token);
  issuer.publish(next);
  clock.ms += 10_000;
  t.equal(await outcome(token), 'valid', 'from the cache');
  await outcome(await tokenOf({}, next));
  t.match(await outcome(token), /an unknown key/, 'the keys have changed');
});

t.test('a cached token makes no similar token valid', async (t) => {
  const { tokenOf, token, outcome } = await opened(t);
  t.equal(await outcome(token), 'valid');
  const [header, , signature] = token.split('.');
  const [, payload] = (await tokenOf({ sub: 'eve' })).split('.');
  t.match(await outcome(`${header}.${payload}.${signature}`), /signature/, 'other claims');
  t.match(await outcome(token.slice(-32)), /unsupported/, 'the end alone');
  t.match(await outcome(`?${token}`), /malformed/, 'something before it');
  t.equal(await outcome(token), 'valid');
});

t.test('the cache never outlives the token', async (t) => {
  const { clock, token, outcome } = await opened(t, { exp: Math.floor(Date.now() / 1000) + 60 });
  await outcome(token);
  clock.ms += 63_000;
  t.equal(await outcome(token), 'valid', 'within the skew');
  clock.ms += 3000;
  t.match(await outcome(token), /expired/, 'after it');
});

t.test('concurrent requests share a fetch of the keys', async (t) => {
  const { issuer, tokenOf, token, outcome } = await opened(t);
  const other = await tokenOf({ sub: 'bob' });
  await Promise.all(Array.from({ length: 50 }, (_, index) => outcome(index % 2 ? token : other)));
  t.same(issuer.requests, [METADATA, '/jwks']);
});

t.test('an issuer with invalid, too large, redirected or missing responses is unavailable', async (t) => {
  const elsewhere = await testIssuer(t, es);
  const keys = `${elsewhere.url}/jwks`;
  const metadata =
    (more: object = {}): Handler =>
    (req, res) =>
      json({ issuer: `http://${req.headers.host}`, ...more })(req, res);
  const rows: [says: string, path: string, handler: Handler][] = [
    ['metadata of another issuer', METADATA, json({ issuer: elsewhere.url, jwks_uri: keys })],
    ['no jwks_uri', METADATA, metadata()],
    ['keys over an insecure connection', METADATA, metadata({ jwks_uri: 'http://192.0.2.1/jwks' })],
    ['metadata that is no object', METADATA, json([1])],
    ['no metadata', METADATA, json({}, 404)],
    ['no keys', '/jwks', json({}, 500)],
    ['no set of keys', '/jwks', json({ keys: 'none' })],
    ['no JSON', '/jwks', (_req, res) => res.end('<html>')],
    ['a redirect', '/jwks', (_req, res) => res.writeHead(302, { Location: keys }).end()],
    ['a response that is too large', '/jwks', json({ keys: [es.jwk], more: 'x'.repeat(2_000_000) })],
    ['silence', '/jwks', () => undefined],
    ['half a response', '/jwks', (_req, res) => res.write('{')],
  ];
  for (const [says, path, handler] of rows) {
    const issuer = await testIssuer(t, es);
    issuer.paths.set(path, handler);
    const timeoutMs = says === 'silence' || says === 'half a response' ? 200 : 5000;
    const { use } = bearerOf(t, mockClock(t), settings(issuer.url), timeoutMs);
    t.equal(await outcomeOf(use(await sign(es, claims(issuer.url)))), 503, says);
  }
  t.same(elsewhere.requests, [], 'redirects are not followed');
});

type Handler = Parameters<Awaited<ReturnType<typeof testIssuer>>['paths']['set']>[1];

t.test('the URL of the keys', async (t) => {
  const issuer = await testIssuer(t, es);
  const tenant = `${issuer.url}/tenant`;
  issuer.paths.clear();
  issuer.publish(es);
  const clock = mockClock(t);
  const { use } = bearerOf(t, clock, { ...settings(issuer.url), JWKS_URI: `${issuer.url}/jwks` });
  t.match(await use(await sign(es, claims(issuer.url))), { subject: 'ada' }, 'as configured');
  const metadata = json({ issuer: tenant, jwks_uri: `${issuer.url}/jwks` });
  for (const path of [
    '/.well-known/oauth-authorization-server/tenant',
    '/tenant/.well-known/openid-configuration',
  ]) {
    issuer.paths.set(path, metadata);
    const { use } = bearerOf(t, clock, settings(tenant));
    t.match(await use(await sign(es, claims(tenant))), { subject: 'ada' }, path);
    issuer.paths.delete(path);
  }
});

t.test('an unusable key of the issuer is a 401', async (t) => {
  const broken = { ...es, jwk: { ...es.jwk, x: 'AAAA' } };
  const issuer = await testIssuer(t, broken);
  const { use } = bearerOf(t, mockClock(t), settings(issuer.url));
  const outcome = await outcomeOf(use(await sign(es, claims(issuer.url))));
  t.match(outcome, /unusable/, 'a point not on the curve');
});

t.test('the api-key scheme handles its own keys', async (t) => {
  const { use } = bearerOf(t, mockClock(t), { AUTH: 'bearer,api-key' });
  t.equal(await use('plinth_abc'), undefined);
  t.match(await outcomeOf(use('abc')), /unsupported/, 'nothing else is accepted');
});

t.test('each 401 has the challenge of its own request', async (t) => {
  const issuer = await testIssuer(t, es);
  const { send } = await testService(t, { ...settings(issuer.url), TRUST_PROXY: '127.0.0.1' });
  const none = { message: 'The request needs a credential.', error: 'No access token was sent.' };
  const broken = { message: 'The access token is malformed.', error: 'The access token is malformed.' };
  const requests: [headers: Record<string, string>, fault: typeof none, base: string][] = [
    [{ host: 'a.example' }, none, 'http://a.example'],
    [{ host: 'b.example' }, none, 'http://b.example'],
    [{ host: 'b.example', 'x-forwarded-proto': 'https' }, none, 'https://b.example'],
    [{ host: 'b.example', authorization: 'Bearer ?' }, broken, 'http://b.example'],
    [{ host: 'a.example', authorization: 'Bearer ?' }, broken, 'http://a.example'],
    [{ host: 'a.example' }, none, 'http://a.example'],
    [{ host: 'a.example' }, none, 'http://a.example'],
  ];
  for (const [headers, { message, error }, base] of requests) {
    const { status, json, headers: fields } = await send('GET', '/whoami', { headers });
    t.equal(status, 401);
    t.match(json, { error: { code: 'UNAUTHORIZED', message, requestId: /./ } });
    t.equal(
      fields['www-authenticate'],
      `Bearer realm="plinth", error="invalid_token", error_description="${error}", ` +
        `resource_metadata="${base}/.well-known/oauth-protected-resource"`,
    );
  }
});

t.test('the metadata of the resource (RFC 9728)', async (t) => {
  const issuer = await testIssuer(t, es);
  const service = await testService(t, settings(issuer.url));
  const path = '/.well-known/oauth-protected-resource';
  const response = await service.send('GET', path);
  t.equal(response.status, 200);
  t.match(response.json, {
    resource: service.url,
    authorization_servers: [issuer.url],
    bearer_methods_supported: ['header'],
    tls_client_certificate_bound_access_tokens: false,
  });
  t.same(
    [...response.json.scopes_supported].sort(),
    words(`
    admin events:read items:read items:write posts:read posts:write self self:delete users:read users:write
  `),
  );
  const challenge = String((await service.send('GET', '/whoami')).headers['www-authenticate']);
  t.ok(challenge.endsWith(`resource_metadata="${service.url}${path}"`));

  const outside = await testService(t, { ...settings(issuer.url), PUBLIC_URL: 'https://api.example.org/' });
  t.equal((await outside.send('GET', path)).json.resource, 'https://api.example.org');
  t.match(
    (await outside.send('GET', '/whoami')).headers['www-authenticate'],
    /resource_metadata="https:\/\/api\.example\.org\/\.well-known\//,
  );
  const open = await testService(t);
  t.equal((await open.send('GET', path)).status, 404, 'only where tokens are accepted');
});
