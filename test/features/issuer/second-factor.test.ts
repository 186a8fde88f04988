import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { noBrowser, openPage } from '../../support/chromium.js';
import { plinth } from '../../support/command.js';
import { byPassword, PASSWORD } from '../../support/credentials.js';
import { checkCopy } from '../../support/page-checks.js';
import { mockLimits } from '../../support/pause.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import { Authenticator, optionsOf, secretIn, submitPasskey, totpOf } from './authenticator.js';
import {
  authorizationServer,
  begin,
  connectDevice,
  DEVICE,
  postForm,
  secondProcess,
  serverWithMail,
  signIn,
  type User,
} from './authorization-server.js';

const SETTINGS = {
  host: 'localhost',
  AUTH: 'bearer, basic, api-key',
  INSECURE: 'basic',
  BASIC_SCOPES: 'self,admin',
  REQUIRE_SECOND_FACTOR: 'admin',
  AUTH_FAILURES: '0',
};
const server = await authorizationServer(t, SETTINGS);
const { db } = server.service;
const { config } = await server.register({ scopes: ['self', 'admin'] });

/** As if no code had been used. */
const forgetUse = ({ id }: User) =>
  db.run('update plinth_totp set last_step = 0 where user_id = $1::uuid returning 1', [id]);

/** Sets up an authenticator app. */
async function enrol(user: User, on = server) {
  const { visitor, page } = await on.enter(user);
  const offer = await visitor.submit(page, { action: 'begin-totp' });
  const secret = secretIn(offer);
  const done = await visitor.submit(offer, { action: 'confirm-totp', code: totpOf(secret) });
  const codes = [...done.text.matchAll(/<code>([0-9a-f-]{35})<\/code>/g)].map(([, code]) => code!);
  return { visitor, secret, codes };
}

async function withApp(email: string, scopes: readonly string[] = []) {
  const user = await server.addUser(email);
  await setUserScopes(db, user.id, scopes);
  const app = await enrol(user);
  await forgetUse(user);
  return { user, ...app };
}

t.test('a user sets up an authenticator app: the secret and recovery codes are shown once', async (t) => {
  const user = await server.addUser('enrols@example.org');
  const { visitor, page } = await server.enter(user);
  t.match(page.text, /There is no authenticator app/);
  const offer = await visitor.submit(page, { action: 'begin-totp' });
  const secret = secretIn(offer);
  t.match(offer.text, secret.match(/.{4}/g)!.join(' '));
  const [, link = ''] = /href="(otpauth:[^"]*)"/.exec(offer.text) ?? [];
  const uri = link.replaceAll('&#38;', '&').replaceAll('&amp;', '&');
  t.match(uri, `otpauth://totp/localhost:enrols%40example.org?issuer=localhost&secret=${secret}`);
  t.match(offer.text, /<svg [^>]*aria-label="QR code/);
  t.match(offer.headers.get('cache-control'), 'no-store');
  const wrong = await visitor.submit(offer, { action: 'confirm-totp', code: totpOf(secret, 5) });
  t.match(wrong, { status: 422, text: /The code is not valid/ });
  t.equal(secretIn(wrong), secret, 'the secret that the app has already');
  const wrongCode = { action: 'confirm-totp', code: '000000' };
  for (const code of ['１２３４５６', 'éééééé', '12345', ''])
    t.match(await visitor.submit(wrong, { action: 'confirm-totp', code }), { status: 422 }, code);
  for (const other of ['', 'A', `${secret.slice(1)}1`, secret.toLowerCase()])
    t.match(await visitor.submit(offer, { ...wrongCode, secret: other }), { status: 422 });
  const done = await visitor.submit(wrong, { action: 'confirm-totp', code: totpOf(secret) });
  t.equal(done.status, 200);
  t.equal(done.text.match(/<code>[0-9a-f]{5}(-[0-9a-f]{5}){5}<\/code>/g)?.length, 10);
  const again = await visitor.submit(wrong, { action: 'confirm-totp', code: totpOf(secret, 1) });
  t.match(again, { status: 422, text: /The code is not valid/ }, 'one app');
  const account = await visitor.open('/account');
  t.match(account.text, /with 10 recovery codes/);
  t.notMatch(account.text, secret);
  const [row] = await db.run(
    `select secret, (select string_agg(encode(hash, 'hex'), ' ') from plinth_recovery_codes) as hashes
    from plinth_totp where user_id = $1::uuid`,
    [user.id],
  );
  t.notMatch(String(row!.secret), secret, 'encrypted');
  t.notMatch(String(row!.hashes), /[0-9a-f]{5}-/);
});

