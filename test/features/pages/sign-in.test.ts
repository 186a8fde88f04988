import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { noBrowser, openPage } from '../../support/chromium.js';
import { declare } from '../../support/collections.js';
import { PASSWORD } from '../../support/credentials.js';
import { checkPage } from '../../support/page-checks.js';
import t, { type Test } from '../../support/test.js';
import { some } from '../../support/thorough.js';
import { words } from '../../support/words.js';
import { authorizationServer } from '../issuer/authorization-server.js';
import { ACCEPT, linksOf, PageVisitor } from './visitor.js';

const VIEWS = some([{ width: 320 }, { width: 1280 }], 1);
const { service, issuer, addUser } = await authorizationServer(t);

/** Signs in from a page that refuses strangers. Returns the page to which the browser returns. */
async function signIn(t: Test, visitor: PageVisitor, path: string, email: string) {
  const refused = await visitor.get(path);
  t.equal(refused.status, 401);
  const link = `/account?return=${encodeURIComponent(path)}`;
  t.ok(linksOf(refused.text).includes(link));
  const entered = await visitor.signIn(email, link);
  t.equal(entered.status, 303);
  // The page of the account is on the way, since a second factor may be missing.
  const entry = await visitor.get(entered.headers.location!);
  t.equal(entry.headers.location, `${visitor.service.url}${path}`);
  return visitor.get(path);
}

t.test('a search without a credential leads to the sign-in', async (t) => {
  const search = '/?_search=lamp';
  const { text } = await new PageVisitor(service).get(search);
  t.match(text, /Nothing is found without <a href="[^"]*">signing in<\/a>/);
  t.ok(linksOf(text).includes(`/account?return=${encodeURIComponent(search)}`));
  t.notMatch(text, 'Each collection searches');
});

t.test('a user signs in, acts with its scopes, and signs out', async (t) => {
  const user = await addUser('scopes@example.org');
  const visitor = new PageVisitor(service);
  const own = `/users/${user.id}`;
  const page = await signIn(t, visitor, own, user.email);
  t.equal(page.status, 200);
  t.match(page.text, '<h1>Ann</h1>');
  t.equal((await visitor.save(t, own, { '/name': 'Anna' })).status, 303);
  t.match(await visitor.text(own), '<h1>Anna</h1>');
  const post = await visitor.create(t, `${own}/posts`, {
    '*': '{"title": "Mine"}',
  });
  t.equal(post.status, 303);
  t.match((await visitor.get(`${own}?_format=json`)).json, { name: 'Anna' });
  for (const path of ['/items', '/webhooks', '/users']) {
    const refused = await visitor.get(path);
    t.match(refused, { status: 403, text: 'ask an administrator' }, path);
    t.notOk(linksOf(refused.text).includes('/users'), 'the menu has no list that its scopes do not permit');
  }
  await setUserScopes(service.db, user.id, ['items:write']);
  const items = await visitor.get('/items?_new');
  t.equal((await visitor.submit(t, items, 'Create', { '/name': 'Lamp' })).status, 303);

  const older = await visitor.get('/items?_new');
  const account = await visitor.get('/account');
  const csrf = /name="csrf" value="([^"]*)"/.exec(account.text)![1]!;
  const cookie = visitor.cookies.get('plinth_browser')!;
  const out = await visitor.post('/account', new URLSearchParams({ csrf, action: 'sign-out' }));
  t.equal(out.status, 303);
  t.notOk(visitor.cookies.has('plinth_browser'), 'the cookie is deleted');
  const typed = await visitor.submit(t, older, 'Create', { '/name': 'Typed <b>' });
  t.equal(typed.status, 403, 'a form after the end of its session');
  t.match(typed.text, /You are signed out\.[\s\S]*Sign in in another tab[\s\S]* value="Typed &#60;b&#62;"/);
  t.equal((await visitor.signIn(user.email, '/account?return=/items')).status, 303, 'in another tab');
  for (const form of [older, typed])
    t.equal((await visitor.submit(t, form, 'Create', { '/name': 'Typed' })).status, 303, 'the old form');
  const stolen = { accept: ACCEPT, cookie: `plinth_browser=${cookie}` };
  t.equal((await service.send('GET', own, { headers: stolen })).status, 401, 'the session has ended');
});

