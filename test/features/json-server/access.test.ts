import { callersOf } from '../../support/callers.js';
import { declare } from '../../support/collections.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';

t.test('a caller sees and changes no more in the form of json-server', async (t) => {
  const service = await testService(t, { COMPAT: 'json-server', AUTH: 'api-key' });
  const as = callersOf(service);
  const admin = await as('operator', 'admin', 'users:write', 'posts:write', 'posts:read', 'users:read');
  const user = async (name: string) =>
    (await admin('POST', '/users', { name, email: `${name}@example.org` })).json.id as string;
  const [ada, eve] = [await user('ada'), await user('eve')];
  for (const userId of [ada, eve]) await admin('POST', '/posts', { userId, title: `of ${userId}` });
  const own = await as(ada, 'self');
  const queries = ['', '?_sort=title', '?title_like=of', `?userId=${eve}`, '?q=of', '?_limit=9'];
  for (const query of [...queries, '?_expand=nothing']) {
    const { status, json } = await own('GET', `/posts${query}`);
    t.equal(status, 200, query);
    for (const { userId } of json) t.equal(userId, ada, query);
  }
  t.equal((await own('GET', '/posts?_limit=9')).headers['x-total-count'], '1', 'others are not counted');
  t.equal((await own('GET', '/posts?_expand=user')).status, 403, 'it may not read all users');
  t.equal((await own('GET', `/users/${eve}/posts`)).status, 403);
  t.equal((await own('GET', `/users/${ada}?_embed=posts`)).status, 403, 'nor all posts');
  const [other] = (await admin('GET', `/posts?userId=${eve}`)).json;
  for (const [method, body] of [
    ['GET'],
    ['DELETE'],
    ['PATCH', { title: 'x' }],
    ['PUT', { userId: eve }],
  ] as const)
    t.equal((await own(method, `/posts/${other.id}`, body)).status, 404, method);
  const absent = await own('DELETE', '/posts/01900000-0000-7000-8000-000000000000');
  t.equal(absent.status, (await own('DELETE', `/posts/${other.id}`)).status, 'whether it exists is not said');
  t.equal((await admin('GET', `/posts/${other.id}`)).json.title, other.title);

  const reader = await as('reader', 'posts:read');
  t.equal((await reader('GET', '/posts?_expand=user')).status, 403);
  t.equal((await reader('GET', '/posts?_sort=title')).json.length, 2);
  t.equal((await reader('DELETE', `/posts/${other.id}`)).status, 403);
  t.equal((await reader('DELETE', '/posts/nothing')).status, 403, 'whether it exists is not said');
});

t.test('the list below the record of a further reference needs the scopes of the whole list', async (t) => {
  const text = { type: 'string' };
  const COLLECTIONS = declare(t, {
    'topics.json': { type: 'object', properties: { name: text } },
    'notes.json': {
      type: 'object',
      required: ['userId'],
      properties: {
        title: text,
        userId: { type: 'string', 'x-references': 'users', 'x-on-delete': 'cascade' },
        topicId: { type: 'string', 'x-references': 'topics' },
      },
      'x-collection': { nested: 'userId' },
    },
  });
  const env = { COMPAT: 'json-server', AUTH: 'api-key', COLLECTIONS, MIGRATE: 'auto' };
  const service = await testService(t, env);
  const as = callersOf(service);
  const admin = await as('operator', 'admin', 'users:write', 'topics:write', 'notes:write', 'notes:read');
  const idOf = async (path: string, body: Record<string, unknown>) =>
    (await admin('POST', path, body)).json.id as string;
  const ada = await idOf('/users', { name: 'Ada', email: 'ada@example.org' });
  const eve = await idOf('/users', { name: 'Eve', email: 'eve@example.org' });
  const topicId = await idOf('/topics', { name: 'Topic' });
  const path = `/topics/${topicId}/notes`;
  for (const userId of [ada, eve]) t.equal((await admin('POST', path, { title: 'x', userId })).status, 201);
  t.equal((await admin('GET', path)).json.length, 2);

  const own = await as(ada, 'self');
  t.match((await own('GET', path)).json, [{ userId: ada }]);
  t.equal((await own('GET', path)).json.length, 1, 'by self, the own records alone');
  for (const userId of [ada, eve]) {
    // As at the address of the list.
    const { status } = await own('POST', '/notes', { title: 'y', userId, topicId });
    t.equal((await own('POST', path, { title: 'y', userId })).status, status);
  }
  const reader = await as('reader', 'notes:read');
  t.equal((await reader('GET', path)).json.length, 2);
  t.equal((await reader('POST', path, { title: 'y', userId: ada })).status, 403);
  const stranger = await as('stranger', 'topics:read');
  t.equal((await stranger('GET', path)).status, 403);
  t.equal((await service.send('GET', path)).status, 401);
});