t.test('an application of the operator is listed once all steps of the sign-in are done', async (t) => {
  const redirect_uri = 'https://app.example.org/callback';
  const { config: own } = await server.register({ redirect_uris: [redirect_uri], first_party: true });
  const { user, secret } = await withApp('listed@example.org');
  const listed = async () =>
    (await db.run('select from issuer_consents where user_id = $1::uuid', [user.id])).length;
  const parameters = { scope: 'openid self', redirect_uri, prompt: '' };
  const { visitor, enter } = await begin(server, own, parameters);
  const half = await enter(user);
  t.match(half.text, /<h1>Second step<\/h1>/);
  t.equal(await listed(), 0, 'before the second step');
  t.match(
    (await visitor.submit(half, { action: 'code', code: totpOf(secret) })).url,
    `${redirect_uri}?code=`,
  );
  t.equal(await listed(), 1);
  t.match((await visitor.open('/account')).text, 'Reader: openid self');
  for (const [prompt, text] of [
    ['login', /name="password"/],
    ['consent', /value="allow"/],
  ] as const) {
    await db.run('delete from issuer_consents where user_id = $1::uuid', [user.id]);
    const flow = await begin(server, own, { ...parameters, prompt }, visitor);
    t.match((await flow.open()).text, text);
    t.equal(await listed(), 0, `a page of prompt=${prompt}`);
  }
});

t.test('a second step takes each code and each recovery code once', async (t) => {
  const { user, secret, codes } = await withApp('steps@example.org');
  const rows: readonly [name: string, code: () => string, status: number][] = [
    ['no code', () => '', 422],
    ['a code of three steps later', () => totpOf(secret, 3), 422],
    ['a code of three steps ago', () => totpOf(secret, -3), 422],
    ['the code of the next step', () => totpOf(secret, 1), 200],
    ['the code of this step after the next one', () => totpOf(secret), 422],
    ['a recovery code', () => codes[0]!, 200],
    ['the recovery code again', () => codes[0]!, 422],
    ['a recovery code as people type it', () => ` ${codes[1]!.toUpperCase().replaceAll('-', ' ')}`, 200],
    ['no recovery code', () => '00000-00000-00000-00000', 422],
  ];
  for (const [name, code, status] of rows) {
    const { visitor, page } = await server.enter(user);
    t.match(page.text, /<h1>Second step<\/h1>/, name);
    const next = await visitor.submit(page, { action: 'code', code: code() });
    t.equal(next.status, status, name);
    t.equal(/Signed in as/.test(next.text), status === 200, name);
  }
  await forgetUse(user);
  const halves = await Promise.all([server.enter(user), server.enter(user)]);
  const same = totpOf(secret);
  const used = halves.map(({ visitor, page }) => visitor.submit(page, { action: 'code', code: same }));
  const both = await Promise.all(used);
  t.same(both.map(({ status }) => status).sort(), [200, 422], 'one code in two browsers');
  t.match((await server.enter(user)).page.text, /<h1>Second step/);
});

t.test('a password alone opens neither the account nor a page, and ends by signing out', async (t) => {
  const { user } = await withApp('half@example.org', ['admin']);
  const { visitor, page } = await server.enter(user, '/account?return=/keys');
  t.match(page.text, /Second step/);
  t.match((await visitor.submit(page, { action: 'remove-totp' })).text, /Second step/);
  const changed = { current: PASSWORD, password: 'another passphrase of mine' };
  t.match((await visitor.submit(page, { action: 'change-password', ...changed })).status, 422);
  for (const path of ['/account', '/account?return=/keys'])
    t.match((await visitor.open(path)).text, /Second step/, path);
  t.equal((await visitor.open('/keys')).status, 401);
  t.match((await visitor.submit(page, { action: 'sign-out' })).text, /to your account/);
});

