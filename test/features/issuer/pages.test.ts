import * as client from 'openid-client';
import type { Page } from 'playwright-core';
import { noBrowser, openPage } from '../../support/chromium.js';
import { PASSWORD } from '../../support/credentials.js';
import { checkForm } from '../../support/page-checks.js';
import t, { type Test } from '../../support/test.js';
import { some } from '../../support/thorough.js';
import {
  type AuthorizationServer,
  authorizationServer,
  begin,
  DEVICE,
  REDIRECT,
} from './authorization-server.js';

const VIEWS = some([{ width: 320 }, { width: 1280 }], 1);

/** A page of a narrow window. The application that users return to shows a page of its own. */
async function visit(t: Test, { issuer }: AuthorizationServer): Promise<{ page: Page; returned: URL[] }> {
  const page = await openPage(t, issuer, { width: 320, alsoRequests: [REDIRECT] });
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

t.test('pages in a browser', { skip: noBrowser }, async (t) => {
  const server = await authorizationServer(t);

  t.test('wrong password, sign-in, consent, and back', async (t) => {
    const { config } = await server.register();
    const flow = await begin(server, config);
    const { page, returned } = await visit(t, server);
    await page.goto(String(flow.url));
    await checkForm(t, page, 'sign-in', VIEWS);
    await signIn(page, server, 'wrong');
    await page.getByRole('alert').getByText('The email or the password is wrong.').waitFor();
    t.equal(await page.getByLabel('Email').inputValue(), server.user.email, 'the email is still there');
    await signIn(page, server);
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    await checkForm(t, page, 'consent', VIEWS);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('The application').waitFor();
    const issued = await flow.redeem(returned[0]!);
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

  t.test('denial, double submit, and an expired request', async (t) => {
    const { config } = await server.register();
    const denied = await begin(server, config);
    const { page, returned } = await visit(t, server);
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
    const codes = returned.flatMap(({ searchParams }) => searchParams.get('code') ?? []);
    t.equal(new Set(codes).size, 1, 'one code');

    const late = await begin(server, config);
    await page.goto(String(late.url));
    await server.service.db.run("delete from issuer_records where model = 'Interaction'", []);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('The request has expired. Start again from the application.').waitFor();
    await checkForm(t, page, 'error', VIEWS);
  });

  t.test('a device with its code in the address', async (t) => {
    const { config } = await server.register(DEVICE);
    const device = await client.initiateDeviceAuthorization(config, { scope: 'openid self' });
    const { page } = await visit(t, server);
    await page.goto(device.verification_uri_complete!);
    await page.getByText(device.user_code).waitFor();
    t.match(await page.content(), /Continue only if your device shows this code/);
  });

  t.test('a code in a form (form_post) reaches the application', async (t) => {
    const { config } = await server.register();
    const flow = await begin(server, config, { response_mode: 'form_post' });
    const { page } = await visit(t, server);
    const posted = page.waitForRequest((sent) => sent.url() === REDIRECT && sent.method() === 'POST');
    await page.goto(String(flow.url));
    await signIn(page, server);
    await page.getByRole('button', { name: 'Allow' }).click();
    t.match((await posted).postData(), /code=/);
  });

  t.test('a device is connected with the keyboard alone', async (t) => {
    const { config } = await server.register(DEVICE);
    const device = await client.initiateDeviceAuthorization(config, { scope: 'openid self' });
    const { page } = await visit(t, server);
    await page.goto(device.verification_uri);
    await checkForm(t, page, 'device entry', VIEWS);
    const code = page.getByLabel('The code that your device shows');
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await press('Tab');
    await page.keyboard.type('WRON-GONE');
    await press('Enter');
    await page.getByRole('alert').waitFor();
    await code.fill(device.user_code);
    await press('Enter');
    await page.getByText(device.user_code).waitFor();
    await checkForm(t, page, 'device confirmation', VIEWS);
    await press('Tab', 'Enter');
    await page.getByLabel('Email').waitFor();
    await press('Tab');
    await page.keyboard.type(server.user.email);
    await press('Tab');
    await page.keyboard.type(PASSWORD);
    await press('Enter');
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    await press('Tab', 'Enter');
    await page.getByText('Device connected').waitFor();
    await checkForm(t, page, 'device connected', VIEWS);
    const tokens = await client.pollDeviceAuthorizationGrant(config, { ...device, interval: 0.05 });
    t.ok(tokens.access_token);
  });

  t.test('the account page', async (t) => {
    const { page } = await visit(t, server);
    await page.goto(`${server.issuer}/account`);
    await checkForm(t, page, 'sign-in to the account', VIEWS);
    await signIn(page, server);
    await page.getByText(`Signed in as ${server.user.email}`).waitFor();
    await checkForm(t, page, 'account', VIEWS);
    await server.service.db.run("delete from issuer_records where model = 'Session'", []);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('to your account').waitFor();
    t.match(await page.getByRole('alert').innerText(), /expired/, 'an expired session');
  });
});
