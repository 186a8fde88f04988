import { noBrowser, openPage } from '../../support/chromium.js';
import { plinth } from '../../support/command.js';
import { checkForm } from '../../support/page-checks.js';
import { mockLimits } from '../../support/pause.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { Authenticator } from './authenticator.js';
import { authorizationServer, begin, PASSWORD } from './authorization-server.js';
import { optionsOf, tokenOf } from './passkey-form.js';
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
  const visitor = await signedIn(t, 'counter@example.org');
  const page = await visitor.open('/account');
  const added = await visitor.submit(page, {
    ...tokenOf(page),
    action: 'passkey',
    response: authenticator.create(optionsOf(page)),
  });
  t.match(added.text, /Added \d{4}/);

  const { config } = await server.register();
  const [{ id: userId } = {}] = await server.service.db.run(
    'select id::text from public_collections.users where email = $1',
    ['counter@example.org'],
  );
  const open = async () => {
    const flow = await begin(server, config, {}, new Visitor(server.issuer));
    return { visitor: flow.visitor, form: await flow.visitor.open(String(flow.url)) };
  };
  const use = async (counter: number, handle: string | undefined = String(userId)) => {
    const { visitor, form } = await open();
    const response = authenticator.get(optionsOf(form), counter, handle === '' ? undefined : handle);
    return visitor.submit(form, { ...tokenOf(form), action: 'passkey', response });
  };
  t.equal((await use(5, server.user.id)).status, 422, 'the handle of another user');
  t.equal((await use(5, '')).status, 422, 'no handle');
  const [own, other] = [await open(), await open()];
  const elsewhere = authenticator.get(optionsOf(other.form), 5, String(userId));
  const moved = { ...tokenOf(other.form), action: 'passkey', response: elsewhere };
  t.equal((await own.visitor.submit(own.form, moved)).status, 422, 'the challenge of another interaction');
  const both = await Promise.all([use(7), use(7)]);
  t.same(both.map(({ status }) => status).sort(), [200, 422]);
  t.equal((await use(6)).status, 422, 'a copy of the authenticator');
  t.match(await use(8), { status: 200, text: /value="allow"/ });
});

t.test('a new password makes passkeys second factors, however it is set', async (t) => {
  const email = 'reset@example.org';
  const visitor = await signedIn(t, email);
  const env = { DATABASE_URL: server.service.databaseUrl };
  const admin = await testService(t, env);
  const [{ id } = {}] = await admin.db.run('select id::text from public_collections.users where email = $1', [
    email,
  ]);
  const add = async (browser: Visitor) => {
    const page = await browser.open('/account');
    const authenticator = new Authenticator(server.issuer);
    const response = authenticator.create(optionsOf(page));
    const added = await browser.submit(page, { ...tokenOf(page), action: 'passkey', response });
    t.match(added.text, /Added \d{4}/);
    return authenticator;
  };
  const listed = async () => {
    const rows = await admin.db.run('select id from passkeys where user_id = $1::uuid', [String(id)]);
    return rows.map((row) => row.id);
  };
  let password = PASSWORD;
  const again = async () => {
    const browser = new Visitor(server.issuer);
    const form = await browser.open('/account');
    t.match((await browser.submit(form, { email, password, action: 'sign-in' })).text, /Signed in as/);
    return browser;
  };
  const resets: (readonly [string, (next: string) => Promise<unknown>])[] = [
    [
      'users set-password',
      (next) => plinth(t, ['users', 'set-password', email], env, { input: `${next}\n` }),
    ],
    ['PATCH', (next) => admin.send('PATCH', `/users/${id}`, { body: { password: next } })],
    [
      '/account',
      async (next) => {
        const browser = await again();
        const page = await browser.open('/account');
        const changed = await browser.submit(page, {
          current: password,
          password: next,
          action: 'change-password',
        });
        t.match(changed.text, /Passkeys, other sessions and the access of applications have ended/);
        t.match(changed.text, /Added [^<]*, valid only after the password/);
      },
    ],
  ];
  let browser = visitor;
  const { config } = await server.register();
  for (const [name, reset] of resets) {
    const authenticator = await add(browser);
    t.same(await listed(), [authenticator.id], name);
    const next = `a new passphrase by ${name}`;
    await reset(next);
    password = next;
    t.same(await listed(), [], name);
    const flow = await begin(server, config, {}, new Visitor(server.issuer));
    const form = await flow.visitor.open(String(flow.url));
    const response = authenticator.get(optionsOf(form), 1, String(id));
    const refused = await flow.visitor.submit(form, { ...tokenOf(form), action: 'passkey', response });
    t.equal(refused.status, 422, name);
    browser = await again();
  }
});

