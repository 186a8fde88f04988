import { createServer } from 'node:https';
import type { Configuration } from 'oidc-provider';
import { createClient } from '../../../src/features/issuer/clients.js';
import type { JsonObject } from '../../../src/json.js';
import { authority, withoutOpenssl } from '../../support/certificates.js';
import { noBrowser, openPage } from '../../support/chromium.js';
import { claimPort } from '../../support/claimed-port.js';
import { declare } from '../../support/collections.js';
import { makeUser, PASSWORD } from '../../support/credentials.js';
import { json, signingKey } from '../../support/issuer.js';
import { UNDECLARED } from '../../support/service.js';
import t from '../../support/test.js';
import { secretIn, totpOf } from '../issuer/authenticator.js';
import { authorizationServer, CLIENT, consent } from '../issuer/authorization-server.js';
import { Visitor } from '../issuer/visitor.js';
import {
  type Change,
  hrefIn,
  otherProvider,
  REDIRECT,
  settingsFor,
  startWorld,
  upstreamIssuer,
  type World,
} from './upstream.js';

const upstream = await upstreamIssuer(t);
const otherKey = await signingKey('upstream');

const ANN = { email: 'ann@example.org' };
const CAROL = { sub: 'auth0|carol', email: 'Carol@Example.org', email_verified: true, name: 'Carol' };

/** The users and the subjects that are linked to them. */
const linksOf = async ({ server }: World) => {
  const linked = `select subject || ' ' || email as text from plinth_user_links
    join plinth_users as users on users.id = user_id order by subject, email`;
  return (await server.service.db.run(linked, [])).map(({ text }) => text);
};
const usersOf = async ({ server: { service } }: World) =>
  (await service.db.run('select email from plinth_users order by email', [])).map(({ email }) => email);

const BACK = `${REDIRECT}?code=`;
const AGAIN = '>Sign in with Work Login<';

t.test('a person without an account gets one, and signs in again later', async (t) => {
  const world = await startWorld(t, upstream);
  const { visitor, page } = await world.open();
  t.match(page.text, />Sign in with Work Login</);
  const away = new URL((await visitor.open(hrefIn(page))).url);
  t.equal(away.origin + away.pathname, `${upstream.url}/authorize`);
  t.match(Object.fromEntries(away.searchParams), {
    tenant: '1',
    client_id: 'plinth',
    redirect_uri: `${world.server.issuer}/sign-in/work-login`,
    response_type: 'code',
    scope: 'openid email profile',
    code_challenge_method: 'S256',
    state: /^[\w-]{43}$/,
    nonce: /^[\w-]{43}$/,
    code_challenge: /^[\w-]{43}$/,
  });
  const first = await world.signIn(CAROL);
  t.match(first.url, BACK);
  t.same(await linksOf(world), ['auth0|carol carol@example.org']);
  const { body, authorization } = upstream.exchanged[0]!;
  t.match(Object.fromEntries(body), {
    grant_type: 'authorization_code',
    code: 'code',
    code_verifier: /^[\w-]{43}$/,
  });
  t.match(authorization, /^Basic /);
  t.match((await world.signIn(CAROL)).url, BACK, 'another browser');
  t.match((await world.signIn({ ...CAROL, email: 'carol@new.example' })).url, BACK);
  t.same(await linksOf(world), ['auth0|carol carol@new.example'], 'a changed address');
  t.equal((await usersOf(world)).length, 2);
});

t.test('an account with a password is linked once its user has signed in', async (t) => {
  const world = await startWorld(t, upstream);
  const ann = { sub: 'auth0|ann', email: 'ANN@example.org', email_verified: true };
  const shown = await world.signIn(ann);
  t.equal(shown.status, 200);
  t.match(shown.text, 'There is an account with the address ann@example.org. Sign in to it here once');
  t.match(shown.text, 'value="ann@example.org"');
  t.same(await linksOf(world), [], 'nothing is linked yet');
  const wrong = await shown.visitor.enter(shown, ANN, 'wrong');
  t.equal(wrong.status, 422);
  t.match(wrong.text, 'There is an account with the address ann@example.org');
  t.match((await shown.visitor.enter(wrong, ANN)).url, BACK);
  t.same(await linksOf(world), ['auth0|ann ann@example.org']);
  t.match((await world.signIn(ann)).url, BACK, 'from now on without a password');
  t.same(await usersOf(world), ['ann@example.org']);
});