t.test('REQUIRE_SECOND_FACTOR=admin: tokens, the pages and Basic', async (t) => {
  const plain = await server.addUser('plain@example.org');
  await setUserScopes(db, plain.id, ['admin', 'items:read']);
  const basic = byPassword(plain.email);
  const error = { code: 'SECOND_FACTOR_REQUIRED', details: { scope: 'admin' } };
  const refused = { status: 403, json: { error } };
  t.match(await server.service.send('GET', '/keys', { headers: basic }), refused);
  t.match((await server.service.send('GET', '/whoami', { headers: basic })).json.scopes, ['self']);
  t.equal((await server.service.send('GET', `/users/${plain.id}`, { headers: basic })).status, 200);

  const { visitor, page } = await server.enter(plain, '/account?return=/keys');
  t.match(page.text, /Set up a second factor to use what you may do by admin/, 'instead of the page');
  const keys = await visitor.open('/keys');
  t.match(keys, { status: 403, text: /SECOND_FACTOR_REQUIRED/ });
  t.match(keys.text, /href="\/account\?return=[^"]*">Confirm with your second factor/);

  t.match(await claimsOf(plain, 'openid self', []), { amr: ['pwd'], acr: '1', scope: 'openid self' });
  const stepUp = await stepOf(plain, 'openid admin');
  t.match(stepUp.page.text, /This needs a second factor. Set one up on <a href="\/account">/);
  t.match((await stepUp.visitor.submit(stepUp.page, { action: 'allow' })).status, 422);
  t.match((await stepUp.visitor.submit(stepUp.page, { action: 'cancel' })).url, /error=access_denied/);

  const { secret } = await enrol(plain);
  const both = await server.service.send('GET', '/whoami', { headers: basic });
  t.match(both, { status: 401, text: /authenticator app/ }, 'Basic of a user with an app');
  await forgetUse(plain);
  const claims = await claimsOf(plain, 'openid admin', [{ action: 'code', code: totpOf(secret) }]);
  t.match(claims, { amr: ['pwd', 'otp', 'mfa'], acr: '2', scope: 'openid admin' });
  await forgetUse(plain);
  const admin = await server.enter(plain, '/account?return=/keys');
  const shown = await admin.visitor.submit(admin.page, { action: 'code', code: totpOf(secret) });
  t.match(shown, { status: 200, url: `${server.issuer}/keys` });
});

t.test('a session without a second factor steps up for a scope, and no prompt fails', async (t) => {
  const user = await server.addUser('up@example.org');
  await setUserScopes(db, user.id, ['admin']);
  const authenticator = await addPasskey(user);
  const { visitor, page } = await stepOf(user, 'openid self');
  t.match(page.text, /value="allow"/, 'a user with a passkey signs in by password');
  await visitor.submit(page, { action: 'allow' });
  const silent = await begin(server, config, { scope: 'openid admin', prompt: 'none' }, visitor);
  t.match((await silent.open()).url, /error=interaction_required/);
  const flow = await begin(server, config, { scope: 'openid self admin' }, visitor);
  const form = await flow.open();
  t.match(form.text, /Use your passkey/);
  const strange = new Authenticator(server.issuer).get(optionsOf(form), 1, user.id);
  const wrong = await submitPasskey(visitor, form, strange);
  t.equal(wrong.status, 422);
  const consent = await authenticator.signIn(visitor, wrong, 1, user.id);
  t.match(consent.text, /administer this service/);
  const { url } = await visitor.submit(consent, { action: 'allow' });
  const tokens = await flow.redeem(url);
  const expected = { amr: ['pwd', 'hwk', 'user', 'mfa'], acr: '2' };
  t.match(decodeJwt(tokens.access_token), { ...expected, scope: 'openid self admin' });
  t.match(decodeJwt(tokens.id_token!), expected);
});

t.test('a passkey alone is two factors', async (t) => {
  const user = await server.addUser('alone@example.org');
  await setUserScopes(db, user.id, ['admin']);
  const authenticator = await addPasskey(user);
  const flow = await begin(server, config, { scope: 'openid admin' });
  const form = await flow.open();
  const consent = await authenticator.signIn(flow.visitor, form, 1, user.id);
  t.match(consent.text, /value="allow"/);
});

t.test('no refresh has the scope that a later setting requires', async (t) => {
  const before = await authorizationServer(t, { ...SETTINGS, REQUIRE_SECOND_FACTOR: '', AUTH: 'bearer' });
  await setUserScopes(before.service.db, before.user.id, ['admin']);
  const { config, id } = await before.register({ scopes: ['self', 'admin'] });
  const first = await signIn(before, config, { scope: 'openid self admin offline_access' });
  t.match(decodeJwt(first.access_token), { amr: ['pwd'], acr: '1', scope: /admin/ });
  const after = await secondProcess(t, before, { REQUIRE_SECOND_FACTOR: 'admin' });
  const refresh = { grant_type: 'refresh_token', client_id: id, refresh_token: first.refresh_token! };
  const token = (await postForm(`${after.url}/token`, refresh)).json.access_token!;
  t.notMatch(decodeJwt(token).scope, /admin/);
  t.match(decodeJwt(token).scope, /self/);
});

