import { noBrowser, openPage } from '../../support/chromium.js';
import { checkPage } from '../../support/page-checks.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { linksOf, PageVisitor } from './visitor.js';

const PASSWORD = 'correct horse battery';
const open = await testService(t);
await open.send('POST', '/users', { body: { email: 'ann@example.org', name: 'Ann', password: PASSWORD } });
const authorization = `Basic ${Buffer.from(`ann@example.org:${PASSWORD}`).toString('base64')}`;

t.test('a signed-in person sees what it may use, collections first', async (t) => {
  const env = { AUTH: 'basic', INSECURE: 'basic', DATABASE_URL: open.databaseUrl };
  const service = await testService(t, { ...env, BASIC_SCOPES: 'items:read' });
  const visitor = new PageVisitor(service, { authorization });
  const page = await visitor.get('/docs');
  t.match(
    page.text,
    /<h1>API<\/h1>[\s\S]*<h2>Collections<\/h2>[\s\S]*>Items <[\s\S]*<h2>The service<\/h2>[\s\S]*>Batch </,
  );
  t.match(page.text, /<dt>GET \/items<\/dt>[\s\S]*<h2>Fields<\/h2>[\s\S]*<dt>price<\/dt><dd>number/);
  t.notMatch(page.text, /GET \/posts|POST \/items/, 'nothing of what it may not use');
  t.equal(page.headers['cache-control'], 'no-store');
  for (const path of linksOf(page.text).filter((href) => /^\/(?!users)/.test(href)))
    t.equal((await visitor.get(path)).status, 200, path);
  for (const path of ['/docs', '/docs?_try=1'])
    t.match(
      (await new PageVisitor(service, path === '/docs' ? {} : { authorization }).get(path)).text,
      'swagger-ui',
    );
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