t.test('the sign-in of another user links nothing, and neither does one in another browser', async (t) => {
  const world = await startWorld(t, upstream);
  const bob = await world.server.addUser('bob@example.org', 'Bob');
  const ann = { email: 'ann@example.org', email_verified: true };
  const shown = await world.signIn(ann);
  t.match((await shown.visitor.enter(shown, bob)).url, BACK);
  const link = shown.visitor.cookie('plinth_link');
  t.equal(link, undefined, 'it waits no longer');
  const waiting = (await world.signIn(ann)).visitor.cookie('plinth_link')!;
  for (const token of [`${waiting}x`, '.', 'x'.repeat(5000)]) {
    const { visitor, page } = await world.open();
    visitor.plant('plinth_link', token);
    t.match((await visitor.enter(page, ANN)).url, BACK);
  }
  const { visitor, page } = await world.open();
  const filled = { email: 'ann@example.org', password: PASSWORD, action: 'sign-in', link: waiting };
  t.match((await visitor.submit(page, filled)).url, BACK, 'another browser');
  t.same(await linksOf(world), []);
});

t.test('an account with a second factor is linked after it, and not after the password alone', async (t) => {
  const world = await startWorld(t, upstream);
  const { server } = world;
  const { visitor: own, page: account } = await server.enter();
  const offer = await own.submit(account, { action: 'begin-totp' });
  const code = () => totpOf(secretIn(offer));
  await own.submit(offer, { action: 'confirm-totp', code: code() });
  const forgetUse = () => server.service.db.run('update plinth_totp set last_step = 0', []);
  const ann = { sub: 'auth0|ann', email: 'ann@example.org', email_verified: true };
  const shown = await world.signIn(ann);
  const half = await shown.visitor.enter(shown, ANN);
  t.match(half.text, /Second step/);
  t.same(await linksOf(world), []);
  const elsewhere = await shown.visitor.open('/account');
  t.match(elsewhere.text, /Second step/);
  t.same(await linksOf(world), [], 'the account page is no way around');
  await forgetUse();
  t.match((await shown.visitor.submit(half, { code: code(), action: 'code' })).url, BACK);
  t.same(await linksOf(world), ['auth0|ann ann@example.org']);
  t.equal(shown.visitor.cookie('plinth_link'), undefined);
  await server.service.db.run('delete from plinth_user_links', []);
  const again = await world.signIn(ann);
  const { visitor } = again;
  const second = await visitor.enter(await visitor.open('/account'), ANN);
  t.same(await linksOf(world), []);
  await forgetUse();
  await visitor.submit(second, { code: code(), action: 'code' });
  t.same(await linksOf(world), ['auth0|ann ann@example.org'], 'at the account page');
});

/** People of the issuer who get no account. */
const [YOURS, ENOUGH] = [
  'does not say that the address * is yours',
  'does not say enough to make an account',
];
const KNOWN = { USERS_FROM_ISSUER: 'known' };
const EVE = { email: 'eve@example.org' };
const REFUSED: readonly [says: string, claims: object, text: string, env?: Record<string, string>][] = [
  ['the address of an account, not verified', { ...ANN, email_verified: false }, YOURS],
  ['the address of an account, about which the issuer says no more', ANN, YOURS],
  ['another address that is not verified', { ...EVE, email_verified: false }, YOURS],
  ['no address', {}, `${ENOUGH}: email is required`],
  ['an address that is none', { email: 'nothing', email_verified: true }, ENOUGH],
  ['a subject of 2,000 characters', { ...CAROL, sub: 'x'.repeat(2000) }, 'does not say who you are'],
  ['an empty subject', { ...CAROL, sub: '' }, 'does not say who you are'],
  ['with known, an address that is not verified', { ...EVE, email_verified: false }, YOURS, KNOWN],
  ['a person without a user', CAROL, 'There is no account for Carol@Example.org here', KNOWN],
];
for (const [says, claims, text, env] of REFUSED)
  t.test(`${says} is refused`, async (t) => {
    upstream.paths.set('/userinfo', json({ sub: 'eve' }));
    const world = await startWorld(t, upstream, env);
    const { status, text: body } = await world.signIn({ sub: 'eve', ...claims });
    t.equal(status, 403);
    const { email = '' } = claims as { email?: string };
    t.match(body.slice(body.indexOf('<body')), text.replace('*', email));
    t.match(body, AGAIN, 'another attempt');
    t.same(await usersOf(world), ['ann@example.org']);
    t.same(await linksOf(world), []);
  });

