import { noBrowser, openPage } from '../../support/chromium.js';
import { plinth } from '../../support/command.js';
import { PASSWORD } from '../../support/credentials.js';
import { checkForm } from '../../support/page-checks.js';
import { mockLimits } from '../../support/pause.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { Authenticator, optionsOf, tokenOf } from './authenticator.js';
import { application, authorizationServer, begin } from './authorization-server.js';
import { Visitor } from './visitor.js';

const server = await authorizationServer(t, { host: 'localhost' });

t.test('a user adds a passkey and signs in with it, in a browser', { skip: noBrowser }, async (t) => {
  const user = await server.addUser('browser@example.org');
  const page = await openPage(t, server.issuer, { width: 320 });
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
  } as const;
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options });

  await page.goto(`${server.issuer}/account`);
  await page.fill('#email', user.email);
  await page.fill('#password', PASSWORD);
  await page.click('button[value="sign-in"]');
  await page.getByText('There are no passkeys.').waitFor();
  await page.click('button[value="passkey"]');
  await page.getByText(/^Added \d{4}/).waitFor();
  await checkForm(t, page, 'a passkey', [{ width: 320 }, { width: 1280 }]);
  await page.click('button[value="sign-out"]');
  await page.getByText('to your account').waitFor();
  await page.click('button[value="passkey"]');
  await page.getByText('Signed in as').waitFor();
  await page.click('button[value="sign-out"]');
  await page.getByText('to your account').waitFor();

  const { config } = await server.register();
  const flow = await begin(server, config);
  await page.goto(String(flow.url));
  t.equal(await page.locator('#password').count(), 1);
  await page.click('button[value="passkey"]');
  await page.locator('button[value="allow"]').waitFor();
  t.match(await page.content(), user.email, 'signed in without a password');

  await page.goto(`${server.issuer}/account`);
  await page.click('button[value="remove-passkey"]');
  await page.getByText('There are no passkeys.').waitFor();
  const rows = await server.service.db.run('select id from passkeys where user_id = $1', [user.id]);
  t.equal(rows.length, 0);
});

t.test('a counter is used once, also by two sign-ins at once', async (t) => {
  const authenticator = new Authenticator(server.issuer);
  const user = await server.addUser('counter@example.org');
  const { visitor, page } = await server.enter(user);
  t.match((await authenticator.add(visitor, page)).text, /Added \d{4}/);
  const { config } = await server.register();
  const open = async () => {
    const flow = await begin(server, config);
    return { visitor: flow.visitor, form: await flow.open() };
  };
  const use = async (counter: number, handle: string | undefined = user.id) => {
    const { visitor, form } = await open();
    return authenticator.signIn(visitor, form, counter, handle === '' ? undefined : handle);
  };
  t.equal((await use(5, server.user.id)).status, 422, 'the handle of another user');
  t.equal((await use(5, '')).status, 422, 'no handle');
  const [own, other] = [await open(), await open()];
  const elsewhere = authenticator.get(optionsOf(other.form), 5, user.id);
  const moved = { token: tokenOf(other.form), action: 'passkey', response: elsewhere };
  t.equal((await own.visitor.submit(own.form, moved)).status, 422, 'the challenge of another interaction');
  const both = await Promise.all([use(7), use(7)]);
  t.same(both.map(({ status }) => status).sort(), [200, 422]);
  t.equal((await use(6)).status, 422, 'a copy of the authenticator');
  t.match(await use(8), { status: 200, text: /value="allow"/ });
});

t.test('a new password makes passkeys second factors, however it is set', async (t) => {
  const user = await server.addUser('reset@example.org');
  const { email, id } = user;
  const env = { DATABASE_URL: server.service.databaseUrl };
  const admin = await testService(t, env);
  const listed = async () => {
    const rows = await admin.db.run('select id from passkeys where user_id = $1::uuid', [id]);
    return rows.map((row) => row.id);
  };
  let password = PASSWORD;
  const resets: (readonly [string, (next: string) => Promise<unknown>])[] = [
    [
      'users set-password',
      (next) => plinth(t, ['users', 'set-password', email], env, { input: `${next}\n` }),
    ],
    ['PATCH', (next) => admin.send('PATCH', `/users/${id}`, { body: { password: next } })],
    [
      '/account',
      async (next) => {
        const { visitor, page } = await server.enter(user, '/account', password);
        const fields = { current: password, password: next, action: 'change-password' };
        const changed = await visitor.submit(page, fields);
        t.match(changed.text, /Passkeys, other sessions and the access of applications have ended/);
        t.match(changed.text, /Added [^<]*, valid only after the password/);
      },
    ],
  ];
  const { config } = await server.register();
  for (const [name, reset] of resets) {
    const { visitor, page } = await server.enter(user, '/account', password);
    const authenticator = new Authenticator(server.issuer);
    t.match((await authenticator.add(visitor, page)).text, /Added \d{4}/);
    t.same(await listed(), [authenticator.id], name);
    const next = `a new passphrase by ${name}`;
    await reset(next);
    password = next;
    t.same(await listed(), [], name);
    const flow = await begin(server, config);
    const refused = await authenticator.signIn(flow.visitor, await flow.open(), 1, id);
    t.equal(refused.status, 422, name);
  }
});

