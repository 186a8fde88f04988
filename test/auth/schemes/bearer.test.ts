import { createHmac } from 'node:crypto';
import { exportSPKI } from 'jose';
import { CredentialRejected } from '../../../src/auth/principal.js';
import type { AuthRequest } from '../../../src/auth/scheme.js';
import { Bearer } from '../../../src/auth/schemes/bearer.js';
import { readConfig } from '../../../src/config/config.js';
import { Problem } from '../../../src/errors/problem.js';
import {
  AUDIENCE,
  assemble,
  claims,
  json,
  METADATA,
  sign,
  signAsIs,
  signingKey,
  testIssuer,
} from '../../support/issuer.js';
import { mockClock } from '../../support/pause.js';
import { type TestService, testService } from '../../support/service.js';
import { shownLog } from '../../support/shown-log.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { words } from '../../support/words.js';

const es = await signingKey('es', 'ES256');
const rs = await signingKey('rs', 'RS256');
const ps = await signingKey('ps', 'PS256');

const settings = (issuer: string) => ({
  AUTH: 'bearer',
  ISSUER: issuer,
  AUDIENCE,
  AUTH_FAILURES: '0',
});

const whoami = (service: TestService, token: string) =>
  service.send('GET', '/whoami', { headers: { authorization: `Bearer ${token}` } });

/** The scheme alone, with a clock that a test moves and no database. */
function schemeOf(t: Test, env: Record<string, string>, timeoutMs = 5000) {
  const clock = mockClock(t);
  const config = readConfig({ LOG_LEVEL: 'silent', ...env });
  const scheme = new Bearer(config, () => Promise.resolve('first'), shownLog(t), timeoutMs);
  t.teardown(() => scheme.close?.());
  const use = async (token: string, more: Partial<AuthRequest> = {}) => {
    const headers = { authorization: `Bearer ${token}`, host: 'localhost' };
    return scheme.authenticate({ headers, ...more } as AuthRequest);
  };
  return { clock, scheme, use };
}

const refused = (description: RegExp | string) => (error: unknown) =>
  error instanceof CredentialRejected &&
  (description instanceof RegExp ? description.test(error.description) : true);

async function rejects(t: Test, outcome: Promise<unknown>, fits: (error: unknown) => boolean, says: string) {
  const error = await outcome.then(
    () => undefined,
    (error: unknown) => error,
  );
  t.ok(fits(error), `${says}: ${(error as CredentialRejected | undefined)?.description ?? String(error)}`);
}

const away = (error: unknown) => error instanceof Problem && error.status === 503;