const DISABLED = 'insert into plinth_disabled_users (user_id) values ($1)';
const OTHER_LINK = "insert into plinth_user_links values ('https://login.example.org', 'carol', $1, '')";
const PASSKEY = "insert into passkeys values ('key', $1, '', 0, '[]')";
const ONCE = 'There is an account with the address carol@example.org. Sign in to it here once';
const AS_BEFORE =
  'An account with the address carol@example.org is not connected with Work Login: sign in as before';
/** Users with the address of a person, by the statements that make their ways to sign in. */
const MET: readonly [says: string, fields: JsonObject, statements: readonly string[], text: string][] = [
  ['a password', { password: PASSWORD }, [], ONCE],
  ['a password and a link to another issuer', { password: PASSWORD }, [OTHER_LINK], ONCE],
  ['a passkey and a link to another issuer', {}, [OTHER_LINK, PASSKEY], ONCE],
  ['a link to another issuer alone', {}, [OTHER_LINK], AS_BEFORE],
  ['a password, disabled', { password: PASSWORD }, [DISABLED], AS_BEFORE],
];
t.test('a person meets a user with the same address', async (t) => {
  for (const [says, fields, statements, text] of MET) {
    const world = await startWorld(t, upstream);
    const { db } = world.server.service;
    const { id } = await makeUser(world.server.service, 'carol@example.org', fields);
    for (const each of statements) await db.run(each, [id]);
    const page = await world.signIn(CAROL);
    t.equal(page.status, text === ONCE ? 200 : 403, says);
    t.match(page.text, text, says);
    t.equal(page.visitor.cookie('plinth_link') !== undefined, text === ONCE, says);
    await db.run('delete from plinth_users where id = $1', [id]);
  }
});

t.test('a person meets a user with another value that must be unique', async (t) => {
  const badge = { type: 'string', 'x-unique': true };
  const folder = declare(t, { 'users.json': { properties: { badge } } });
  const env = { COLLECTIONS: folder, DATABASE_URL: UNDECLARED, USER_CLAIMS: '{"badge": "badge"}' };
  const world = await startWorld(t, upstream, env);
  await makeUser(world.server.service, 'dora@example.org', { badge: '7' });
  const { status, text } = await world.signIn({ ...CAROL, badge: '7' });
  t.equal(status, 403);
  t.match(text, 'An account with a value that must be unique is not connected with Work Login');
});

/** Values of Sec-Fetch-Site, and whether a link of such a site begins a sign-in. */
const SITES: readonly [site: string | undefined, begins: boolean][] = [
  [undefined, true],
  ['none', true],
  ['same-origin', true],
  ['same-site', false],
  ['cross-site', false],
];
t.test('a link of another site leads to the page with the button, and begins nothing', async (t) => {
  const world = await startWorld(t, upstream);
  for (const [site, begins] of SITES)
    for (const from of [(await world.open()).page.url, '/account', '/account?return=/']) {
      const { visitor, page } = await world.open();
      const path = from.includes('/interaction/') ? page.url : from;
      const href = hrefIn(await visitor.open(path));
      const shown = await visitor.open(href, site === undefined ? {} : { 'sec-fetch-site': site });
      t.equal(shown.url.startsWith(upstream.url), begins, `${site} ${from}`);
      t.equal(visitor.cookie('plinth_upstream') !== undefined, begins);
      if (!begins) t.match(shown, { status: 200, text: AGAIN });
    }
});

t.test('USERS_FROM_ISSUER=known links a user without a way to sign in', async (t) => {
  const world = await startWorld(t, upstream, { USERS_FROM_ISSUER: 'known' });
  await makeUser(world.server.service, 'carol@example.org', {});
  t.match((await world.signIn(CAROL)).url, BACK);
  t.same(await linksOf(world), ['auth0|carol carol@example.org']);
});