t.test('a sign-in that was submitted before a reset does not continue after it', async (t) => {
  const env = { DATABASE_URL: server.service.databaseUrl };
  const { config } = await server.register();
  const { email } = await server.addUser('submitted@example.org');
  const fields = { email, password: PASSWORD, action: 'sign-in' };
  const waiting = async () => {
    const { visitor, open } = await begin(server, config);
    return { visitor, resume: await visitor.submitOnly(await open(), fields) };
  };
  const [control, first] = [await waiting(), await waiting()];
  const question = await control.visitor.open(control.resume);
  t.match(question.text, /value="allow"/, 'without a reset');
  // Another user has signed in in this browser before.
  const shared = await signedIn(t, 'other@example.org');
  const { open } = await begin(server, config, { prompt: 'login' }, shared);
  const second = await shared.submitOnly(await open(), fields);
  const input = 'a new passphrase\n';
  t.equal((await plinth(t, ['users', 'set-password', email], env, { input })).code, 0);
  for (const [visitor, resume] of [
    [first.visitor, first.resume],
    [shared, second],
  ] as const) {
    const page = await visitor.open(resume);
    t.equal(page.status, 400);
    t.notMatch(page.text, /value="allow"|logout/);
  }
  t.notMatch((await first.visitor.open('/account')).text, /Signed in as/);
  const late = await control.visitor.submit(question, { action: 'allow' });
  t.notMatch(late.url, /code=/, 'a consent page that was open before');
  const left = `select model from issuer_records join public_collections.users as users on users.id = user_id
    where email = $1`;
  t.same(await server.service.db.run(left, [email]), []);
});

t.test('attestations with certificates are refused, and no address in them is requested', async (t) => {
  const visitor = await signedIn(t, 'formats@example.org');
  const certificate = new Uint8Array(300);
  for (const [format, statement] of [
    ['packed', new Map([['x5c', [certificate]]])],
    ['fido-u2f', new Map([['x5c', [certificate]]])],
    ['android-safetynet', new Map([['response', certificate]])],
    ['tpm', new Map()],
  ] as const) {
    const page = await visitor.open('/account');
    const refused = await new Authenticator(server.issuer).add(visitor, page, format, statement);
    t.match(refused, { status: 422, text: /The passkey was not added/ }, format);
  }
  const added = await new Authenticator(server.issuer).add(visitor, await visitor.open('/account'));
  t.match(added.text, /Added \d{4}/, 'none');
});

for (const [when, seconds] of [
  ['more than ten minutes ago', -601],
  ['in the future, by a clock that was set back', 3600],
] as const)
  t.test(`a passkey is added after a recent sign-in, not after one ${when}`, async (t) => {
    const visitor = await signedIn(t, `shifted-by${seconds}@example.org`);
    const page = await visitor.open('/account');
    const response = new Authenticator(server.issuer).create(optionsOf(page));
    await server.service.db.run(
      `update issuer_records set payload = jsonb_set(payload::jsonb, '{loginTs}',
        to_jsonb(extract(epoch from now())::integer + $1::integer)) where model = 'Session' returning 1`,
      [seconds],
    );
    t.match((await visitor.open('/account')).text, /To add a passkey, sign out and sign in again/);
    const refused = await visitor.submit(page, { token: tokenOf(page), action: 'passkey', response });
    t.match(refused, { status: 422, text: /Sign out and sign in again/ });
  });

t.test('responses that no authenticator made are refused, and counted', async (t) => {
  mockLimits(t);
  const { server, config } = await application(t, {}, { host: 'localhost', AUTH_FAILURES: '3' });
  const { visitor, open } = await begin(server, config);
  let page = await open();
  const [, token = ''] = /name="token" value="([^"]*)"/.exec(page.text) ?? [];
  t.match(token, /^[\w-]+\.[\w-]{43}$/);
  for (const [response, given] of [
    ['{"id":"none"}', token],
    ['not JSON', token],
    ['{}', `${token.slice(0, -1)}x`],
  ] as const) {
    page = await visitor.submit(page, { action: 'passkey', response, token: given });
    t.equal(page.status, 422);
    t.match(page.text, /The passkey is not valid here/);
  }
  t.equal((await visitor.submit(page, { action: 'passkey', response: '{}', token })).status, 429);
});

t.test('at an IP address there are no passkeys', async (t) => {
  const server = await authorizationServer(t);
  t.notMatch((await new Visitor(server.issuer).open('/account')).text, /passkey/);
});

/** The browser of a new user that has signed in. */
async function signedIn(t: Test, email: string): Promise<Visitor> {
  const { visitor, page } = await server.enter(await server.addUser(email));
  t.match(page.text, /Signed in as/);
  return visitor;
}