t.test('a device has the scope after the second step in the browser', async (t) => {
  const { user, secret } = await withApp('device@example.org', ['admin']);
  const { config } = await server.register({ ...DEVICE, scopes: ['admin'] });
  const { tokens } = await connectDevice({ ...server, user }, config, 'openid admin', ({ text }) => {
    t.match(text, /<h1>Second step/);
    return [{ action: 'code', code: totpOf(secret) }];
  });
  t.match(decodeJwt(tokens.access_token), { amr: ['pwd', 'otp', 'mfa'], acr: '2', scope: 'openid admin' });
});

t.test('the passkey of another user is no second factor', async (t) => {
  const { user, secret } = await withApp('mine@example.org');
  const other = await server.addUser('other@example.org');
  const theirs = await addPasskey(other);
  const mine = new Authenticator(server.issuer);
  const app = await server.enter(user);
  const account = await app.visitor.submit(app.page, { action: 'code', code: totpOf(secret) });
  t.match((await mine.add(app.visitor, account)).text, /Added \d{4}/);
  for (const [authenticator, owner, status] of [
    [theirs, other, 422],
    [theirs, user, 422],
    [mine, user, 200],
  ] as const) {
    const { visitor, page } = await server.enter(user);
    t.equal((await authenticator.signIn(visitor, page, 9, owner.id)).status, status);
  }
});

t.test('a reset of the password removes no second factor', async (t) => {
  const user = await server.addUser('resets@example.org');
  const authenticator = await addPasskey(user);
  const { secret } = await enrol(user);
  await forgetUse(user);
  const env = { DATABASE_URL: server.service.databaseUrl };
  const set = await plinth(t, ['users', 'set-password', user.email], env, { input: `${PASSWORD}\n` });
  t.equal(set.code, 0);
  const byCode = await server.enter(user);
  const passed = await byCode.visitor.submit(byCode.page, { action: 'code', code: totpOf(secret) });
  t.match(passed.text, /Signed in as/);
  const { visitor, page } = await server.enter(user);
  const done = await authenticator.signIn(visitor, page, 1, user.id);
  t.match(done.text, /Added [^<]*, valid only after the password/);
  const alone = await begin(server, config);
  t.equal((await authenticator.signIn(alone.visitor, await alone.open(), 2, user.id)).status, 422);
  const removed = await visitor.submit(done, { action: 'remove-passkey', id: authenticator.id });
  t.match(removed.text, /There are no passkeys/);
});

t.test('a factor is removed after a recent sign-in, or by an operator', async (t) => {
  const { user, visitor } = await withApp('removes@example.org');
  const account = await visitor.open('/account');
  const old = `update issuer_records set payload = jsonb_set(payload::jsonb, '{loginTs}', '1000')
    where user_id = $1::uuid returning 1`;
  await db.run(old, [user.id]);
  for (const action of ['remove-totp', 'begin-totp', 'remove-passkey']) {
    const stale = await visitor.submit(account, { action });
    t.match(stale, { status: 422, text: /Sign out and sign in again/ }, action);
  }
  const env = { DATABASE_URL: server.service.databaseUrl };
  const shown = async () =>
    JSON.parse((await plinth(t, ['users', 'show', user.email], env)).out).second_factor;
  t.equal(await shown(), true);
  t.equal((await plinth(t, ['users', 'remove-second-factor', user.email], env)).code, 0);
  t.equal(await shown(), false);
  t.match((await server.enter(user)).page.text, /There is no authenticator app/);
  const next = await enrol(user);
  const gone = await next.visitor.submit(await next.visitor.open('/account'), { action: 'remove-totp' });
  t.match(gone.text, /There is no authenticator app/);
  t.same(await db.run('select from plinth_recovery_codes where user_id = $1::uuid', [user.id]), []);
});

