import { mock } from 'node:test';
import type { JWTPayload } from 'jose';
import { NO_PRECONDITIONS } from '../../../src/collection/write-preconditions.js';
import { USER_AGE_MS } from '../../../src/features/accounts/issuer-users.js';
import { byToken, makeUser } from '../../support/credentials.js';
import { AUDIENCE, claims, json, METADATA, sign, signingKey, testIssuer } from '../../support/issuer.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { authorizationServer, signIn } from '../issuer/authorization-server.js';
import { rowsOf } from './mailing.js';

t.jobs = 3;

const key = await signingKey('users');

async function start(t: Test, env: Record<string, string> = {}) {
  const issuer = await testIssuer(t, key);
  const settings = { AUTH: 'bearer', ISSUER: issuer.url, AUDIENCE, USERS_FROM_ISSUER: 'create' };
  const service = await testService(t, { ...settings, ...env });
  /** A token of a subject, with the scopes that a user of an application has. */
  const tokenOf = (sub: string, more: JWTPayload = {}) =>
    sign(key, claims(issuer.url, { sub, scope: 'self', ...more }));
  const send = (method: string, path: string, token: string, body?: object) =>
    service.send(method, path, { headers: byToken(token), ...(body && { body }) });
  const userOf = async (token: string) => {
    const { status, text, json } = await send('GET', '/whoami', token);
    t.equal(status, 200, text);
    return json.subject as string;
  };
  return { service, issuer, tokenOf, send, userOf };
}

const ann = { email: 'Ann@Example.org', name: 'Ann', email_verified: true };
const bob = { email: 'bob@example.org', email_verified: true };

/** The subjects of Auth0, Google, Entra ID and Keycloak, and of one that is the id of nobody here. */
const SUBJECTS = [
  'auth0|507f1f77bcf86cd799439011',
  '110169484474386276334',
  'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
  'Ünïcode/‰ "x"',
  '01a20900-0000-7000-8000-000000000001',
];

for (const subject of SUBJECTS)
  t.test(`the first token of ${subject} makes a user, who owns records`, async (t) => {
    const { tokenOf, send, userOf, service } = await start(t);
    const token = await tokenOf(subject, ann);
    const id = await userOf(token);
    t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/, 'an id of this service');
    t.match((await send('GET', `/users/${id}`, token)).json, { email: 'ann@example.org', name: 'Ann' });
    t.equal((await send('POST', `/users/${id}/posts`, token, { title: 'Mine' })).status, 201);
    t.equal((await send('PATCH', `/users/${id}`, token, { age: 36 })).status, 200);
    t.equal(await userOf(await tokenOf(subject, ann)), id, 'another token of the subject');
    const other = await userOf(await tokenOf(`${subject}x`, bob));
    t.not(other, id);
    const foreign = await send('GET', `/users/${id}`, await tokenOf(`${subject}x`));
    t.equal(foreign.status, 403, 'the record of another');
    t.equal(await rowsOf(service, 'plinth_user_links'), 2);
  });

t.test('requests at once make one user', async (t) => {
  const { tokenOf, userOf, service } = await start(t);
  const tokens = await Promise.all(
    Array.from({ length: 20 }, (_, n) => tokenOf('ann', { ...ann, jti: String(n) })),
  );
  const ids = await Promise.all(tokens.map(userOf));
  t.equal(new Set(ids).size, 1);
  t.equal(await rowsOf(service, 'plinth_users'), 1);
});

t.test('a changed address and name follow the issuer; what the user has changed stays', async (t) => {
  const { tokenOf, send, userOf } = await start(t);
  const id = await userOf(await tokenOf('ann', ann));
  const read = async () => (await send('GET', `/users/${id}`, await tokenOf('ann', ann))).json;
  await send('PATCH', `/users/${id}`, await tokenOf('ann', ann), { name: 'Annie' });
  t.match(await read(), { name: 'Annie', email: 'ann@example.org' });
  const moved = { ...ann, email: 'ann@new.example' };
  t.equal(await userOf(await tokenOf('ann', moved)), id);
  const { json } = await send('GET', `/users/${id}`, await tokenOf('ann', moved));
  t.match(json, { name: 'Ann', email: 'ann@new.example' });
});

t.test('a change does not move the address of another user', async (t) => {
  const { tokenOf, send, userOf, service } = await start(t);
  const id = await userOf(await tokenOf('ann', ann));
  await userOf(await tokenOf('bob', bob));
  const token = await tokenOf('ann', { ...ann, email: 'bob@example.org' });
  t.equal(await userOf(token), id);
  t.equal((await send('GET', `/users/${id}`, token)).json.email, 'ann@example.org');
  t.match(service.logged.join('\n'), /do not fit its user/);
});