t.test('a disabled user does not sign in, by no way', async (t) => {
  const world = await startWorld(t, upstream);
  await world.signIn(CAROL);
  const { db } = world.server.service;
  await db.run(`insert into plinth_disabled_users (user_id) select user_id from plinth_user_links`, []);
  const refused = await world.signIn(CAROL);
  t.equal(refused.status, 403);
  t.match(refused.text, 'This account cannot sign in.');
});

const TOKENS = { access_token: 'a', token_type: 'bearer' };
const INVALID: readonly [says: string, status: number, change: Change, claims?: object][] = [
  ['another nonce', 503, {}, { nonce: 'other' }],
  ['another audience', 503, {}, { aud: 'other' }],
  ['another issuer', 503, {}, { iss: 'http://127.0.0.1:1' }],
  ['an ID token that has expired', 503, {}, { exp: 1_700_000_000 }],
  ['the signature of another key', 503, { key: otherKey }],
  ['no ID token', 503, { token: () => TOKENS }],
  ['an ID token that is none', 503, { token: () => ({ ...TOKENS, id_token: 'x.y.z' }) }],
  ['a response of two megabytes', 503, { token: () => ({ filler: 'x'.repeat(2_000_000) }) }],
  ['a code that was used', 503, { status: 400, token: () => ({ error: 'invalid_grant' }) }],
  ['a wrong secret', 503, { status: 401, token: () => ({ error: 'invalid_client' }) }],
  ['an error of the issuer', 503, { status: 500, token: () => ({}) }],
  ['the parameter iss of another issuer', 503, { returned: { iss: 'http://127.0.0.1:1' } }],
  ['an error in the address', 503, { returned: { error: 'server_error' } }],
  ['a person who cancels', 403, { returned: { error: 'access_denied' } }],
  ['another state', 400, { returned: { state: 'other' } }],
];
for (const [says, status, change, claims] of INVALID)
  t.test(`${says}: the sign-in page again, with the reason`, async (t) => {
    const world = await startWorld(t, upstream);
    const page = await world.signIn({ ...CAROL, ...claims }, change);
    t.equal(page.status, status);
    t.match(page.text, /role="alert">[^<]+</);
    t.match(page.text, AGAIN);
    t.same(await linksOf(world), []);
    const again = await world.signIn(CAROL, { visitor: page.visitor });
    t.match(again.url, BACK, 'another attempt in this browser');
  });

t.test('a response that another browser has begun leads nowhere', async (t) => {
  const world = await startWorld(t, upstream);
  const { visitor, page } = await world.open();
  const { searchParams } = new URL((await visitor.open(hrefIn(page))).url);
  const callback = `/sign-in/work-login?code=code&state=${searchParams.get('state')}`;
  for (const stranger of [new Visitor(world.server.issuer), (await world.open()).visitor]) {
    const refused = await stranger.open(callback);
    t.equal(refused.status, 400);
    t.match(refused.text, 'Start again from the application');
  }
  const { visitor: other, page: begun } = await world.open();
  await other.open(hrefIn(begun));
  t.equal((await other.open(callback)).status, 400, 'one that has begun a sign-in of its own');
  t.equal((await visitor.open('/sign-in/unknown?code=code')).status, 400);
  t.equal((await visitor.open(callback.replace('work-login', 'other'))).status, 400);
  t.same(await linksOf(world), []);
});

t.test('an issuer that is away: the page says so, and another attempt succeeds', async (t) => {
  const away = await upstreamIssuer(t);
  const world = await startWorld(t, away);
  const { visitor, page } = await world.open();
  await away.leave();
  const refused = await visitor.open(hrefIn(page));
  t.equal(refused.status, 503);
  t.match(refused.text, 'Work Login does not sign you in now. Try again.');
  t.match(world.server.service.logged.join('\n'), 'a sign-in at another issuer fails');
  const { visitor: other, page: own } = await world.open();
  t.match((await other.enter(own, ANN)).url, BACK, 'people with a password sign in meanwhile');
  await away.comeBack();
  t.match((await world.signIn(CAROL, { visitor })).url, BACK);
});

