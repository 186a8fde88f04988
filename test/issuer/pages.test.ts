import { existsSync } from 'node:fs';
import * as client from 'openid-client';
import { type Browser, chromium, type Page } from 'playwright-core';
import t, { type Test } from 'tap';
import {
  type AuthorizationServer,
  authorizationServer,
  begin,
  PASSWORD,
  REDIRECT,
} from './authorization-server.js';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
const noBrowser = CHROMIUM === undefined && 'chromium is not installed';
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';

let browser: Browser | undefined;
if (CHROMIUM !== undefined)
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
t.teardown(() => browser?.close());

/** A page of this width. The application that users return to shows the query that it received. */
async function visit(t: Test, width: number): Promise<{ page: Page; returned: URL[] }> {
  const context = await browser!.newContext({ viewport: { width, height: 640 } });
  t.teardown(() => context.close());
  const page = await context.newPage();
  const returned: URL[] = [];
  await page.route(`${REDIRECT}**`, (route) => {
    returned.push(new URL(route.request().url()));
    return route.fulfill({ contentType: 'text/html', body: '<h1>The application</h1>' });
  });
  return { page, returned };
}

async function signIn(page: Page, { user }: AuthorizationServer, password = PASSWORD): Promise<void> {
  await page.getByLabel('Email').fill(user.email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** What every page of this width must be. */
async function checkLayout(t: Test, page: Page, name: string): Promise<void> {
  const layout = await page.evaluate<{ overflow: number; unlabelled: number; language: string }>(`({
    overflow: document.documentElement.scrollWidth - window.innerWidth,
    unlabelled: [...document.querySelectorAll('input:not([type=hidden]):not([hidden])')]
      .filter(({ labels }) => !labels?.length).length,
    language: document.documentElement.lang,
  })`);
  t.ok(layout.overflow <= 0, `${name}: nothing is wider than the window`);
  t.equal(layout.unlabelled, 0, `${name}: every field has a label`);
  t.equal(layout.language, 'en');
}

for (const width of [320, 1280]) {
  t.test(`${width} px: wrong password, sign-in, consent, and back`, { skip: noBrowser }, async (t) => {
    const server = await authorizationServer(t);
    const { config } = await server.register();
    const flow = await begin(server, config);
    const { page, returned } = await visit(t, width);
    await page.goto(String(flow.url));
    await checkLayout(t, page, 'sign-in');
    await signIn(page, server, 'wrong');
    await page.getByRole('alert').getByText('The email or the password is wrong.').waitFor();
    t.equal(await page.getByLabel('Email').inputValue(), server.user.email, 'the email is still there');
    await signIn(page, server);
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    await checkLayout(t, page, 'consent');
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('The application').waitFor();
    const issued = await client.authorizationCodeGrant(config, returned[0]!, {
      pkceCodeVerifier: flow.verifier,
      expectedState: flow.state,
    });
    t.ok(issued.access_token);
    await page.goBack();
    const text = await page.locator('body').innerText();
    t.notMatch(text, /The application/);
    if (await page.getByRole('button', { name: 'Allow' }).count()) {
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByText('Start again').waitFor();
    }
    t.equal(returned.length, 1, 'the back button gives no second code');
  });

  t.test(`${width} px: denial, double submit, and an expired request`, { skip: noBrowser }, async (t) => {
    const server = await authorizationServer(t);
    const { config } = await server.register();
    const denied = await begin(server, config);
    const { page, returned } = await visit(t, width);
    await page.goto(String(denied.url));
    await signIn(page, server);
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByText('The application').waitFor();
    t.equal(returned[0]!.searchParams.get('error'), 'access_denied');
    t.equal(returned[0]!.searchParams.get('state'), denied.state);

    const twice = await begin(server, config);
    await page.goto(String(twice.url));
    await page.getByRole('button', { name: 'Allow' }).dblclick();
    await page.getByText('The application').waitFor();
    const codes = returned
      .map(({ searchParams }) => searchParams.get('code'))
      .filter((code) => code !== null);
    t.equal(new Set(codes).size, 1, 'one code');

    const late = await begin(server, config);
    await page.goto(String(late.url));
    await server.service.db.run("delete from issuer_records where model = 'Interaction'", []);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('The request has expired. Start again from the application.').waitFor();
    await checkLayout(t, page, 'error');
  });

  t.test(`${width} px: a device is connected with the keyboard alone`, { skip: noBrowser }, async (t) => {
    const server = await authorizationServer(t);
    const { config } = await server.register({ grantTypes: [DEVICE], redirectUris: [] });
    const device = await client.initiateDeviceAuthorization(config, { scope: 'openid self' });
    const { page } = await visit(t, width);
    await page.goto(device.verification_uri);
    await checkLayout(t, page, 'device entry');
    await page.keyboard.press('Tab');
    await page.keyboard.type('WRON-GONE');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await page.getByLabel('The code that your device shows').fill(device.user_code);
    await page.keyboard.press('Enter');
    await page.getByText(device.user_code).waitFor();
    await checkLayout(t, page, 'device confirmation');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByLabel('Email').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type(server.user.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('Device connected').waitFor();
    await checkLayout(t, page, 'device connected');
    const tokens = await client.pollDeviceAuthorizationGrant(config, { ...device, interval: 0.05 });
    t.ok(tokens.access_token);
  });

  t.test(`${width} px: the account page`, { skip: noBrowser }, async (t) => {
    const server = await authorizationServer(t);
    const { page } = await visit(t, width);
    await page.goto(`${server.issuer}/account`);
    await checkLayout(t, page, 'sign-in to the account');
    await signIn(page, server);
    await page.getByText(`Signed in as ${server.user.email}`).waitFor();
    await checkLayout(t, page, 'account');
    await server.service.db.run("delete from issuer_records where model = 'Session'", []);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('to your account').waitFor();
    t.match(await page.getByRole('alert').innerText(), /expired/, 'an expired session');
  });
}
