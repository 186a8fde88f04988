import { noBrowser, openPage } from '../../support/chromium.js';
import { byPassword } from '../../support/credentials.js';
import { checkPage } from '../../support/page-checks.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { testTarget } from '../webhooks/target.js';
import { linksOf, PageVisitor } from './visitor.js';

const PASSWORD = 'correct horse battery';
const VIEWS = [{ width: 320 }, { width: 1440 }];
const BASIC = { AUTH: 'basic,api-key', INSECURE: 'basic' };

const open = await testService(t);
await open.send('POST', '/users', { body: { email: 'ann@example.org', name: 'Ann', password: PASSWORD } });

/** A service whose user has these scopes, and a visitor that sends the user's password as browsers do. */
async function signedIn(t: Test, scopes: string) {
  const service = await testService(t, { ...BASIC, BASIC_SCOPES: scopes, DATABASE_URL: open.databaseUrl });
  return { service, visitor: new PageVisitor(service, byPassword('ann@example.org', PASSWORD)) };
}

t.test('an administrator creates and revokes keys', async (t) => {
  const { service, visitor } = await signedIn(t, 'admin');
  const list = await visitor.get('/keys?_new');
  t.equal(list.status, 200);
  const bad = await visitor.submit(t, list, 'Create', {
    '/label': 'a <b>',
    '/subject': 's',
    '/expires_at': '2020',
  });
  t.equal(bad.status, 400);
  t.match(bad.text, 'id="new-scopes-error"');
  const values = { '/label': 'a <b>', '/subject': 's', '/expires_at': '', '/scopes': 'items:read' };
  const created = await visitor.submit(t, bad, 'Create', values);
  t.equal(created.status, 200);
  t.equal(created.headers['cache-control'], 'no-store');
  const [, key] = /<code class="secret">([^<]+)</.exec(created.text)!;
  const read = () => service.send('GET', '/items', { headers: { 'x-api-key': key! } });
  t.equal((await read()).status, 200);
  const path = linksOf(created.text).find((href) => href.startsWith('/keys/'))!;
  const reloaded = await visitor.submit(t, bad, 'Create', values);
  t.match(reloaded, { status: 303, headers: { location: `${path}?_done=repeated` } });
  t.match(await visitor.text(reloaded.headers.location!), 'A secret is shown only once.');
  const keys = (
    await service.send('GET', '/keys', {
      headers: { accept: 'application/json', authorization: visitor.headers.authorization! },
    })
  ).json.data;
  t.equal(keys.length, 1, 'a reload creates no other key');
  const stored = await service.db.run(
    'select concat(body, parts, headers) as text from idempotency_keys',
    [],
  );
  t.equal(stored.length, 1);
  t.notMatch(String(stored[0]!.text), key!, 'no secret is stored');
  const page = await visitor.get(path);
  t.match(page.text, '<h1>a &#60;b&#62;</h1>');
  t.notMatch(page.text, key!);
  t.match(
    (await visitor.submit(t, await visitor.get(`${path}?_delete`), 'Revoke this key')).headers.location,
    '/keys?_done=revoked',
  );
  const left = await visitor.text('/keys?_done=revoked');
  t.match(left, 'Revoked.');
  t.notMatch(left, '>first<');
  t.equal((await read()).status, 401);
});

t.test('pages of administrators are refused to others, and forms run with their permission', async (t) => {
  const { visitor } = await signedIn(t, 'items:read');
  for (const path of ['/keys', '/webhooks']) {
    const refused = await visitor.get(path);
    t.equal(refused.status, 403);
    t.match(refused.text, '<h1>Forbidden</h1>');
  }
  const items = await visitor.get('/items');
  t.equal(items.status, 200);
  t.notMatch(items.text, 'New item');
  const home = await visitor.get('/');
  t.match(home.text, /Items<\/a><\/th><td class="number badge" data-label="Records">0</);
  t.notMatch(home.text, />Users<\/a>/);
  const { visitor: own } = await signedIn(t, 'self items:write');
  const list = await own.get('/items?_new');
  const forged = await own.submit(t, list, 'Create', { '/name': 'x' });
  t.equal(forged.status, 303);
  const other = await own.post(
    '/webhooks',
    new URLSearchParams({ _token: /name="_token" value="([^"]*)"/.exec(list.text)![1]! }),
  );
  t.equal(other.status, 403, 'a token is no permission');
});

t.test('an administrator creates, changes, tests and deletes webhooks, and sends events again', async (t) => {
  const target = await testTarget(t);
  const url = `${target.url}/hook`;
  const service = await testService(t, { WEBHOOK_ALLOW: '127.0.0.1', INSECURE: 'webhooks' });
  const visitor = new PageVisitor(service);
  const form = await visitor.get('/webhooks?_new');
  t.match(form.text, '<option value="true" selected>Yes</option>');
  const created = await visitor.submit(t, form, 'Create', {
    '/url': url,
    '/types': 'items.*',
    '/description': 'first',
  });
  t.equal(created.status, 200, created.text.replace(/[\s\S]*<main/, ''));
  t.match(created.text, /<code class="secret">whsec_/);
  const path = linksOf(created.text).find((href) => href.startsWith('/webhooks/'))!;
  const page = await visitor.get(`${path}?_edit`);
  t.match(await visitor.submit(t, page, 'Save', { '/description': '' }), { status: 303 });
  const stored = { description: '', types: ['items.*'], url, enabled: true };
  t.match((await service.send('GET', path)).json, stored);
  const stale = await visitor.submit(t, page, 'Save', { '/description': 'mine' });
  t.equal(stale.status, 412);
  t.match(stale.text, 'Stored now');
  const shown = await visitor.get(path);
  const rotated = await visitor.submit(t, shown, 'Create a new secret');
  t.match(rotated.text, /<code class="secret">whsec_/);
  const state = async () => (await service.send('GET', path)).json._version;
  const version = await state();
  const reloaded = await visitor.submit(t, shown, 'Create a new secret');
  t.equal(reloaded.headers.location, `${path}?_done=repeated`);
  t.equal(await state(), version, 'a reload replaces no secret');
  const sent = await visitor.submit(t, await visitor.get(path), 'Send a test event');
  t.equal(sent.status, 303);
  const delivery = await visitor.get(sent.headers.location!);
  t.match(delivery.text, /The delivery is due now\.[\s\S]*webhooks\.test/);
  const list = await visitor.get(`${path}/deliveries`);
  t.ok(linksOf(list.text).includes(sent.headers.location!.split('?')[0]!));
  const early = await visitor.submit(t, delivery, 'Redeliver');
  t.ok([303, 409].includes(early.status), 'delivered already, or pending');
  t.match((await visitor.submit(t, await visitor.get(`${path}?_delete`), 'Delete this webhook')).status, 303);
});

