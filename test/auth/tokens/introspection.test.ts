import type http from 'node:http';
import { text } from 'node:stream/consumers';
import { type Token, TokenCache } from '../../../src/auth/tokens/access-token.js';
import { Introspection } from '../../../src/auth/tokens/introspection.js';
import { readConfig } from '../../../src/config/config.js';
import { AUDIENCE, claims, json, outcomeOf, sign, signingKey, testIssuer } from '../../support/issuer.js';
import { mockClock } from '../../support/pause.js';
import { testService } from '../../support/service.js';
import { shownLog } from '../../support/shown-log.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';

const es = await signingKey('es');
const ADA = { active: true, sub: 'ada', aud: AUDIENCE };

/** An introspection endpoint with the given response, and a clock that the test moves. */
async function ask(t: Test, response: object | Parameters<typeof respondWith>[1], timeoutMs = 5000) {
  const issuer = await testIssuer(t);
  const clock = mockClock(t);
  const seen: Seen[] = [];
  respondWith(issuer.paths, typeof response === 'function' ? (response as never) : json(response), seen);
  const config = readConfig({
    AUTH: 'bearer',
    ISSUER: issuer.url,
    AUDIENCE,
    INTROSPECTION: `${issuer.url}/introspect`.replace('//', '//plinth%20api:a%3Ab%26c%2F%C3%BC@'),
  });
  const source = new Introspection(config, config.introspection!, shownLog(t), timeoutMs);
  const verify = async (token: string) => source.cached(token) ?? source.verify(token);
  return { issuer, clock, seen, verify };
}

interface Seen {
  readonly body: string;
  readonly authorization: string | undefined;
  readonly type: string | undefined;
}
type Handler = (req: http.IncomingMessage, res: http.ServerResponse) => void;

function respondWith(paths: Map<string, Handler>, handler: Handler, seen: Seen[]): void {
  paths.set('/introspect', async (req, res) => {
    const { authorization, 'content-type': type } = req.headers;
    seen.push({ body: await text(req), authorization, type });
    handler(req, res);
  });
}

t.test('the request (RFC 7662 section 2.1, RFC 6749 section 2.3.1)', async (t) => {
  const { seen, verify } = await ask(t, { ...ADA, scope: 'items:read self' });
  const { principal } = await verify('a+b/c=');
  const { claims, ...rest } = principal;
  t.same(rest, {
    ...{ subject: 'ada', scheme: 'bearer', expiresAt: undefined },
    scopes: new Set(['items:read', 'self']),
  });
  t.match(claims, { sub: 'ada', scope: 'items:read self' });
  t.same(Object.fromEntries(new URLSearchParams(seen[0]!.body)), {
    token: 'a+b/c=',
    token_type_hint: 'access_token',
  });
  t.equal(seen[0]!.type, 'application/x-www-form-urlencoded');
  const credentials = Buffer.from(seen[0]!.authorization!.slice('Basic '.length), 'base64').toString();
  t.equal(credentials, 'plinth+api:a%3Ab%26c%2F%C3%BC');
});

t.test('responses and their outcomes', async (t) => {
  const now = Math.floor(Date.now() / 1000);
  const rows: [response: object, outcome: string | RegExp | number][] = [
    [ADA, 'valid'],
    [{ active: true, client_id: 'robot', aud: AUDIENCE }, 'valid'],
    [{ active: true, sub: 'ada' }, /another audience/],
    [{ ...ADA, aud: ['x', AUDIENCE], exp: now + 60, nbf: now, token_type: 'Bearer' }, 'valid'],
    [{ ...ADA, exp: now - 2 }, 'valid'],
    [{ active: false, sub: 'ada' }, /not active/],
    [{ active: true, aud: AUDIENCE }, /subject/],
    [{ ...ADA, sub: '' }, /subject/],
    [{ ...ADA, exp: now - 60 }, /expired/],
    [{ ...ADA, exp: '9999999999' }, /time/],
    [{ ...ADA, exp: 1e300 }, /time/],
    [{ ...ADA, nbf: now + 60 }, /not valid yet/],
    [{ active: true, sub: 'ada', iss: 'https://evil.example.org' }, /another issuer/],
    [{ active: true, sub: 'ada', aud: 'https://other.example.org' }, /another audience/],
    [{ active: true, sub: 'ada', aud: [] }, /another audience/],
    [{ ...ADA, cnf: { jkt: 'x' } }, 'valid'],
    [{ ...ADA, cnf: { jkt: 'x' }, token_type: 'Bearer' }, /not an access token/],
    [{ ...ADA, token_type: 'DPoP' }, /not an access token/],
    [{ ...ADA, token_use: 'refresh_token' }, /not an access token/],
    [{ ...ADA, token_use: 'id' }, /not an access token/],
    [{ ...ADA, typ: 'Refresh' }, /not an access token/],
    [{ ...ADA, typ: 'ID' }, /not an access token/],
    [{ ...ADA, typ: 'Bearer', token_type: 'Bearer' }, 'valid'],
    [{ ...ADA, events: {} }, /not an access token/],
    [{ ...ADA, at_hash: 'h' }, /not an access token/],
    [{ active: 'true', sub: 'ada' }, 503],
    [{ sub: 'ada' }, 503],
    [[], 503],
  ];
  for (const [response, expected] of rows) {
    const { verify } = await ask(t, response);
    t.match(await outcomeOf(verify('opaque')), expected, JSON.stringify(response));
  }
});