t.test('other claims are the values of declared fields', async (t) => {
  const USER_CLAIMS = '{"age": "profile.age", "name": "https://example.org/name"}';
  const { tokenOf, send, userOf } = await start(t, { USER_CLAIMS });
  const token = await tokenOf('ann', { ...ann, profile: { age: 36 }, 'https://example.org/name': 'Ann B.' });
  t.match((await send('GET', `/users/${await userOf(token)}`, token)).json, { age: 36, name: 'Ann B.' });
  const eve = { email: 'eve@example.org', email_verified: true, 'https://example.org/name': 'E\ud800\0' };
  const other = await tokenOf('eve', { ...eve, profile: { age: 36 } });
  const stored = await send('GET', `/users/${await userOf(other)}`, other);
  t.equal(stored.json.name, 'E\u{fffd}\u{fffd}', 'characters that PostgreSQL cannot store are replaced');
});

t.test('an operator who names the claim of addresses vouches for it', async (t) => {
  const { tokenOf, send, userOf, service } = await start(t, { USER_CLAIMS: '{"email": "profile.upn"}' });
  const profile = { upn: 'Ann@Example.org' };
  const token = await tokenOf('ann', { email: 'other@example.org', profile });
  const id = await userOf(token);
  t.equal((await send('GET', `/users/${id}`, token)).json.email, 'ann@example.org');
  const refused = await send('GET', '/whoami', await tokenOf('eve', { profile, email_verified: false }));
  t.match(refused, { status: 403, json: { error: { code: 'ACCOUNT_INCOMPLETE' } } });
  t.equal(await rowsOf(service, 'plinth_users'), 1);
});

const [SECRET, LINKED] = ['secret@example.org', 'linked@example.org'];
const EVE = { email: 'eve@example.org' };
const REFUSED: readonly [says: string, claims: JWTPayload, refusal: string][] = [
  ['no address', {}, '403 ACCOUNT_INCOMPLETE'],
  ['an address that is not verified', { ...EVE, email_verified: false }, '403 ACCOUNT_INCOMPLETE'],
  ...['false', 'TRUE', ' true', '1', 1, null, ['true']].map((email_verified): (typeof REFUSED)[number] => [
    `email_verified: ${JSON.stringify(email_verified)}`,
    { ...EVE, email_verified },
    '403 ACCOUNT_INCOMPLETE',
  ]),
  ['an invalid address', { email: 'nothing', email_verified: true }, '403 ACCOUNT_INCOMPLETE'],
  ['free, and the issuer says nothing of it', { email: 'free@example.org' }, '403 ACCOUNT_INCOMPLETE'],
  ['that of a user with a password', { email: SECRET, email_verified: true }, '403 ACCOUNT_EXISTS'],
  ['that of a user without one, not verified', { email: 'open@example.org' }, '403 ACCOUNT_INCOMPLETE'],
  ['that of a user of another subject', { email: LINKED, email_verified: true }, '403 ACCOUNT_EXISTS'],
  ['an empty subject', { sub: '', ...EVE }, '401 UNAUTHORIZED'],
  ['a subject of 1,001 characters', { sub: 'x'.repeat(1001), ...EVE }, '401 UNAUTHORIZED'],
  ['a subject with U+0000', { sub: 'a\0b', ...EVE }, '401 UNAUTHORIZED'],
];

t.test('no user is made, and none is linked', async (t) => {
  const { tokenOf, send, userOf, service } = await start(t, { AUTH_FAILURES: '0' });
  await makeUser(service, SECRET);
  await makeUser(service, 'open@example.org', {});
  await userOf(await tokenOf('linked', { email: LINKED, email_verified: true }));
  for (const [says, more, refusal] of REFUSED) {
    const { status, json } = await send('GET', '/whoami', await tokenOf('eve', more));
    t.equal(`${status} ${json.error?.code}`, refusal, says);
  }
  t.equal(await rowsOf(service, 'plinth_users'), 3);
  t.equal(await rowsOf(service, 'plinth_user_links'), 1);
});

t.test('an address is verified by the claim true, also as a text', async (t) => {
  const { tokenOf, userOf } = await start(t);
  for (const email_verified of [true, 'true'])
    t.ok(
      await userOf(
        await tokenOf(typeof email_verified, {
          ...ann,
          email: `${typeof email_verified}@example.org`,
          email_verified,
        }),
      ),
    );
});

t.test('the verified address of a user that nothing else can enter links it', async (t) => {
  for (const mode of ['create', 'known']) {
    const { tokenOf, userOf, service } = await start(t, { USERS_FROM_ISSUER: mode });
    const { id } = await makeUser(service, 'ann@example.org', {});
    t.equal(await userOf(await tokenOf('ann', ann)), id, mode);
    t.equal(await userOf(await tokenOf('ann')), id, 'later without the claims');
  }
});

t.test('with known, an unknown subject is refused', async (t) => {
  const { tokenOf, send, service } = await start(t, { USERS_FROM_ISSUER: 'known' });
  await makeUser(service, 'bob@example.org', {});
  const refused = { status: 403, json: { error: { code: 'ACCOUNT_UNKNOWN' } } };
  const bob = { email: 'bob@example.org' };
  for (const more of [ann, {}, bob, { ...bob, email_verified: false }])
    t.match(await send('GET', '/whoami', await tokenOf('ann', more)), refused);
  t.equal(await rowsOf(service, 'plinth_users'), 1);
});

