import type { JsonObject } from '../../src/json.js';
import { declare } from '../support/collections.js';
import { makeKey } from '../support/credentials.js';
import { type SendOptions, testService, undeclaredDatabase } from '../support/service.js';
import t from '../support/test.js';

t.jobs = 2;

t.test('the address of the service leads to all that it offers', async (t) => {
  const service = await testService(t, {
    AUTH: 'api-key',
    MIGRATE: 'auto',
    COLLECTIONS: declare(t, { 'books.json': { title: 'Book', type: 'object', properties: {} } }),
  });
  const { key } = await makeKey(service.db);
  const send = (method: string, path: string, { headers = {} }: SendOptions = {}) =>
    service.send(method, path, { headers: { 'x-api-key': key, ...headers } });
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

t.test('the address of the service names what its caller may read', async (t) => {
  const owned = { type: 'string', 'x-references': 'users', 'x-on-delete': 'cascade' };
  const collection = (options: JsonObject, properties: JsonObject = {}): JsonObject => ({
    type: 'object',
    properties,
    'x-collection': options,
  });
  const service = await testService(t, {
    AUTH: 'api-key',
    DATABASE_URL: await undeclaredDatabase(t),
    COLLECTIONS: declare(t, {
      'books.json': collection({}),
      'news.json': collection({ public: 'read' }),
      'letters.json': collection({ nested: 'userId' }, { userId: owned }),
      'plans.json': collection({ access: [{ can: 'all', scope: 'staff' }] }),
      'notices.json': collection({ access: [{ can: 'read', to: 'anyone' }] }),
    }),
  });
  const named = async (headers: Readonly<Record<string, string>>) => {
    const [home, document] = [
      await service.send('GET', '/', { headers }),
      await service.send('GET', '/openapi.json', { headers }),
    ];
    t.equal(home.status, 200);
    const collections = home.json.collections.map(({ name }: { name: string }) => name).sort();
    // The two documents agree.
    t.same(
      collections,
      Object.keys(document.json.paths)
        .flatMap((path) => /^\/(books|news|letters|plans|notices|users)\/\{id\}$/.exec(path)?.[1] ?? [])
        .sort(),
    );
    return [collections.join(), Object.keys(home.json.links).join(), home.headers.etag] as const;
  };
  const as = async (subject: string, ...scopes: string[]) =>
    named({ 'x-api-key': (await makeKey(service.db, { subject, scopes })).key });
  const stranger = await named({});
  t.equal(stranger[0], 'news,notices');
  t.notMatch(stranger[1], /keys|webhooks|whoami|events|access/);
  t.equal((await as('rita', 'books:read'))[0], 'books,news,notices');
  const user = await as('01a20900-0000-7000-8000-000000000000', 'self');
  t.equal(user[0], 'letters,news,notices,plans,users');
  t.match(user[1], /whoami/);
  t.notMatch(user[1], /keys|webhooks|access/);
  const staff = await as('stan', 'staff', 'plans:read');
  t.equal(staff[0], 'news,notices,plans');
  const admin = await as('root', 'admin');
  t.equal(admin[0], 'books,letters,news,notices,plans,users');
  t.match(admin[1], /keys/);
  t.equal(new Set([stranger[2], user[2], staff[2], admin[2]]).size, 4, 'each has an ETag of its own');
  const invalid = await service.send('GET', '/', { headers: { 'x-api-key': 'unknown' } });
  t.equal(invalid.status, 401);
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