t.test('an authorization server without a valid response is a 503', async (t) => {
  const rows: [says: string, handler: Handler][] = [
    ['wrong credentials of the service', json({ error: 'invalid_client' }, 401)],
    ['a bad request', json({}, 400)],
    ['down', json({}, 500)],
    ['busy', json({}, 503)],
    ['elsewhere', (_req, res) => res.writeHead(307, { Location: 'http://127.0.0.1:1/' }).end()],
    ['no JSON', (_req, res) => res.end('active')],
    ['a flood', (_req, res) => res.end(JSON.stringify({ active: true, sub: 'x'.repeat(2_000_000) }))],
    ['silence', () => undefined],
    ['cut off', (_req, res) => res.destroy()],
  ];
  for (const [says, handler] of rows) {
    const { verify } = await ask(t, handler, says === 'silence' ? 200 : 5000);
    t.equal(await outcomeOf(verify('opaque')), 503, says);
  }
  const { issuer, verify } = await ask(t, {});
  await issuer.leave();
  t.equal(await outcomeOf(verify('opaque')), 503, 'gone');
});

t.test('a connection that the authorization server closes instead of a response', async (t) => {
  const rows: [closed: number, outcome: string | number, requests: number][] = [
    [1, 'valid', 3],
    [2, 503, 3],
  ];
  for (const [closed, expected, requests] of rows) {
    let count = 0;
    const { verify, seen } = await ask(t, (req: http.IncomingMessage, res: http.ServerResponse) => {
      count++;
      if (count > 1 && count <= 1 + closed) res.destroy();
      else json(ADA)(req, res);
    });
    t.equal(await outcomeOf(verify('first')), 'valid');
    t.equal(await outcomeOf(verify('second')), expected, `${closed} times`);
    t.equal(seen.length, requests);
  }
});

t.test('responses are cached', async (t) => {
  const { issuer, clock, seen, verify } = await ask(t, ADA);
  t.same(
    await Promise.all(Array.from({ length: 20 }, () => outcomeOf(verify('a')))),
    Array(20).fill('valid'),
  );
  t.equal(seen.length, 1, 'concurrent requests share an introspection');
  respondWith(issuer.paths, json({ active: false }), seen);
  clock.ms += 29_000;
  t.equal(await outcomeOf(verify('a')), 'valid');
  t.equal(seen.length, 1);
  clock.ms += 2000;
  t.match(await outcomeOf(verify('a')), /not active/, 'revoked');
  t.equal(seen.length, 2);
  respondWith(issuer.paths, json({ ...ADA, exp: clock.ms / 1000 + 10 }), seen);
  clock.ms += 4000;
  t.match(await outcomeOf(verify('a')), /not active/);
  t.equal(seen.length, 2);
  clock.ms += 2000;
  t.equal(await outcomeOf(verify('a')), 'valid');
  clock.ms += 5000;
  t.equal(await outcomeOf(verify('a')), 'valid');
  t.equal(seen.length, 4, 'not cached after its expiry, even within the skew');
});

t.test('tokens with the same end are different tokens', async (t) => {
  const { issuer, seen, verify } = await ask(t, ADA);
  const end = 'e'.repeat(64);
  t.match(await verify(`a${end}`), { principal: { subject: 'ada' } });
  respondWith(issuer.paths, json({ ...ADA, sub: 'bob' }), seen);
  t.match(await verify(`b${end}`), { principal: { subject: 'bob' } });
  respondWith(issuer.paths, json({ active: false }), seen);
  t.match(await verify(`b${end}`), { principal: { subject: 'bob' } });
  t.equal(seen.length, 2);
  t.match(await outcomeOf(verify(end)), /not active/);
});