t.test('a user that was deleted is made again by the next token, as another', async (t) => {
  const { tokenOf, userOf, service } = await start(t);
  const id = await userOf(await tokenOf('ann', ann));
  const users = service.collections.find(({ resource }) => resource.hasPasswords)!.whole;
  await users.remove(id, NO_PRECONDITIONS);
  t.not(await userOf(await tokenOf('ann', { ...ann, jti: 'later' })), id);
});

t.test('the access of a deleted and of a disabled user ends when its token is examined again', async (t) => {
  t.ok(USER_AGE_MS <= 1000, 'within the second that docs/accounts.md names');
  const { tokenOf, send, userOf, service } = await start(t);
  const tokens = [await tokenOf('ann', ann), await tokenOf('bob', bob)];
  const [id, other] = [await userOf(tokens[0]!), await userOf(tokens[1]!)];
  const users = service.collections.find(({ resource }) => resource.hasPasswords)!.whole;
  await users.remove(id, NO_PRECONDITIONS);
  await service.db.run('insert into plinth_disabled_users (user_id) values ($1::uuid)', [other]);
  mock.timers.enable({ apis: ['Date'], now: Date.now() + USER_AGE_MS });
  try {
    t.not(await userOf(tokens[0]!), id);
    t.equal((await send('GET', '/whoami', tokens[1]!)).status, 401);
  } finally {
    mock.timers.reset();
  }
});

t.test('a client has no user', async (t) => {
  const { tokenOf, userOf, service } = await start(t);
  t.equal(await userOf(await tokenOf('robot', { client_id: 'robot', ...ann })), 'client:robot');
  t.equal(await rowsOf(service, 'plinth_users'), 0);
});

const USERINFO: readonly [says: string, response: object, status: number, expected: number][] = [
  ['the claims of the subject', { sub: 'ann', ...ann }, 200, 200],
  ['`true` as a text, as Amazon Cognito', { sub: 'ann', ...ann, email_verified: 'true' }, 200, 200],
  ['the claims of another subject', { sub: 'bob', ...ann }, 200, 403],
  ['an address that is not verified', { sub: 'ann', ...ann, email_verified: false }, 200, 403],
  ['an error', {}, 500, 403],
  ['no object', [], 200, 403],
];

t.test('the issuer says who a user is if the token does not', async (t) => {
  for (const [says, response, status, expected] of USERINFO) {
    const { tokenOf, send, issuer } = await start(t);
    const { url } = issuer;
    const metadata = { issuer: url, jwks_uri: `${url}/jwks`, userinfo_endpoint: `${url}/me` };
    issuer.paths.set(METADATA, json(metadata));
    issuer.paths.set('/me', json(response, status));
    // The token says nothing of the address that the issuer shows.
    const token = await tokenOf('ann', { email_verified: true });
    t.equal((await send('GET', '/whoami', token)).status, expected, says);
    if (expected === 200) await send('GET', '/whoami', await tokenOf('ann', { jti: 'second' }));
    t.equal(issuer.requests.filter((path) => path === '/me').length, 1, 'once');
  }
});

t.test('another service is the issuer, and this one issues tokens as well', async (t) => {
  const other = await authorizationServer(t);
  const { config } = await other.register({ scopes: ['self'] });
  const tokens = await signIn(other, config, { scope: 'openid email profile self' });
  const users = { USERS_FROM_ISSUER: 'create', USER_CLAIMS: '{"email": "email"}' };
  const own = await authorizationServer(t, { ISSUER: other.issuer, AUDIENCE: other.issuer, ...users });
  const whoami = (token: string) => own.service.send('GET', '/whoami', { headers: byToken(token) });
  const theirs = await whoami(tokens.access_token);
  // The user of this service with the address has a password.
  t.match(theirs, { status: 403, json: { error: { code: 'ACCOUNT_EXISTS' } } });
  const bob = await other.addUser('bob@example.org', 'Bob');
  const ofBob = await signIn({ ...other, user: bob }, config, { scope: 'openid email profile self' });
  const user = await whoami(ofBob.access_token);
  t.equal(user.status, 200, user.text);
  t.not(user.json.subject, bob.id);
  const headers = byToken(ofBob.access_token);
  const record = await own.service.send('GET', `/users/${user.json.subject}`, { headers });
  t.match(record.json, { email: 'bob@example.org', name: 'Bob' });
  const application = await own.register({ scopes: ['self'] });
  const mine = await signIn(own, application.config, { scope: 'openid self' });
  t.equal((await whoami(mine.access_token)).json.subject, own.user.id);
  const { json: metadata } = await own.service.send('GET', '/.well-known/oauth-protected-resource');
  t.same(metadata.authorization_servers, [own.issuer, other.issuer]);
});