t.test('an administrator grants scopes to users, and sees what needs attention', async (t) => {
  const { service, visitor } = await signedIn(t, 'admin');
  const list = await visitor.get('/user-accounts');
  t.match(list.text, /<h1>Accounts<\/h1>[\s\S]*>ann@example.org<\/a>/);
  const path = linksOf(list.text).find((href) => href.startsWith('/user-accounts/'))!;
  const saved = await visitor.save(t, path, {
    '/scopes': ['items:read', 'posts:write'],
  });
  t.match([saved.status, saved.headers.location], [303, `${path}?_done=saved`]);
  const id = path.split('/').at(-1)!;
  const [stored] = await service.db.run('select scopes from user_scopes where user_id = $1::uuid', [id]);
  t.equal(stored!.scopes, '{items:read,posts:write}');
  t.match(await visitor.text('/user-accounts'), 'items:read');
  const wrong = await visitor.save(t, path, {
    '/scopes': 'all:things',
  });
  t.match([wrong.status, wrong.text], [400, 'is not a scope']);
  t.equal((await visitor.get('/user-accounts/x')).status, 404);
  const { visitor: other } = await signedIn(t, 'users:read');
  for (const refused of ['/user-accounts', path]) t.equal((await other.get(refused)).status, 403);
  t.notMatch(await other.text('/'), 'Needs attention');

  const soon = new Date(Date.now() + 86_400_000).toISOString();
  const key = { label: 'Report', subject: 's', scopes: ['items:read'] };
  const authorization = visitor.headers.authorization!;
  for (const body of [
    { ...key, expires_at: soon },
    { ...key, label: 'Lasting' },
  ])
    await service.send('POST', '/keys', { body, headers: { authorization } });
  const home = await visitor.get('/');
  t.match(home.text, /<h2>Needs attention<\/h2><ul><li><a href="\/keys\/[^"]+">Key Report ends/);
  t.notMatch(home.text, 'Lasting');
});

t.test('an administrator sees the versions with the ends of them', async (t) => {
  const sunset = new Date(Date.now() + 86_400_000).toISOString();
  const env = { ...BASIC, BASIC_SCOPES: 'admin', V1_SUNSET: sunset, DATABASE_URL: open.databaseUrl };
  const service = await testService(t, env);
  const visitor = new PageVisitor(service, byPassword('ann@example.org', PASSWORD));
  t.match(await visitor.text('/'), '<a href="/api-versions">Versions</a>');
  const { text } = await visitor.get('/api-versions');
  t.match(text, `<time datetime="${sunset}"`);
  t.match(text, '>/api/v2</a></th>');
  const { visitor: other } = await signedIn(t, 'items:read');
  t.equal((await other.get('/api-versions')).status, 403);
});

t.test('axe-core has no findings on pages of administrators', { skip: noBrowser }, async (t) => {
  const { service } = await signedIn(t, 'admin');
  const httpCredentials = { username: 'ann@example.org', password: PASSWORD };
  const page = await openPage(t, service.url, { width: 320, httpCredentials });
  await page.goto('/keys');
  await page.getByRole('link', { name: 'New key' }).click();
  await checkPage(t, page, 'keys', VIEWS);
  await page.locator('#new-label').fill('key');
  await page.locator('#new-subject').fill('subject');
  await page.getByLabel('admin').check();
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('it is shown only once').waitFor();
  await checkPage(t, page, 'a new key', VIEWS);
  await page.getByRole('link', { name: 'Continue' }).click();
  await checkPage(t, page, 'a key', VIEWS);
  await page.goto('/webhooks');
  await page.getByRole('link', { name: 'New webhook' }).click();
  await page.locator('#new-url').fill('https://example.org/hook');
  await page.getByLabel('*', { exact: true }).check();
  await checkPage(t, page, 'webhooks', VIEWS);
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('link', { name: 'Continue' }).click();
  await checkPage(t, page, 'a webhook', VIEWS);
  await page.getByRole('link', { name: 'Deliveries' }).click();
  await checkPage(t, page, 'deliveries', VIEWS);
  await page.goto('/user-accounts');
  await checkPage(t, page, 'accounts', VIEWS);
  await page.getByRole('link', { name: 'ann@example.org' }).click();
  await checkPage(t, page, 'a user', VIEWS);
  await page.getByRole('link', { name: 'Edit' }).click();
  await checkPage(t, page, 'the scopes of a user', VIEWS);
});