t.test('64 introspections at a time', async (t) => {
  const waiting: http.ServerResponse[] = [];
  const hold = (_req: unknown, res: http.ServerResponse) => void waiting.push(res);
  const { issuer, verify } = await ask(t, hold);
  const outcomes = Array.from({ length: 65 }, (_, index) => outcomeOf(verify(`token-${index}`)));
  t.equal(await outcomes[64], 503, 'one too many');
  await until('all others are in flight', () => waiting.length, 64);
  respondWith(issuer.paths, json(ADA), []);
  for (const res of waiting) json(ADA)({} as never, res);
  t.same(await Promise.all(outcomes.slice(0, 64)), Array(64).fill('valid'));
  t.equal(await outcomeOf(verify('token-64')), 'valid', 'accepted again');
});

t.test('through the service', async (t) => {
  const issuer = await testIssuer(t, es);
  const seen: Seen[] = [];
  respondWith(issuer.paths, json({ active: true, sub: 'ada', scope: 'items:read', aud: AUDIENCE }), seen);
  const env = { AUTH: 'bearer', AUTH_FAILURES: '0', INTROSPECTION: `${issuer.url}/introspect` };
  const jwt = await sign(es, claims(issuer.url, { sub: 'bob' }));
  const whoami = async (more: Record<string, string>, token: string) => {
    const service = await testService(t, { ...env, ...more });
    return service.send('GET', '/whoami', { headers: { authorization: `Bearer ${token}` } });
  };
  t.match((await whoami({}, jwt)).json, { subject: 'ada' }, 'without an issuer, JWTs are introspected too');
  t.equal(seen[0]!.authorization, undefined, 'no credentials without a client id');
  t.match((await whoami({ ISSUER: issuer.url, AUDIENCE }, jwt)).json, { subject: 'bob' });
  t.match((await whoami({ ISSUER: issuer.url, AUDIENCE }, 'opaque')).json, { subject: 'ada' });
  await issuer.leave();
  const away = await whoami({}, 'opaque');
  t.equal(away.status, 503);
  t.ok(away.headers['retry-after']);
  t.equal(away.headers['www-authenticate'], undefined);
});

t.test('API keys and tokens for other audiences are refused', async (t) => {
  const issuer = await testIssuer(t, es);
  const seen: Seen[] = [];
  const user = '11111111-2222-4333-8444-555555555555';
  const env = { AUTH: 'bearer', AUTH_FAILURES: '0', INTROSPECTION: `${issuer.url}/introspect`, AUDIENCE };
  const service = await testService(t, env);
  const get = (path: string, token: string) =>
    service.send('GET', path, { headers: { authorization: `Bearer ${token}` } });
  respondWith(issuer.paths, json({ active: true, sub: 'ada', scope: 'admin' }), seen);
  const key = await get('/whoami', 'plinth_0123456789abcdef');
  t.equal(key.status, 401);
  t.match(key.json.error.message, /unsupported/);
  t.same(seen, [], 'the key is not sent');
  const other = await get('/whoami', 'without-aud');
  t.equal(other.status, 401, 'a response without `aud`');
  t.match(other.json.error.message, /another audience/);
  for (const [token, more] of [
    ['client', { client_id: user }],
    ['client-as-sub', { sub: user, client_id: user }],
  ] as const) {
    respondWith(issuer.paths, json({ active: true, scope: 'self', aud: AUDIENCE, ...more }), seen);
    t.match((await get('/whoami', token)).json, { subject: `client:${user}` });
    t.equal((await get(`/users/${user}`, token)).status, 403, 'a client is no user');
  }
  respondWith(issuer.paths, json({ ...ADA, scope: 'self', sub: user, client_id: 'app' }), seen);
  t.equal((await get(`/users/${user}`, 'user')).status, 404, 'the user itself may look');
});

const tokenOf = (subject: string, cachedUntil: number): Token => ({
  principal: { subject, scopes: new Set(), scheme: 'bearer', expiresAt: undefined },
  certificate: undefined,
  proofKey: undefined,
  id: undefined,
  cachedUntil,
});

t.test('a token whose verification began before the keys changed is not cached', async (t) => {
  const cache = new TokenCache();
  let resolve: (token: Token) => void = () => undefined;
  const added = cache.add('a', () => new Promise((fulfil) => (resolve = fulfil)));
  cache.clear();
  resolve(tokenOf('a', Date.now() + 60_000));
  t.equal((await added).principal.subject, 'a');
  t.equal(cache.get('a'), undefined);
});