t.test('an issuer that is silent, or has an unknown authority', { skip: withoutOpenssl }, async (t) => {
  const slow = await upstreamIssuer(t);
  slow.paths.set('/.well-known/openid-configuration', () => undefined);
  const port = await claimPort(t);
  const { cert, key } = authority(t).sign('issuer');
  const encrypted = createServer({ cert, key }).listen(port, '127.0.0.1');
  t.teardown(() => encrypted.close());
  for (const url of [slow.url, `https://127.0.0.1:${port}`]) {
    const world = await startWorld(t, { ...upstream, url }, {}, undefined, { upstreamTimeoutMs: 500 });
    const { visitor, page } = await world.open();
    const refused = await visitor.open(hrefIn(page));
    t.equal(refused.status, 503);
    t.match(refused.text, 'does not sign you in now');
    t.match(refused.text, AGAIN);
  }
});

t.test('a subject of one issuer is another person at another issuer', async (t) => {
  const other = await upstreamIssuer(t);
  const env = settingsFor(other.url, 'ZOO');
  const world = await startWorld(t, upstream, env);
  await world.signIn(CAROL);
  const { visitor, page } = await world.open();
  const begun = new URL((await visitor.open(hrefIn(page).replace('work-login', 'zoo'))).url);
  t.equal(begun.origin, other.url);
  const token = await other.idToken(begun.searchParams.get('nonce')!, { ...CAROL, email: 'c@example.org' });
  other.paths.set('/token', json({ ...TOKENS, id_token: token }));
  const state = begun.searchParams.get('state');
  const returned = (iss: string) =>
    visitor.open(`/sign-in/zoo?code=c&state=${state}&iss=${encodeURIComponent(iss)}`);
  t.equal((await returned(upstream.url)).status, 503, 'a response with the iss of another issuer');
  t.match((await returned(other.url)).url, BACK);
  t.same(await linksOf(world), ['auth0|carol c@example.org', 'auth0|carol carol@example.org']);
});

t.test('too many steps are 429', async (t) => {
  const env = { USERS_FROM_ISSUER: 'create' };
  const world = await startWorld(t, upstream, env, undefined, { upstreamPerAddress: 60 });
  const { visitor, page } = await world.open();
  let last = 0;
  for (let step = 0; step < 61; step++) last = (await visitor.open(`${page.url}?upstream=work-login`)).status;
  t.equal(last, 429);
});

t.test('at the account page, without an application', async (t) => {
  const world = await startWorld(t, upstream);
  const { issuer, service } = world.server;
  const visitor = new Visitor(issuer);
  const page = await visitor.open('/account?return=/items%3Fsort%3Dname');
  const away = new URL((await visitor.open(hrefIn(page))).url);
  const idToken = await upstream.idToken(away.searchParams.get('nonce')!, CAROL);
  upstream.paths.set('/token', json({ ...TOKENS, id_token: idToken }));
  const query = `code=c&state=${away.searchParams.get('state')}&iss=${encodeURIComponent(upstream.url)}`;
  const entered = await visitor.open(`/sign-in/work-login?${query}`);
  t.equal(entered.status, 200);
  t.match(entered.text, 'You are signed in.');
  t.equal(entered.headers.get('refresh'), '0; url=/account?return=%2Fitems%3Fsort%3Dname');
  t.ok(visitor.cookie('plinth_browser'), 'the pages of the service know the user');
  const own = await visitor.open('/account');
  t.match(own.text, 'carol@example.org');
  t.notMatch(own.text, 'Current password', 'a user without a password has none to change');
  const sessions = "select from issuer_records where model = 'Session' and user_id is not null";
  t.equal((await service.db.run(sessions, [])).length, 1);
});