t.test('a sign-in that was submitted before a reset does not continue after it', async (t) => {
  const env = { DATABASE_URL: server.service.databaseUrl };
  const { config } = await server.register();
  const resets: (readonly [string, (email: string) => Promise<{ code: unknown }>])[] = [
    [
      'set-password',
      (email) => plinth(t, ['users', 'set-password', email], env, { input: 'a new passphrase\n' }),
    ],
  ];
  for (const [name, reset] of resets) {
    const { email } = await server.addUser(`${name}@example.org`);
    const fields = { email, password: PASSWORD, action: 'sign-in' };
    const waiting = async (visitor = new Visitor(server.issuer)) => {
      const { url } = await begin(server, config, {}, visitor);
      const form = await visitor.open(String(url));
      return { visitor, resume: await visitor.submitOnly(form, fields) };
    };
    const [control, first] = [await waiting(), await waiting()];
    const question = await control.visitor.open(control.resume);
    t.match(question.text, /value="allow"/, `${name}: without a reset`);
    // Another user has signed in in this browser before.
    const shared = await signedIn(t, `other-${name}@example.org`);
    const { url } = await begin(server, config, { prompt: 'login' }, shared);
    const second = await shared.submitOnly(await shared.open(String(url)), fields);
    t.equal((await reset(email)).code, 0, name);
    for (const [visitor, resume] of [
      [first.visitor, first.resume],
      [shared, second],
    ] as const) {
      const page = await visitor.open(resume);
      t.equal(page.status, 400, name);
      t.notMatch(page.text, /value="allow"|logout/, name);
    }
    t.notMatch((await first.visitor.open('/account')).text, /Signed in as/, name);
    const late = await control.visitor.submit(question, { action: 'allow' });
    t.notMatch(late.url, /code=/, `${name}: a consent page that was open before`);
    const left = await server.service.db.run(
      `select model from issuer_records join public_collections.users as users on users.id = user_id where email = $1`,
      [email],
    );
    t.same(left, [], name);
  }
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
    const response = new Authenticator(server.issuer).create(optionsOf(page), format, statement);
    const refused = await visitor.submit(page, { ...tokenOf(page), action: 'passkey', response });
    t.match(refused, { status: 422, text: /The passkey was not added/ }, format);
  }
  const page = await visitor.open('/account');
  const response = new Authenticator(server.issuer).create(optionsOf(page));
  const added = await visitor.submit(page, { ...tokenOf(page), action: 'passkey', response });
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
      `update issuer_records
      set payload = jsonb_set(
        payload::jsonb, '{loginTs}', to_jsonb(extract(epoch from now())::integer + $1::integer)
      )
      where model = 'Session' returning 1`,
      [seconds],
    );
    t.match((await visitor.open('/account')).text, /To add a passkey, sign out and sign in again/);
    const refused = await visitor.submit(page, { ...tokenOf(page), action: 'passkey', response });
    t.match(refused, { status: 422, text: /Sign out and sign in again/ });
  });

t.test('responses that no authenticator made are refused, and counted', async (t) => {
  mockLimits(t);
  const server = await authorizationServer(t, { host: 'localhost', AUTH_FAILURES: '3' });
  const { config } = await server.register();
  const flow = await begin(server, config);
  flow.url.hostname = 'localhost';
  const visitor = new Visitor(server.issuer);
  let page = await visitor.open(String(flow.url));
  const [, token = ''] = /name="token" value="([^"]*)"/.exec(page.text) ?? [];
  t.match(token, /^[\w-]{43}\.\d+\.[\w-]{43}$/);
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
  await server.addUser(email);
  const visitor = new Visitor(server.issuer);
  const form = await visitor.open('/account');
  const page = await visitor.submit(form, { email, password: PASSWORD, action: 'sign-in' });
  t.match(page.text, /Signed in as/);
  return visitor;
}
