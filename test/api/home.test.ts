import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

t.jobs = 2;

t.test('the address of the service leads to all that it offers', async (t) => {
  const { send } = await testService(t, {
    AUTH: 'api-key',
    MIGRATE: 'auto',
    COLLECTIONS: declare(t, { 'books.json': { title: 'Book', type: 'object', properties: {} } }),
  });
  const { status, json, headers } = await send('GET', '/');
  t.equal(status, 200);
  t.equal(json.name, 'Plinth');
  t.same(json.collections.map(({ name, href }: { name: string; href: string }) => [name, href]).sort(), [
    ['books', '/books'],
    ['users', '/users'],
  ]);
  for (const href of [
    ...json.collections.map(({ href }: { href: string }) => href),
    ...Object.values(json.links),
  ])
    t.not((await send('GET', href as string)).status, 404, href as string);
  t.same((await send('GET', json.versions[1])).json, json);
  const second = await send('GET', json.versions[2]);
  t.same(second.json.versions, { 1: '/api/v1/', 2: '/api/v2/' });
  for (const href of [
    ...second.json.collections.map(({ href }: { href: string }) => href),
    ...Object.values(second.json.links),
  ]) {
    t.match(href, /^\/api\/v2\//);
    t.not((await send('GET', href as string)).status, 404, href as string);
  }
  t.equal((await send('GET', '/', { headers: { 'if-none-match': headers.etag } })).status, 304);
  t.equal((await send('POST', '/')).status, 405);
  t.equal((await send('GET', '/', { headers: { accept: 'image/png' } })).status, 406);
});

t.test('a browser gets a page with the same links', async (t) => {
  const { send } = await testService(t, { PUBLIC_PREFIX: '/api/v1', EVENTS: 'off' });
  const { status, headers, text } = await send('GET', '/', { headers: { accept: 'text/html' } });
  t.equal(status, 200);
  t.match(headers['content-type'], 'text/html');
  t.match(headers['content-security-policy'], /default-src 'none'/);
  for (const href of ['/api/v1/users', '/api/v1/items', '/api/v1/posts', '/api/v1/errors', '/api/v1/healthz'])
    t.match(text, `href="${href}"`);
  t.notMatch(text, 'href="/api/v1/events"');
  const { json } = await send('GET', '/');
  t.equal(json.links.self, '/api/v1/');
});