t.test('the cookie opens pages and submits forms, and nothing else', async (t) => {
  const user = await addUser('cookie@example.org');
  await setUserScopes(service.db, user.id, ['admin']);
  const visitor = new PageVisitor(service);
  const page = await signIn(t, visitor, '/items', user.email);
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const send = async (
    method: string,
    path: string,
    headers: Record<string, string>,
    given: { body?: unknown; type?: string } = {},
  ) => (await service.send(method, path, { headers: { cookie, ...headers }, ...given })).status;
  const origin = { origin: service.url, 'sec-fetch-site': 'same-origin' };
  t.equal(await send('GET', '/items', { accept: ACCEPT }), 200, 'a page');
  for (const [headers, path = '/items'] of [
    [{}],
    [{ accept: 'application/json' }],
    [{ accept: '*/*', ...origin }],
    [{ accept: ACCEPT, 'sec-fetch-dest': 'empty' }],
    [{ accept: ACCEPT, 'sec-fetch-dest': 'iframe' }],
    [{ accept: 'text/event-stream' }, '/events'],
  ] as const)
    t.equal(await send('GET', path, { ...headers }), 401, JSON.stringify(headers));
  const own = { accept: ACCEPT, ...origin };
  for (const [method, path] of [
    ['POST', '/items'],
    ['PATCH', '/items?filter[name]=a'],
    ['DELETE', '/items?filter[name]=a'],
    ['POST', '/webhooks'],
    ['POST', '/batch'],
    ['QUERY', '/items'],
  ] as const)
    t.equal(await send(method, path, own, { body: { name: 'x' } }), 401, `${method} ${path}`);
  const type = 'application/x-www-form-urlencoded';
  for (const path of ['/batch', '/events/tickets', '/oauth-clients'])
    t.not(await send('POST', path, own, { body: 'a=b', type }), 201, path);
  t.equal(await send('POST', '/events/tickets', own, { body: 'a=b', type }), 401);
  const token = /name="_token" value="([^"]*)"/.exec(page.text)![1]!;
  const post = (fields: Record<string, string>, headers: Record<string, string>) => {
    const body = String(new URLSearchParams({ '/name': 'x', ...fields }));
    return send('POST', '/items', { accept: ACCEPT, ...headers }, { body, type });
  };
  t.equal(await post({}, origin), 403, 'without a token');
  t.equal(await post({ _token: token }, { origin: 'https://evil.example' }), 403);
  const stranger = new PageVisitor(service);
  await stranger.get('/');
  t.equal(await post({ _token: token }, origin), 303);
  t.equal((await service.send('GET', '/healthz', { headers: { cookie } })).status, 200);
  const field = (await visitor.get('/account')).headers['set-cookie']!.find((each) =>
    each.startsWith('plinth_browser'),
  );
  t.match(field, /; HttpOnly; SameSite=Strict$/);
});

t.test('a sign-in returns only to addresses of this service', async (t) => {
  const user = await addUser('return@example.org');
  const visitor = new PageVisitor(service);
  await signIn(t, visitor, `/users/${user.id}`, user.email);
  const targets = words(
    'https://evil.example/ //evil.example/ /\\evil.example /.//evil.example javascript:1',
  );
  for (const target of [...targets, '', '/a\r\nb']) {
    const { headers } = await visitor.get(`/account?return=${encodeURIComponent(target)}`);
    const { location = service.url } = headers;
    t.equal(new URL(location).origin, new URL(service.url).origin, target);
    t.ok(location.startsWith(`${service.url}/`) || location === service.url, 'absolute');
  }
  const { headers } = await visitor.get('/account?return=%2Fitems%3Fpage%3D2');
  t.equal(headers.location, `${service.url}/items?page=2`);
});

t.test('a session of another user, one that has expired, and a wrong one', async (t) => {
  const user = await addUser('session@example.org');
  const visitor = new PageVisitor(service);
  const own = `/users/${user.id}`;
  await signIn(t, visitor, own, user.email);
  const read = async (cookie: string) =>
    (await service.send('GET', own, { headers: { accept: ACCEPT, cookie } })).status;
  const id = visitor.cookies.get('plinth_browser')!;
  t.equal(await read(`a=b; plinth_browser=${id}; c=d`), 200);
  for (const wrong of [`${id}x`, id.slice(1), '', "'", 'x'.repeat(5000)])
    t.equal(await read(`plinth_browser=${wrong}`), 401);
  const end = "update issuer_records set expires_at = now() - interval '1 second' where model = 'Session'";
  await service.db.run(end, []);
  t.equal(await read(`plinth_browser=${id}`), 401);
});

t.test('signing in and out in a browser', { skip: noBrowser }, async (t) => {
  const user = await addUser('browser@example.org');
  const page = await openPage(t, issuer, { width: 320 });
  await page.goto(`/users/${user.id}`);
  await checkPage(t, page, '401', VIEWS);
  await page.getByRole('link', { name: 'Sign in' }).last().click();
  await checkPage(t, page, 'sign-in', VIEWS);
  await page.getByLabel('Email').fill(user.email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Ann' }).waitFor();
  await checkPage(t, page, 'own record', VIEWS);
  await page.getByRole('link', { name: 'Edit', exact: true }).click();
  await page.locator('#edit-name').fill('Anna');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  await page.getByRole('link', { name: 'Account' }).click();
  await checkPage(t, page, 'account', VIEWS);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.goto(`/users/${user.id}`);
  await page.getByRole('heading', { name: 'Unauthorized' }).waitFor();
});

t.test('a form that access rules refuse leads to no sign-in', async (t) => {
  const properties = { text: { type: 'string', 'x-index': true } };
  const access = [{ can: 'read' }, { can: 'create', where: { text: { null: true } } }];
  const note = { title: 'Note', type: 'object', properties, 'x-collection': { access } };
  const own = await authorizationServer(t, {
    ...{ AUTH: 'basic,bearer', AUTH_SERVER: 'on', INSECURE: 'basic', BASIC_SCOPES: 'self', MIGRATE: 'auto' },
    COLLECTIONS: declare(t, { 'notes.json': note }),
  });
  const authorization = `Basic ${Buffer.from(`ann@example.org:${PASSWORD}`).toString('base64')}`;
  const visitor = new PageVisitor(own.service, { authorization });
  const form = await visitor.get('/notes?_new');
  const top = `<a href="/users/${own.user.id}">Ann</a>`;
  t.match(form.text, top);
  const refused = await visitor.submit(t, form, 'Create', { '/text': 'x' });
  t.equal(refused.status, 403);
  t.match(refused.text, 'Nothing was saved, and what you entered is below. No access rule permits');
  t.notMatch(refused.text, 'Sign in');
  t.match(refused.text, top);
});
