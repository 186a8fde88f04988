import { noBrowser, openPage } from '../../support/chromium.js';
import { declare } from '../../support/collections.js';
import { makeKey } from '../../support/credentials.js';
import { checkPage, SIZE_RULES } from '../../support/page-checks.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';

const SECRET = 'x'.repeat(32);
/** Of each credential. The page takes long to show many operations. */
const SCOPES = ['items:read'];
/** A service whose page has operations of each method and of the service itself, but no more than a part of them. */
const FEW_OPERATIONS = { WEBHOOKS: 'off', JOBS: 'off' };
const ENV = {
  ...FEW_OPERATIONS,
  AUTH: 'api-key,basic,bearer,signature',
  INSECURE: 'basic',
  SIGNING_SECRETS: JSON.stringify([{ id: 'a', secret: SECRET, subject: 'a', scopes: SCOPES }]),
  BASIC_SCOPES: SCOPES.join(' '),
};
const PASSWORD = 'correct horse battery';

const open = await testService(t);

t.test('the page and what it loads come from this origin, with a strict policy', async (t) => {
  const page = await open.send('GET', '/docs');
  t.equal(page.status, 200);
  t.match(page.headers['content-security-policy'], /script-src 'self';/);
  t.notMatch(page.text, /https?:\/\//);
  for (const [, path] of page.text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)) {
    const asset = await open.send('GET', `/${path}`);
    t.equal(asset.status, 200, String(path));
    t.match(asset.headers['content-type'], /^text\/(javascript|css); charset=utf-8$/);
    const again = await open.send('GET', `/${path}`, { headers: { 'if-none-match': asset.headers.etag } });
    t.equal(again.status, 304);
  }
  t.equal((await open.send('GET', '/docs/package.json')).status, 404);
  const redirect = await open.send('GET', '/docs/oauth2-redirect.html');
  t.match(redirect.headers['content-security-policy'], /'self'/);
  t.equal((await open.send('GET', '/')).json.links.docs, '/docs');
});

t.test('the page has no findings of axe-core', { skip: noBrowser }, async (t) => {
  const few = { ...FEW_OPERATIONS, COLLECTIONS: declare(t, { 'items.json': {} }), MIGRATE: 'auto' };
  const { url } = await testService(t, few);
  const page = await openPage(t, url);
  await page.goto('/docs');
  await page.locator('#operations-users-getUser').waitFor();
  await checkPage(t, page, 'docs', [{ width: 320 }, { width: 1440, rules: SIZE_RULES }], {
    tags: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
    except: '.copy-to-clipboard button',
  });
});

/** The text that a reader enters for each scheme. */
const ENTERED: Readonly<Record<string, (key: string) => readonly string[]>> = {
  'api-key': (key) => [key],
  bearer: (key) => [key],
  basic: () => ['ann@example.org', PASSWORD],
  signature: () => [`a:${SECRET}`],
};

t.test('with a credential the page shows more, and "try it" works', { skip: noBrowser }, async (t) => {
  const service = await testService(t, { ...ENV, PUBLIC_PREFIX: '/api/v1' });
  const { key } = await makeKey(service.db, { scopes: SCOPES });
  const headers = { 'x-api-key': (await makeKey(service.db)).key };
  const body = { email: 'ann@example.org', name: 'Ann', password: PASSWORD };
  t.equal((await service.send('POST', '/users', { headers, body })).status, 201);
  const page = await openPage(t, service.url);
  for (const [scheme, entered] of Object.entries(ENTERED))
    await t.test(scheme, async (t) => {
      // The page retains no credential when it is loaded again.
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
      const response = '.live-responses-table tr.response .response-col_description';
      const expected = `"scheme": "${scheme === 'bearer' ? 'bearer|api-key' : scheme}`;
      t.match(await page.locator(response).textContent(), new RegExp(expected));
    });
});