t.test('valid tokens', async (t) => {
  const issuer = await testIssuer(t, es, rs);
  const service = await testService(t, settings(issuer.url));
  const rows: [says: string, token: string, scopes: string[]][] = [
    ['ES256', await sign(es, claims(issuer.url)), ['items:read', 'items:write']],
    ['RS256', await sign(rs, claims(issuer.url)), ['items:read', 'items:write']],
    [
      'made by hand',
      signAsIs(es, { alg: 'ES256', kid: 'es', typ: 'at+jwt' }, claims(issuer.url)),
      ['items:read', 'items:write'],
    ],
    [
      'full type',
      await sign(es, claims(issuer.url), { typ: 'application/AT+JWT' }),
      ['items:read', 'items:write'],
    ],
    [
      'one key of the kind',
      await sign(es, claims(issuer.url), { kid: undefined }),
      ['items:read', 'items:write'],
    ],
    [
      'aud among others',
      await sign(es, claims(issuer.url, { aud: ['x', AUDIENCE] })),
      ['items:read', 'items:write'],
    ],
    ['scp as a list', await sign(es, claims(issuer.url, { scope: undefined, scp: ['a', 'b'] })), ['a', 'b']],
    ['scp as text', await sign(es, claims(issuer.url, { scope: undefined, scp: 'a b' })), ['a', 'b']],
    ['no scope', await sign(es, claims(issuer.url, { scope: undefined })), []],
    [
      'over 4 KB',
      await sign(es, claims(issuer.url, { more: 'x'.repeat(6000) })),
      ['items:read', 'items:write'],
    ],
  ];
  for (const [says, token, scopes] of rows) {
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
  const hmac = (secret: string) => {
    const unsigned = assemble({ alg: 'HS256', typ: 'at+jwt', kid: 'rs' }, valid, '');
    return unsigned + createHmac('sha256', secret).update(unsigned.slice(0, -1)).digest('base64url');
  };
  const arrayType = signAsIs(es, { alg: 'ES256', kid: 'es', typ: ['at+jwt'] }, valid);
  const forged = Buffer.from(JSON.stringify({ ...valid, scope: 'admin' })).toString('base64url');
  const only = (more: object) => sign(es, claims(issuer.url, more as Record<string, unknown>));
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
    [
      'its own key set',
      await sign(stranger, valid, { jku: `${issuer.url}/evil`, x5u: `${issuer.url}/evil` }),
      /signature/,
    ],
    ['forged claims', `${header}.${forged}.${signature}`, /signature/],
    ['a signature cut off', `${header}.${payload}.`, /signature/],
    ['a signature cut short', token.slice(0, -4), /signature/],
    ['a header that is no JSON', `AAAA.${payload}.${signature}`, /malformed/],
    ['crit', signAsIs(es, { alg: 'ES256', kid: 'es', crit: ['bound'], bound: 1 }, valid), /malformed/],
    ['crit b64', signAsIs(es, { alg: 'ES256', kid: 'es', crit: ['b64'], b64: false }, valid), /malformed/],
    ['no type', await sign(es, valid, { typ: undefined }), /not an access token/],
    ['an id_token by type', await sign(es, valid, { typ: 'JWT' }), /not an access token/],
    ['a logout token', await sign(es, valid, { typ: 'logout+jwt' }), /not an access token/],
    [
      'an id_token by nonce',
      await sign(es, { ...valid, nonce: 'n' }, { typ: undefined }),
      /not an access token/,
    ],
    [
      'an id_token by at_hash',
      await sign(es, { ...valid, at_hash: 'h' }, { typ: undefined }),
      /not an access token/,
    ],
    ['a type that is an array', arrayType, /not an access token/],
    ['an id_token with the type of an access token', await only({ nonce: 'n' }), /not an access token/],
    ['an id_token by c_hash', await only({ c_hash: 'h' }), /not an access token/],
    [
      'a security event token without a type',
      await sign(es, { ...valid, events: LOGOUT }, { typ: undefined }),
      /not an access token/,
    ],
    ['a security event token', await only({ events: LOGOUT }), /not an access token/],
    ['an id_token of Cognito', await only({ token_use: 'id' }), /not an access token/],
    ['an id_token of Keycloak', await only({ typ: 'ID' }), /not an access token/],
    ['a refresh token of Keycloak', await only({ typ: 'Refresh' }), /not an access token/],
    ['an offline token of Keycloak', await only({ typ: 'Offline' }), /not an access token/],
    ['a logout token of Keycloak', await only({ typ: 'Logout' }), /not an access token/],
    ['a claim typ that is an array', await only({ typ: ['Bearer'] }), /not an access token/],
    [
      'an introspection response (RFC 9701)',
      await sign(es, { ...valid, token_introspection: { active: true } }, { typ: 'token-introspection+jwt' }),
      /not an access token/,
    ],
    [
      'an introspection response without a type',
      await sign(es, { ...valid, token_introspection: { active: true } }, { typ: undefined }),
      /not an access token/,
    ],
    [
      'a userinfo response',
      await sign(es, { ...valid, scope: undefined, email: 'a@example.org' }, { typ: undefined }),
      /not an access token/,
    ],
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
  t.same(
    issuer.requests.filter((path) => path === '/jwks').length <= 2,
    true,
    'unknown keys do not cause repeated fetches',
  );
  const none = await service.send('GET', '/whoami');
  t.match(
    none.headers['www-authenticate'],
    /error="invalid_token", error_description="No access token was sent\."/,
  );
  t.equal(none.status, 401);
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
    const own = await service.send('GET', `/users/${user}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    t.equal(own.status, isClient ? 403 : 404, says);
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
  const issuer = await testIssuer(t, es);
  const { clock, use } = schemeOf(t, settings(issuer.url));
  const later = { exp: Math.floor(Date.now() / 1000) + 10 * 86_400 };
  const old = await sign(es, claims(issuer.url, later));
  t.match(await use(old), { subject: 'ada' });

  issuer.publish(es, next);
  clock.ms += 10_000;
  const fresh = await sign(next, claims(issuer.url, later));
  t.match(await use(fresh), { subject: 'ada' }, 'a new key is accepted 10 seconds after the last fetch');

  issuer.publish(next);
  clock.ms += 6 * 60_000;
  t.match(await use(old), { subject: 'ada' }, 'requests do not wait for the refresh of old keys');
  const refreshed = issuer.requests.length;
  t.ok(refreshed >= 4, 'but they are fetched');
  clock.ms += 11 * 60_000;
  await rejects(t, use(old), refused(/an unknown key/), 'a withdrawn key is refused');
  t.match(await use(fresh), { subject: 'ada' });

  await issuer.leave();
  clock.ms += 60 * 60_000;
  t.match(await use(fresh), { subject: 'ada' }, 'stored keys are used while the issuer is unavailable');
  clock.ms += 60 * 60_000;
  t.match(await use(fresh), { subject: 'ada' });
  const unknown = await sign(await signingKey('unknown'), claims(issuer.url, later));
  await rejects(t, use(unknown), away, 'an unknown key is 503');
  await rejects(t, use(unknown), away, 'and remains one');
  clock.ms += 25 * 3_600_000;
  await rejects(t, use(fresh), away, 'after a day the keys are too old');

  await issuer.comeBack();
  clock.ms += 60_000;
  // The pause after a failed fetch is timed by the clock of the process.
  const again = await until('the issuer is requested again', () => use(fresh).catch(() => undefined));
  t.match(again, { subject: 'ada' }, 'accepted again when the issuer is back');
  await rejects(t, use(unknown), refused(/an unknown key/), 'the unknown key is refused again');
});

t.test('tokens of a withdrawn key leave the cache', async (t) => {
  const next = await signingKey('next');
  const issuer = await testIssuer(t, es);
  const { clock, use } = schemeOf(t, settings(issuer.url));
  const token = await sign(es, claims(issuer.url));
  await use(token);
  issuer.publish(next);
  clock.ms += 10_000;
  t.match(await use(token), { subject: 'ada' }, 'from the cache');
  await use(await sign(next, claims(issuer.url)));
  await rejects(t, use(token), refused(/an unknown key/), 'the keys have changed');
});

t.test('a cached token makes no similar token valid', async (t) => {
  const issuer = await testIssuer(t, es);
  const { use } = schemeOf(t, settings(issuer.url));
  const token = await sign(es, claims(issuer.url));
  t.match(await use(token), { subject: 'ada' });
  const [header, , signature] = token.split('.');
  const [, payload] = (await sign(es, claims(issuer.url, { sub: 'eve' }))).split('.');
  await rejects(t, use(`${header}.${payload}.${signature}`), refused(/signature/), 'other claims');
  await rejects(t, use(token.slice(-32)), refused(/unsupported/), 'the end alone');
  await rejects(t, use(`?${token}`), refused(/malformed/), 'something before it');
  t.match(await use(token), { subject: 'ada' });
});

t.test('the cache never outlives the token', async (t) => {
  const issuer = await testIssuer(t, es);
  const { clock, use } = schemeOf(t, settings(issuer.url));
  const token = await sign(es, claims(issuer.url, { exp: Math.floor(clock.ms / 1000) + 60 }));
  await use(token);
  clock.ms += 63_000;
  t.match(await use(token), { subject: 'ada' }, 'within the skew');
  clock.ms += 3000;
  await rejects(t, use(token), refused(/expired/), 'after it');
});

t.test('concurrent requests share a fetch of the keys', async (t) => {
  const issuer = await testIssuer(t, es);
  const { use } = schemeOf(t, settings(issuer.url));
  const token = await sign(es, claims(issuer.url));
  const other = await sign(es, claims(issuer.url, { sub: 'bob' }));
  await Promise.all(Array.from({ length: 50 }, (_, index) => use(index % 2 ? token : other)));
  t.same(issuer.requests, [METADATA, '/jwks']);
});

t.test('a token bound to a certificate is accepted from its holder only, also from the cache', async (t) => {
  const issuer = await testIssuer(t, es);
  const { use } = schemeOf(t, settings(issuer.url));
  const token = await sign(es, claims(issuer.url, { cnf: { 'x5t#S256': 'thumbprint' } }));
  t.match(await use(token, { certificate: 'thumbprint' }), { subject: 'ada' });
  await rejects(t, use(token, { certificate: 'another' }), refused(/certificate/), 'another certificate');
  await rejects(t, use(token), refused(/certificate/), 'none');
  t.match(await use(token, { certificate: 'thumbprint' }), { subject: 'ada' });
});

t.test('an issuer with invalid, too large, redirected or missing responses is unavailable', async (t) => {
  const elsewhere = await testIssuer(t, es);
  const rows: [says: string, path: string, handler: Handler][] = [
    [
      'metadata of another issuer',
      METADATA,
      json({ issuer: elsewhere.url, jwks_uri: `${elsewhere.url}/jwks` }),
    ],
    ['no jwks_uri', METADATA, (req, res) => json({ issuer: `http://${req.headers.host}` })(req, res)],
    [
      'keys over an insecure connection',
      METADATA,
      (req, res) =>
        json({ issuer: `http://${req.headers.host}`, jwks_uri: 'http://192.0.2.1/jwks' })(req, res),
    ],
    ['metadata that is no object', METADATA, json([1])],
    ['no metadata', METADATA, json({}, 404)],
    ['no keys', '/jwks', json({}, 500)],
    ['no set of keys', '/jwks', json({ keys: 'none' })],
    ['no JSON', '/jwks', (_req, res) => res.end('<html>')],
    ['a redirect', '/jwks', (_req, res) => res.writeHead(302, { Location: `${elsewhere.url}/jwks` }).end()],
    [
      'a response that is too large',
      '/jwks',
      (_req, res) => res.end(JSON.stringify({ keys: [es.jwk], more: 'x'.repeat(2_000_000) })),
    ],
    ['silence', '/jwks', () => undefined],
    ['half a response', '/jwks', (_req, res) => res.write('{')],
  ];
  for (const [says, path, handler] of rows) {
    const issuer = await testIssuer(t, es);
    issuer.paths.set(path, handler);
    const { use } = schemeOf(
      t,
      settings(issuer.url),
      says === 'silence' || says === 'half a response' ? 200 : 5000,
    );
    await rejects(t, use(await sign(es, claims(issuer.url))), away, says);
  }
  t.same(elsewhere.requests, [], 'redirects are not followed');
});

type Handler = Parameters<Awaited<ReturnType<typeof testIssuer>>['paths']['set']>[1];

t.test('the URL of the keys', async (t) => {
  const issuer = await testIssuer(t, es);
  const tenant = `${issuer.url}/tenant`;
  issuer.paths.clear();
  issuer.publish(es);
  const configured = schemeOf(t, { ...settings(issuer.url), JWKS_URI: `${issuer.url}/jwks` });
  t.match(await configured.use(await sign(es, claims(issuer.url))), { subject: 'ada' }, 'as configured');
  const metadata = json({ issuer: tenant, jwks_uri: `${issuer.url}/jwks` });
  for (const path of [
    '/.well-known/oauth-authorization-server/tenant',
    '/tenant/.well-known/openid-configuration',
  ]) {
    issuer.paths.set(path, metadata);
    const { use } = schemeOf(t, settings(tenant));
    t.match(await use(await sign(es, claims(tenant))), { subject: 'ada' }, path);
    issuer.paths.delete(path);
  }
});

t.test('an unusable key of the issuer is a 401', async (t) => {
  const broken = { ...es, jwk: { ...es.jwk, x: 'AAAA' } };
  const issuer = await testIssuer(t, broken);
  const { use } = schemeOf(t, settings(issuer.url));
  await rejects(t, use(await sign(es, claims(issuer.url))), refused(/unusable/), 'a point not on the curve');
});

t.test('the api-key scheme handles its own keys', async (t) => {
  const { use } = schemeOf(t, { AUTH: 'bearer,api-key' });
  t.equal(await use('plinth_abc'), undefined);
  await rejects(t, use('abc'), refused(/unsupported/), 'nothing else is accepted');
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
