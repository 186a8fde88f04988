import { join } from 'node:path';
import { plinth } from '../../support/command.js';
import { folderOf } from '../../support/folder.js';
import { jsonServer, type Records } from '../../support/json-server.js';
import { send, testService, undeclaredDatabase } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { words } from '../../support/words.js';

/** A file whose collections get other names, plurals that do not end in s, and records below several others. */
const FILE = {
  posts: [
    { id: 1, title: 'One', _type: 'note' },
    { id: 2, title: 'Two', _type: 'page' },
  ],
  users: [
    { id: 1, name: 'Ann', email: 'ann@example.org' },
    { id: 2, name: 'Bob', email: 'bob@example.org' },
  ],
  comments: Array.from({ length: 7 }, (_, at) => ({
    id: at + 1,
    body: `comment ${(at * 3) % 7}`,
    postId: (at % 2) + 1,
    userId: at < 5 ? 1 : 2,
  })),
  children: [
    { id: 1, name: 'Cleo', userId: 1 },
    { id: 2, name: 'Dan', userId: 2 },
  ],
  toys: [
    { id: 1, childId: 2, shelfId: 1 },
    { id: 2, childId: 2, shelfId: 1 },
  ],
  shelves: [{ id: 1, room: 'A' }],
  blogEvents: [
    { id: 1, at: '2020-01-01', postId: 1 },
    { id: 2, at: '2020-01-02', postId: 2 },
  ],
  'order-lines': [{ id: 1, quantity: 3 }],
  people: [{ id: 'p', name: 'Pia' }],
  messages: [{ id: 1, personId: 'p', text: 'hello' }],
};

/** The service, after an import of the file, and json-server. */
async function both(t: Test) {
  const cwd = folderOf(t, { 'db.json': FILE });
  const DATABASE_URL = await undeclaredDatabase(t);
  t.match(await plinth(t, ['import', 'db.json', '--infer'], { DATABASE_URL }, { cwd }), { code: 0, err: '' });
  const COLLECTIONS = join(cwd, 'collections');
  const service = await testService(t, { DATABASE_URL, COLLECTIONS, COMPAT: 'json-server' });
  const other = await jsonServer(t, FILE as unknown as Records);
  const old = new Map<unknown, unknown>();
  for (const { resource } of service.collections)
    for (const { id, legacy_id } of (await service.send('GET', `/${resource.name}`)).json)
      old.set(id, legacy_id);
  return { ...service, other, old };
}

const ADDED = ['created_at', 'updated_at', '_version', '_links', 'legacy_id'];

/** A value with the ids of json-server, without what only the service adds. */
function plain(value: unknown, old: ReadonlyMap<unknown, unknown>): unknown {
  if (Array.isArray(value)) return value.map((each) => plain(each, old));
  if (typeof value !== 'object' || value === null) return old.get(value) ?? value;
  const members = Object.entries(value).filter(([name]) => !ADDED.includes(name));
  return Object.fromEntries(members.map(([name, each]) => [name, plain(each, old)]));
}

t.test('the addresses of the file are those of the service, below each reference too', async (t) => {
  const { send: own, other, old } = await both(t);
  const paths = words(`
    /posts /posts?_sort=title&_order=desc /posts/2 /posts/9 /posts?_embed=comments
    /posts/1?_embed=comments&_embed=blogEvents /posts?_type=note /posts?_type_ne=note /posts?_type_like=^P
    /posts?_type_gte=o /posts?_unknown=note /posts?_=123 /posts/1/comments
    /posts/2/comments?_sort=body&_order=desc /posts/1/comments?_page=2&_limit=2 /posts/9/comments
    /users/1/comments /users/1/comments?postId=2 /users/1/comments?userId=2
    /users/2/comments?_expand=post&_expand=user /users/1/comments?_start=1&_end=3&q=comment
    /users/abc/comments /users/1/comments/ /users/2/children /children/2/toys /children?_embed=toys
    /toys?_expand=child&_expand=shelf /shelves/1/toys?_limit=1 /blogEvents /blogEvents/2?_expand=post
    /posts/1/blogEvents /order-lines /order-lines/1 /people/p/messages /people?_embed=messages
    /messages?_expand=person
  `);
  for (const path of paths) {
    const [ours, theirs] = [await own('GET', path), await send(other, 'GET', path)];
    const linkOf = ({ headers }: typeof ours) => String(headers.link ?? '').replace(/:\d+\//g, '/');
    t.same(
      [ours.status, plain(ours.json, old), ours.headers['x-total-count'], linkOf(ours)],
      [theirs.status, theirs.json, theirs.headers['x-total-count'], linkOf(theirs)],
      path,
    );
    t.equal((await own('HEAD', path)).status, theirs.status, `HEAD ${path}`);
  }
});

t.test('writes at the addresses of the file', async (t) => {
  const { send: own, url, old } = await both(t);
  const body = { body: 'new', postId: 2, userId: 2 };
  const made = await own('POST', '/users/1/comments', { body });
  t.match(made, { status: 201, headers: { location: `${url}/comments/${made.json.id}` } });
  t.match(plain(made.json, old), { ...body, userId: 1 }, 'the record in the path counts');
  t.equal((await own('GET', '/users/1/comments')).json.length, 6);
  t.match(plain((await own('POST', '/posts/2/comments', { body })).json, old), body);
  t.match(await own('POST', '/users/99/comments', { body }), { status: 404, json: {} });
  t.equal((await own('POST', '/users/1/comments', { body: [] })).status, 400);
  t.equal((await own('POST', '/users/1/comments', { body: {} })).status, 400, 'without required fields');
  t.match(await own('POST', '/posts', { body: { title: 'Three', _type: 'page' } }), { status: 201 });
  t.match((await own('PATCH', '/posts/2', { body: { title: 'two' } })).json, { legacy_id: 2, title: 'two' });
  t.match((await own('PUT', '/posts/2', { body: { title: 'II', _type: 'x' } })).json, { title: 'II' });
  t.match(await own('DELETE', '/order-lines/1'), { status: 200, json: {} });
  t.match(await own('DELETE', '/order-lines/1'), { status: 404, json: {} });
  t.match((await own('OPTIONS', '/users/1/comments')).headers, { allow: 'GET, HEAD, POST, OPTIONS' });
  t.equal((await own('PATCH', '/users/1/comments', { body: {} })).status, 405);
});

t.test('the parameters of the service, other versions and media types at these addresses', async (t) => {
  const { send: own } = await both(t);
  const paged = (await own('GET', '/users/1/comments?page=1&limit=2')).json;
  t.match(paged, { data: { length: 2 }, meta: { total: 5 } });
  t.match((await own('GET', '/posts/1/comments?page=1')).json.meta, { total: 4 });
  t.equal((await own('GET', '/users/2/comments?filter[body][ne]=x')).json.data.length, 2);
  t.equal((await own('GET', '/api/v2/users/2/comments')).json.data.length, 2);
  t.equal((await own('GET', '/users/abc/comments?page=1')).json.data.length, 0);
  for (const path of ['/posts', '/posts/1', '/users/1/comments']) {
    const headers = { accept: 'text/html, */*;q=0.5' };
    t.match((await own('GET', path, { headers })).headers, { 'content-type': 'application/json' }, path);
    const csv = await own('GET', path, { headers: { accept: 'text/csv' } });
    t.match(csv.headers, { 'content-type': /^text\/csv/ }, path);
  }
  const page = await own('GET', '/legacy_posts', { headers: { accept: 'text/html' } });
  t.match(page.headers, { 'content-type': /^text\/html/ });
});
