import { makeKey } from '../support/credentials.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { untilLength } from '../support/until.js';
import { follow } from './follow.js';

/** Two users, a post of each and an item, and a way to read the feed as a chosen caller. */
async function setup(t: Test) {
  const open = await testService(t, { AUTH: 'none' });
  const post = async (path: string, body: unknown) =>
    (await open.send('POST', path, { body })).json.id as string;
  const ada = await post('/users', { email: 'ada@example.org', name: 'Ada' });
  const eve = await post('/users', { email: 'eve@example.org', name: 'Eve' });
  await post('/posts', { userId: ada, title: 'of Ada' });
  await post('/posts', { userId: eve, title: 'of Eve' });
  await post('/items', { name: 'lamp' });
  const env = { DATABASE_URL: open.databaseUrl, AUTH: 'api-key' };
  const service = await testService(t, env, { eventsHeartbeatMs: 50 });
  const keyOf = async (subject: string, ...scopes: string[]) => ({
    'x-api-key': (await makeKey(service.db, { subject, scopes })).key,
  });
  const callers = {
    'items only': await keyOf('a', 'items:read'),
    'events only': await keyOf('b', 'events:read'),
    'items and events': await keyOf('c', 'events:read', 'items:write'),
    'posts and self': await keyOf(eve, 'events:read', 'posts:read', 'self'),
    self: await keyOf(ada, 'self'),
    admin: await keyOf('root', 'admin'),
  };
  const read = (caller: keyof typeof callers, query = '') =>
    service.send('GET', `/events?${query}`, { headers: callers[caller] });
  await untilLength('all can be read', async () => (await read('admin')).json.data, 5);
  return { open, service, read, callers, ada, eve };
}

type Caller = Parameters<Awaited<ReturnType<typeof setup>>['read']>[0];

const summaryOf = (data: { type: string; data?: { title?: string; name?: string } }[]) =>
  data.map(({ type, data }) => `${type} ${data?.title ?? data?.name}`);

t.test('the feed shows what its reader may read elsewhere', async (t) => {
  const { read } = await setup(t);
  const feedOf = async (caller: Caller, query?: string) => summaryOf((await read(caller, query)).json.data);
  t.same(await feedOf('admin'), [
    'users.created Ada',
    'users.created Eve',
    'posts.created of Ada',
    'posts.created of Eve',
    'items.created lamp',
  ]);
  t.same(await feedOf('events only'), []);
  t.same(await feedOf('items and events'), ['items.created lamp']);
  t.same(await feedOf('self'), ['users.created Ada', 'posts.created of Ada']);
  t.same(await feedOf('self', 'types=posts.*'), ['posts.created of Ada']);
  t.same(await feedOf('posts and self'), [
    'users.created Eve',
    'posts.created of Ada',
    'posts.created of Eve',
  ]);
});

t.test('what may not be read is 403, and the response names the scopes that suffice', async (t) => {
  const { read } = await setup(t);
  t.equal((await read('items only')).status, 403);
  const { status, json } = await read('items and events', 'types=items.*,users.*');
  t.equal(status, 403);
  t.match(json.error, { code: 'INSUFFICIENT_SCOPE', details: { scope: 'events:read users:read' } });
  t.equal((await read('self', 'types=items.*')).status, 403);
});

t.test('a stream shows the same, and follows the ownership of a record', async (t) => {
  const { open, service, callers, ada, eve } = await setup(t);
  const streamOf = (headers: Record<string, string>) => follow(t, `${service.url}/events`, headers);
  const [own, all] = [await streamOf(callers.self), await streamOf(callers.admin)];
  const { json: post } = await open.send('POST', '/posts', { body: { userId: eve, title: 'second of Eve' } });
  await open.send('PATCH', `/posts/${post.id}`, { body: { userId: ada, title: 'now of Ada' } });
  await open.send('DELETE', `/users/${ada}`);
  await untilLength('all is published', () => all.messages, 5 + 2 + 3);
  await untilLength('the own is published', () => own.messages, 2 + 1 + 3);
  const subjects = new Set(own.messages.map(({ data }) => data.subject));
  t.notOk(subjects.has(`/users/${eve}`));
  t.notMatch(own.text(), /of Eve/);
  const deleted = own.messages.find(({ event }) => event === 'users.deleted');
  t.match(deleted, { event: 'users.deleted', data: { subject: `/users/${ada}` } });
});

const WIDENS_NOTHING = 'conditions widen nothing, and lead over no relation that the caller may not follow';
t.test(WIDENS_NOTHING, async (t) => {
  const { read, eve } = await setup(t);
  const found = async (caller: Caller, query: string) => summaryOf((await read(caller, query)).json.data);
  t.same(await found('self', 'types=posts.*&filter[_version]=1'), ['posts.created of Ada']);
  t.same(await found('self', `types=posts.*&filter[userId]=${eve}`), []);
  t.same(await found('posts and self', `types=posts.*&filter[userId]=${eve}`), ['posts.created of Eve']);
  t.same(await found('admin', 'types=posts.*&filter[user][_version]=1'), [
    'posts.created of Ada',
    'posts.created of Eve',
  ]);
  for (const caller of ['self', 'posts and self'] as const) {
    const { status, json } = await read(caller, 'types=posts.*&filter[user][_version]=1');
    t.match({ status, json }, { status: 403, json: { error: { code: 'INSUFFICIENT_SCOPE' } } }, caller);
  }
  t.equal((await read('self', 'types=items.*&filter[_version]=1')).status, 403);
});
