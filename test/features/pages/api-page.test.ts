import { noBrowser, openPage } from '../../support/chromium.js';
import { byPassword } from '../../support/credentials.js';
import { checkPage } from '../../support/page-checks.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { linksOf, PageVisitor } from './visitor.js';

const PASSWORD = 'correct horse battery';
const open = await testService(t);
await open.send('POST', '/users', { body: { email: 'ann@example.org', name: 'Ann', password: PASSWORD } });

t.test('a signed-in person sees what it may use, collections first', async (t) => {
  const env = { AUTH: 'basic', INSECURE: 'basic', DATABASE_URL: open.databaseUrl };
  const service = await testService(t, { ...env, BASIC_SCOPES: 'items:read' });
  const visitor = new PageVisitor(service, byPassword('ann@example.org', PASSWORD));
  const page = await visitor.get('/docs');
  const parts = ['<h1>API</h1>', '<h2>Collections</h2>', '>Items <', '<h2>The service</h2>', '>Batch <'];
  t.match(page.text, new RegExp(parts.join('[\\s\\S]*')));
  t.match(page.text, '<dt>GET /items</dt>');
  t.notMatch(page.text, /GET \/posts|POST \/items/, 'nothing of what it may not use');
  t.equal(page.headers['cache-control'], 'no-store');
  for (const path of linksOf(page.text).filter((href) => /^\/(?!users)/.test(href)))
    t.equal((await visitor.get(path)).status, 200, path);
  t.match(await new PageVisitor(service).text('/docs'), 'swagger-ui');
  t.match(await visitor.text('/docs?_try=1'), 'swagger-ui');
  t.test('in a browser', { skip: noBrowser }, async (t) => {
    const httpCredentials = { username: 'ann@example.org', password: PASSWORD };
    const seen = await openPage(t, service.url, { width: 320, httpCredentials });
    await seen.goto('/whoami');
    await seen.getByRole('link', { name: 'API documents' }).click();
    await seen.getByRole('heading', { name: 'API' }).waitFor();
    const views = [{ width: 320 }, { width: 1280, colorScheme: 'dark' as const }];
    await checkPage(t, seen, 'the API', views);
    await seen.locator('summary').filter({ hasText: 'Items' }).click();
    await seen.getByText('GET /items', { exact: true }).waitFor();
    await checkPage(t, seen, 'a collection', views);
  });
});