t.test('the end of the only factor ends the access that it gave', async (t) => {
  const { user, secret } = await withApp('ends@example.org', ['admin']);
  const flow = await begin(server, config, { scope: 'openid admin offline_access' });
  const step = await flow.visitor.submit(await flow.enter(user), { action: 'code', code: totpOf(secret) });
  const tokens = await flow.redeem((await flow.visitor.submit(step, { action: 'allow' })).url);
  t.match(decodeJwt(tokens.access_token).scope, /admin/);
  await flow.visitor.submit(await flow.visitor.open('/account'), { action: 'remove-totp' });
  await t.rejects(client.refreshTokenGrant(config, tokens.refresh_token!), 'no refresh');
  await server.ends(tokens.access_token);
  const proofs = `select payload::json ->> 'amr' as amr from issuer_records
    where user_id = $1::uuid and model = 'Session'`;
  const sessions = await db.run(proofs, [user.id]);
  t.ok(sessions.length > 0);
  for (const { amr } of sessions) t.same(JSON.parse(String(amr)), ['pwd']);
});

t.test('guesses of codes are limited by user and address, with Retry-After', async (t) => {
  mockLimits(t);
  const limited = await authorizationServer(t, { AUTH_FAILURES: '3' });
  const { secret } = await enrol(limited.user, limited);
  const { visitor, page } = await limited.enter();
  for (const code of ['000000', '', '00000-00000-00000-00000'])
    t.equal((await visitor.submit(page, { action: 'code', code })).status, 422, code);
  const refused = await visitor.submit(page, { action: 'code', code: totpOf(secret, 1) });
  t.equal(refused.status, 429);
  t.ok(Number(refused.headers.get('retry-after')) >= 1);
});

t.test('a user is notified by mail of changes and of a recovery code that was used', async (t) => {
  const { mail, server: on } = await serverWithMail(t);
  const { codes } = await enrol(on.user, on);
  await until('the first message', () => mail.received.length, 1);
  t.match(mail.received[0], { to: on.user.email, text: /authenticator app/ });
  const { visitor, page } = await on.enter();
  const account = await visitor.submit(page, { action: 'code', code: codes[0]! });
  await until('the second message', () => mail.received.length, 2);
  await visitor.submit(account, { action: 'remove-totp' });
  await until('the third message', () => mail.received.length, 3);
  t.match(mail.received[2]!.text, `${on.issuer}/account`);
});

t.test('settings with unknown scopes are refused', async (t) => {
  const env = { REQUIRE_SECOND_FACTOR: 'root', AUTH: 'basic', INSECURE: 'basic' };
  await t.rejects(testService(t, env), /REQUIRE_SECOND_FACTOR: `root` is not a scope/);
});

t.test('without script, at two widths, by keyboard', { skip: noBrowser }, async (t) => {
  const user = await server.addUser('browser@example.org');
  const views = [{ width: 1280 }, { width: 390 }];
  const page = await openPage(t, server.issuer, { width: 390, javaScriptEnabled: false });
  const check = (name: string) => checkCopy(t, server.issuer, page, name, views);
  const signIn = async () => {
    await page.goto('/account');
    await page.getByLabel('Email').fill(user.email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
  };
  await signIn();
  await page.getByRole('button', { name: 'Set up an authenticator app' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Authenticator app' }).waitFor();
  await check('enrolment');
  const secret = (await page.locator('input[name=secret]').getAttribute('value'))!;
  await page.getByLabel('Code that the app shows').fill(totpOf(secret));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor();
  await check('recovery codes');
  await page.getByRole('link', { name: 'To your account' }).click();
  await page.getByText('with 10 recovery codes').waitFor();
  await check('account');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn();
  await page.getByLabel('Code from your authenticator app').fill('000000');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  await check('second step');
  await forgetUse(user);
  await page.getByLabel('Code from your authenticator app').fill(totpOf(secret));
  await page.keyboard.press('Enter');
  await page.getByText('Signed in as').waitFor();
});

/** The browser of a user who has entered the password for the client, and the page that it sees. */
async function stepOf(user: User, scope: string) {
  const flow = await begin(server, config, { scope });
  return { ...flow, page: await flow.enter(user) };
}

/** The claims of an access token for a client, after these steps. */
async function claimsOf(user: User, scope: string, steps: readonly Record<string, string>[]) {
  const flow = await stepOf(user, scope);
  let { page } = flow;
  for (const step of [...steps, { action: 'allow' }]) page = await flow.visitor.submit(page, step);
  return decodeJwt((await flow.redeem(page.url)).access_token);
}

async function addPasskey(user: User): Promise<Authenticator> {
  const { visitor, page } = await server.enter(user);
  const authenticator = new Authenticator(server.issuer);
  await authenticator.add(visitor, page);
  return authenticator;
}
