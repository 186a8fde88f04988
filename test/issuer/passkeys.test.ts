import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import t from 'tap';
import { Authenticator } from './authenticator.js';
import { type AuthorizationServer, authorizationServer, begin, PASSWORD } from './authorization-server.js';
import { type Page, Visitor } from './visitor.js';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
const noBrowser = CHROMIUM === undefined && 'chromium is not installed';

for (const width of [320, 1280])
  t.test(
    `${width} px: a user adds a passkey and signs in with it, in a browser`,
    { skip: noBrowser },
    async (t) => {
      const server = await authorizationServer(t, { host: 'localhost' });
      const browser = await chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] });
      t.teardown(() => browser.close());
      const context = await browser.newContext({ viewport: { width, height: 640 } });
      const page = await context.newPage();
      const devtools = await context.newCDPSession(page);
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
      await page.fill('#email', server.user.email);
      await page.fill('#password', PASSWORD);
      await page.click('button[value="sign-in"]');
      await page.getByText('There are no passkeys.').waitFor();
      await page.click('button[value="passkey"]');
      await page.getByText(/^Added \d{4}/).waitFor();
      await page.click('button[value="sign-out"]');
      await page.getByText('to your account').waitFor();

      const { config } = await server.register();
      const flow = await begin(server, config);
      await page.goto(String(flow.url));
      t.equal(await page.locator('#password').count(), 1);
      await page.click('button[value="passkey"]');
      await page.locator('button[value="allow"]').waitFor();
      t.match(await page.content(), server.user.email, 'signed in without a password');

      await page.goto(`${server.issuer}/account`);
      await page.click('button[value="remove-passkey"]');
      await page.getByText('There are no passkeys.').waitFor();
      const rows = await server.service.db.run('select id from passkeys', []);
      t.equal(rows.length, 0);
    },
  );

t.test('a counter is used once, also by two sign-ins at once', async (t) => {
  const server = await authorizationServer(t, { host: 'localhost' });
  const authenticator = new Authenticator(server.issuer);
  const visitor = await signedIn(server);
  const page = await visitor.open('/account');
  const added = await visitor.submit(page, {
    ...tokenOf(page),
    action: 'passkey',
    response: authenticator.create(optionsOf(page)),
  });
  t.match(added.text, /Added \d{4}/);

  const { config } = await server.register();
  const use = async (counter: number) => {
    const flow = await begin(server, config, {}, new Visitor(server.issuer));
    const form = await flow.visitor.open(String(flow.url));
    const response = authenticator.get(optionsOf(form), counter);
    return flow.visitor.submit(form, { ...tokenOf(form), action: 'passkey', response });
  };
  const both = await Promise.all([use(7), use(7)]);
  t.same(both.map(({ status }) => status).sort(), [200, 422]);
  t.equal((await use(6)).status, 422, 'a copy of the authenticator');
  t.match(await use(8), { status: 200, text: /value="allow"/ });
});

t.test('attestations with certificates are refused, and no address in them is requested', async (t) => {
  const server = await authorizationServer(t, { host: 'localhost' });
  const visitor = await signedIn(server);
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

t.test('a passkey is added within ten minutes of a sign-in', async (t) => {
  const server = await authorizationServer(t, { host: 'localhost' });
  const visitor = await signedIn(server);
  const page = await visitor.open('/account');
  const response = new Authenticator(server.issuer).create(optionsOf(page));
  await server.service.db.run(
    `update issuer_records
    set payload = jsonb_set(payload::jsonb, '{loginTs}', to_jsonb(extract(epoch from now())::integer - 601))
    where model = 'Session' returning 1`,
    [],
  );
  t.match((await visitor.open('/account')).text, /To add a passkey, sign out and sign in again/);
  const refused = await visitor.submit(page, { ...tokenOf(page), action: 'passkey', response });
  t.match(refused, { status: 422, text: /The passkey was not added/ });
});

t.test('responses that no authenticator made are refused, and counted', async (t) => {
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

async function signedIn({ issuer, user }: AuthorizationServer): Promise<Visitor> {
  const visitor = new Visitor(issuer);
  const form = await visitor.open('/account');
  const page = await visitor.submit(form, { email: user.email, password: PASSWORD, action: 'sign-in' });
  t.match(page.text, /Signed in as/);
  return visitor;
}

/** The options that a page gives to the browser's WebAuthn API. */
function optionsOf({ text }: Page): string {
  return /data-options="([^"]*)"/.exec(text)![1]!.replaceAll('&#34;', '"');
}

/** The hidden fields of the form for passkeys, among others. */
function tokenOf({ text }: Page) {
  return { token: /name="token" value="([^"]*)"/.exec(text)![1]! };
}