const DORA = { email: 'dora@example.org', email_verified: true, name: 'Dora' };
const BY_FORM = ['client_secret_post'] as const;
const OTHERS: readonly [says: string, settings: Configuration][] = [
  ['claims in the ID token', { conformIdTokenClaims: false }],
  [
    'claims at userinfo, credentials in the form',
    { clientAuthMethods: [...BY_FORM], clientDefaults: { token_endpoint_auth_method: BY_FORM[0] } },
  ],
];
for (const [says, settings] of OTHERS)
  t.test(`oidc-provider with ${says}`, async (t) => {
    const port = await claimPort(t);
    const issuer = `http://127.0.0.1:${port}`;
    const person = { sub: 'auth0|507f1f77', claims: DORA };
    const other = await otherProvider(t, `${issuer}/sign-in/login`, person, settings);
    const world = await startWorld(t, { ...upstream, url: other }, { PORT: String(port) }, 'LOGIN');
    for (const _ of [1, 2]) {
      const { visitor, page } = await world.open();
      const elsewhere = new Visitor(other);
      const returned = await elsewhere.open((await visitor.open(hrefIn(page))).url);
      t.match(returned.url, `${issuer}/sign-in/login?code=`);
      t.match((await visitor.open(returned.url)).url, BACK);
    }
    t.same(await linksOf(world), ['auth0|507f1f77 dora@example.org']);
  });

t.test('another instance of the service', async (t) => {
  const [first, second] = [await claimPort(t), await claimPort(t)];
  const [here, there] = [`http://127.0.0.1:${first}`, `http://127.0.0.1:${second}`];
  const other = await authorizationServer(t, { PORT: String(second) });
  const redirect = `${here}/sign-in/login`;
  const fields = { ...CLIENT, type: 'confidential' as const, redirect_uris: [redirect] };
  const { item, secret } = await createClient(other.service.db, fields);
  const dora = await other.addUser('dora@example.org', 'Dora');
  const own = { UPSTREAM_LOGIN_CLIENT_ID: item.id, UPSTREAM_LOGIN_CLIENT_SECRET: secret! };
  const env = { PORT: String(first), USER_CLAIMS: '{"email": "email"}', ...own };
  const world = await startWorld(t, { ...upstream, url: there }, env, 'LOGIN');
  const { visitor, page } = await world.open();
  const away = await visitor.open(hrefIn(page));
  const returned = await consent({ visitor: new Visitor(there), url: new URL(away.url) }, dora);
  t.match((await visitor.open(returned.url)).url, BACK);
  t.same(await linksOf(world), [`${dora.id} dora@example.org`]);
  const [row] = await world.server.service.db.run('select issuer from plinth_user_links', []);
  t.equal(row!.issuer, there);
});

for (const width of [1280, 390])
  t.test(`a person signs in by a browser of ${width} px without script`, { skip: noBrowser }, async (t) => {
    const port = await claimPort(t);
    const issuer = `http://127.0.0.1:${port}`;
    const person = { sub: 'auth0|ann', claims: { email: 'ann@example.org', email_verified: true } };
    const other = await otherProvider(t, `${issuer}/sign-in/login`, person);
    const world = await startWorld(t, { ...upstream, url: other }, { PORT: String(port) }, 'LOGIN');
    const page = await openPage(t, issuer, { width, javaScriptEnabled: false, alsoRequests: [other] });
    const reach = async () => {
      await page.goto('/account?return=/');
      await page.getByRole('link', { name: 'Sign in with Login' }).focus();
      await page.keyboard.press('Enter');
    };
    await reach();
    await page.getByText('There is an account with the address ann@example.org').waitFor();
    const { width: widest } = (await page.locator('body').boundingBox())!;
    t.ok(widest <= width);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${issuer}/`);
    t.same(await linksOf(world), ['auth0|ann ann@example.org']);
    await page.context().clearCookies({ name: /plinth/ });
    await reach();
    await page.waitForURL(`${issuer}/`);
    t.match(await page.textContent('body'), 'Ann', 'the page knows the person');
  });

t.test('settings', async (t) => {
  const off = { AUTH_SERVER: 'off', ISSUER: upstream.url, AUDIENCE: 'a' };
  for (const [env, fault] of [
    [{ UPSTREAM_X_ISSUER: upstream.url }, /UPSTREAM_X needs its three settings/],
    [{ UPSTREAM_WORK_LOGIN_ISSUER: 'http://login.example.org' }, /_ISSUER must be an https URL/],
    [off, /needs AUTH_SERVER=on/],
  ] as const)
    await t.rejects(startWorld(t, upstream, env), { message: fault });
});
