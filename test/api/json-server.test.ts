import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { declare } from '../support/collections.js';
import { send, testService } from '../support/service.js';

const FIXTURE = fileURLToPath(new URL('../../../test/fixtures/jsonplaceholder.json', import.meta.url));

type Records = Record<string, { readonly id: number; readonly [name: string]: unknown }[]>;

const text = { type: 'string', maxLength: 2000, 'x-index': true, 'x-search': true };
const DECLARATIONS = {
  'authors.json': {
    title: 'Author',
    type: 'object',
    properties: {
      legacy_id: { type: 'integer', 'x-unique': true, 'x-index': true },
      name: text,
      username: text,
    },
  },
  'posts.json': {},
  'articles.json': {
    title: 'Article',
    type: 'object',
    properties: {
      legacy_id: { type: 'integer', 'x-unique': true, 'x-index': true },
      title: text,
      likes: { type: 'integer', 'x-index': true },
      authorId: { type: 'string', 'x-references': 'authors', 'x-on-delete': 'cascade' },
    },
    'x-collection': { nested: true },
  },
};

/** json-server on the same records. */
async function jsonServer(t: { teardown: (work: () => unknown) => void }, records: Records): Promise<string> {
  const { create, router, defaults } = createRequire(import.meta.url)('json-server');
  const app = create();
  app.use(defaults({ logger: false, static: fileURLToPath(new URL('.', import.meta.url)) }));
  app.use(router(structuredClone(records)));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test('COMPAT=json-server: a hundred responses are those of json-server', async (t) => {
  const { users, posts } = JSON.parse(readFileSync(FIXTURE, 'utf8')) as Records;
  const authors = users!.map(({ id, name, username }) => ({ id, name, username }));
  const articles = posts!.map(({ id, title, userId }) => ({
    id,
    title,
    likes: (id * 37) % 50,
    authorId: userId,
  }));
  const { 'posts.json': _, ...files } = DECLARATIONS;
  const env = { COMPAT: 'json-server', COLLECTIONS: declare(t, files), MIGRATE: 'auto' };
  const service = await testService(t, env);
  const ids = new Map<unknown, string>();
  for (const { id, ...author } of authors) {
    const { json } = await service.send('POST', '/authors', { body: { ...author, legacy_id: id } });
    ids.set(id, json.id);
  }
  for (const { id, authorId, ...article } of articles)
    await service.send('POST', '/articles', {
      body: { ...article, legacy_id: id, authorId: ids.get(authorId) },
    });
  const other = await jsonServer(t, { authors, articles } as unknown as Records);

  /** What both have: json-server's ids are the legacy ids. */
  type Shown = Record<string, unknown>;
  const ours = ({ legacy_id, title, likes, name, username, articles: embedded }: Shown): Shown => ({
    id: legacy_id,
    ...(title === undefined ? { name, username } : { title, likes }),
    ...(embedded ? { articles: (embedded as Shown[]).map(ours) } : {}),
  });
  const theirs = ({ id, title, likes, name, username, articles: embedded }: Shown): Shown => ({
    id,
    ...(title === undefined ? { name, username } : { title, likes }),
    ...(embedded ? { articles: (embedded as Shown[]).map(theirs) } : {}),
  });
  const queries = [
    '/authors',
    '/articles',
    '/authors?_embed=articles',
    '/authors?_embed=articles&_page=2&_limit=3',
    ...['name', 'username'].flatMap((field) =>
      ['asc', 'desc'].map((order) => `/authors?_sort=${field}&_order=${order}`),
    ),
    ...['dolor', 'SUNT', 'qui est', 'nothing like it', 'aut'].map(
      (q) => `/articles?q=${encodeURIComponent(q)}&_limit=50`,
    ),
    ...Array.from({ length: 30 }, (_, n) => `/articles?_page=${n + 1}`),
    ...Array.from({ length: 25 }, (_, n) => `/articles?_page=${n + 1}&_limit=7`),
    ...Array.from(
      { length: 20 },
      (_, n) => `/articles?_sort=title&_order=${n % 2 ? 'asc' : 'desc'}&_page=${n + 1}&_limit=5`,
    ),
    ...Array.from(
      { length: 20 },
      (_, n) => `/articles?_sort=likes,title&_order=desc,asc&_page=${n + 1}&_limit=6`,
    ),
    '/articles?_limit=5',
  ];
  t.ok(queries.length >= 100, `${queries.length} queries`);
  for (const query of queries) {
    const [own, expected] = [await service.send('GET', query), await send(other, 'GET', query)];
    t.equal(own.status, expected.status, query);
    t.same(own.json.map(ours), expected.json.map(theirs), query);
    t.equal(own.headers['x-total-count'], expected.headers['x-total-count'], `${query}: X-Total-Count`);
    const relations = (link: unknown) =>
      [...String(link ?? '').matchAll(/rel="(\w+)"/g)].map(([, name]) => name).sort();
    t.same(relations(own.headers.link), relations(expected.headers.link), `${query}: Link`);
  }
  const exposed = (await service.send('GET', '/articles?_page=1')).headers;
  t.match(exposed, { 'content-type': 'application/json' });
  t.match(
    (await service.send('GET', '/articles?page=1&limit=2')).json.meta,
    { total: 100 },
    'our own parameters stay',
  );
});
