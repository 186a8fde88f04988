import type { Page } from 'playwright-core';
import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { noBrowser, openPage } from '../../support/chromium.js';
import { PASSWORD } from '../../support/credentials.js';
import { exampleClients } from '../../support/example-clients.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { authorizationServer } from './authorization-server.js';

t.jobs = 3;

/** Lets the access token of a page expire, and returns what the page has stored. */
const EXPIRE = `(() => {
  const session = JSON.stringify({ ...JSON.parse(sessionStorage.getItem('session')), expiresAt: 0 });
  sessionStorage.setItem('session', session);
  return session;
})()`;

/** The application of docs/clients at an origin of its own, with a user who may write items. */
async function application(t: Test) {
  const config = new Map<string, string>();
  const origin = await exampleClients(t, config);
  const env = { AUTH: 'bearer', AUTH_SERVER: 'on', CORS_ORIGINS: origin };
  const server = await authorizationServer(t, env);
  const { service, issuer, user } = server;
  await setUserScopes(service.db, user.id, ['items:write', 'events:read']);
  const address = `${origin}/app/`;
  const { id } = await server.register({
    redirect_uris: [address],
    post_logout_redirect_uris: [address],
    scopes: ['items:write', 'events:read'],
  });
  config.set('/app/config.json', JSON.stringify({ service: issuer, client_id: id }));
  const settings = {
    ...env,
    PORT: new URL(issuer).port,
    PUBLIC_URL: issuer,
    DATABASE_URL: service.databaseUrl,
  };
  const open = await testService(t, { DATABASE_URL: service.databaseUrl });
  const page = await openPage(t, origin, { alsoRequests: [issuer] });
  return { ...server, settings, address, page, write: open.send };
}

async function signIn(page: Page, { address, email }: { address: string; email: string }): Promise<void> {
  await page.goto(address);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.fill('input[name="email"]', email);
  await page.fill('input[name="password"]', PASSWORD);
  await page.click('button[value="sign-in"]');
  await page.click('button[value="allow"]');
  await page.getByText(email).waitFor();
  await page.getByRole('status').getByText('Connected.', { exact: true }).waitFor();
}

t.test('an application signs in, survives an outage and signs out', { skip: noBrowser }, async (t) => {
  const { service, user, settings, address, page, write } = await application(t);
  await write('POST', '/items', { body: { name: 'before' } });
  await signIn(page, { address, email: user.email });
  t.equal(page.url(), address, 'no code stays in the address');
  const items = async (...expected: string[]) => {
    await until(
      `the page shows ${expected}`,
      () => page.locator('#items li').allTextContents(),
      (seen) => seen.join() === expected.join(),
    );
  };
  await items('before');
  await page.getByLabel('Name').fill('own');
  await page.getByRole('button', { name: 'Add' }).click();
  await items('before', 'own');

  let failed = 0;
  page.on('requestfailed', () => {
    failed++;
  });
  await service.stop();
  await page.getByRole('status').getByText('Reconnecting.').waitFor();
  await write('POST', '/items', { body: { name: 'meanwhile' } });
  await until('the page has tried several times in vain', () => failed >= 2);
  const second = await testService(t, settings);
  await items('before', 'own', 'meanwhile');
  await page.getByRole('status').getByText('Connected.', { exact: true }).waitFor();

  const refreshes: number[] = [];
  page.on('response', (response) => {
    if (response.url().endsWith('/token')) refreshes.push(response.status());
  });
  await page.evaluate(EXPIRE);
  await page.reload();
  await items('before', 'own', 'meanwhile');
  await page.getByRole('status').getByText('Connected.', { exact: true }).waitFor();
  t.same(refreshes, [200], 'one refresh for all requests');

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  t.equal(page.url(), address, 'the user is back');
  t.equal(await page.evaluate('sessionStorage.length'), 0);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('input[name="password"]').waitFor();
  t.pass('the session has ended at the authorization server');
  await second.stop();
});

t.test('two tabs that refresh the token of one session go on', { skip: noBrowser }, async (t) => {
  const { user, address, page } = await application(t);
  await signIn(page, { address, email: user.email });
  const stored = await page.evaluate<string>(EXPIRE);
  const tab = await page.context().newPage();
  await tab.goto(address);
  await tab.evaluate(`sessionStorage.setItem('session', ${JSON.stringify(stored)})`);
  await Promise.all([page.reload(), tab.reload()]);
  for (const each of [page, tab]) {
    await each.getByText(user.email).waitFor();
    await each.getByRole('status').getByText('Connected.', { exact: true }).waitFor();
  }
  const tokens = await Promise.all(
    [page, tab].map((each) =>
      each.evaluate<string>("JSON.parse(sessionStorage.getItem('session')).refreshToken"),
    ),
  );
  t.equal(tokens[0], tokens[1], 'one successor');
});

t.test('the application ends with its session, at its own addresses', { skip: noBrowser }, async (t) => {
  const { service, user, address, page } = await application(t);
  for (const forged of ['?code=x&state=y', '?error=access_denied&state=y', '?state=y']) {
    await page.goto(address + forged);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    t.equal(page.url(), address);
    t.equal(await page.getByRole('alert').textContent(), '');
  }
  await signIn(page, { address, email: user.email });
  await service.db.run("delete from issuer_records where model = 'Grant'", []);
  await page.getByRole('status').getByText('Signed out.').waitFor();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
});
