import t from 'tap';
import { checkPage, closeBrowser, noBrowser, openPage } from '../browser/browser.js';
import { makeKey } from '../support/credentials.js';
import { testService } from '../support/service.js';

t.teardown(closeBrowser);

const SECRET = 'x'.repeat(32);
const ENV = {
  AUTH: 'api-key,basic,bearer,signature',
  BASIC_INSECURE: 'loopback',
  SIGNING_SECRETS: JSON.stringify([{ id: 'a', secret: SECRET, subject: 'a', scopes: ['admin'] }]),
};
const PASSWORD = 'correct horse battery';

t.test('the page and what it loads come from this origin, with a strict policy', async (t) => {
  const service = await testService(t);
  const page = await service.send('GET', '/docs');
  t.equal(page.status, 200);
  t.match(page.headers['content-security-policy'], /script-src 'self';/);
  t.notMatch(page.text, /https?:\/\//);
  for (const [, path] of page.text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)) {
    const asset = await service.send('GET', `/${path}`);
    t.equal(asset.status, 200, String(path));
    t.match(asset.headers['content-type'], /^text\/(javascript|css); charset=utf-8$/);
    const again = await service.send('GET', `/${path}`, { headers: { 'if-none-match': asset.headers.etag } });
    t.equal(again.status, 304);
  }
  t.equal((await service.send('GET', '/docs/package.json')).status, 404);
  t.match(
    (await service.send('GET', '/docs/oauth2-redirect.html')).headers['content-security-policy'],
    /'self'/,
  );
  t.equal((await service.send('GET', '/')).json.links.docs, '/docs');
});

for (const width of [320, 1440])
  t.test(`the page has no findings of axe-core at ${width} px`, { skip: noBrowser }, async (t) => {
    const service = await testService(t);
    const page = await openPage(t, service.url, width);
    await page.goto('/docs');
    await page.locator('#operations-users-getUser').waitFor();
    await checkPage(t, page, 'docs', ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']);
  });

/** What a reader enters for each scheme. */
const ENTERED: Readonly<Record<string, (key: string) => readonly string[]>> = {
  'api-key': (key) => [key],
  bearer: (key) => [key],
  basic: () => ['ann@example.org', PASSWORD],
  signature: () => [`a:${SECRET}`],
};

for (const [scheme, entered] of Object.entries(ENTERED))
  t.test(`${scheme}: the page shows more, and "try it" works`, { skip: noBrowser }, async (t) => {
    const service = await testService(t, { ...ENV, PUBLIC_PREFIX: '/api/v1' });
    const { key } = await makeKey(service.db);
    const headers = { 'x-api-key': key };
    const body = { email: 'ann@example.org', name: 'Ann', password: PASSWORD };
    t.equal((await service.send('POST', '/users', { headers, body })).status, 201);
    const page = await openPage(t, service.url);
    await page.goto('/api/v1/docs');
    await page.locator('#operations-service-getError').waitFor();
    t.equal(await page.locator('#operations-service-whoami').count(), 0, 'not without a credential');
    await page.getByRole('button', { name: 'Authorize', exact: true }).first().click();
    const form = page.locator('.auth-container', { hasText: new RegExp(`^${scheme}`) });
    const inputs = form.locator('input');
    for (const [index, text] of entered(key).entries()) await inputs.nth(index).fill(text);
    await form.getByRole('button', { name: /^Apply/ }).click();
    await form.getByRole('button', { name: 'Close', exact: true }).click();
    await page.locator('#operations-service-whoami .opblock-summary-control').click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    await page.getByRole('button', { name: 'Execute' }).click();
    t.match(
      await page.locator('.live-responses-table tr.response .response-col_description').textContent(),
      new RegExp(`"scheme": "${scheme === 'bearer' ? 'bearer|api-key' : scheme}`),
    );
  });
