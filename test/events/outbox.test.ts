import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { WITH_TRIGGERS } from '../support/citus.js';
import { plinth } from '../support/command.js';
import { freshService, testDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

interface Written {
  readonly type: string;
  readonly record: string;
  readonly owner: string | null;
  readonly version: number;
  readonly data: string | null;
}

/** A service, and the content of its outbox, oldest first. */
async function open(t: Test, env: Record<string, string> = {}) {
  const service = await freshService(t, env);
  return { ...service, events: await written(t, service.databaseUrl) };
}

async function written(t: Test, url: string): Promise<() => Promise<Written[]>> {
  const sql = sqlOf(t, url);
  return async () =>
    Array.from(await sql<Written[]>`select type, record, owner, version, data from events order by seq`);
}

const summaryOf = (events: readonly Written[]) => events.map(({ type, version }) => `${type} ${version}`);

const PATCHES = ['application/json', 'application/merge-patch+json', 'application/json-patch+json'];

t.test('each create, replace, patch and delete leaves one event with the record after it', async (t) => {
  const { send, events } = await open(t);
  const body = { email: 'ann@example.org', name: 'Ann', password: 'correct horse' };
  const { json: user } = await send('POST', '/users', { body });
  const path = `/users/${user.id}`;
  await send('PUT', path, { body: { ...body, name: 'Anna' } });
  for (const type of PATCHES) {
    const body = type.includes('json-patch') ? [{ op: 'add', path: '/age', value: 7 }] : { age: 6 };
    await send('PATCH', path, { type, body });
  }
  const { json: last } = await send('GET', path);
  await send('DELETE', path);
  await send('DELETE', path);
  const found = await events();
  const updates = [2, 3, 4, 5].map((version) => `users.updated ${version}`);
  t.same(summaryOf(found), ['users.created 1', ...updates, 'users.deleted 5']);
  for (const { record, owner } of found) t.same([record, owner], [user.id, user.id]);
  const { _links, ...record } = last;
  t.same(JSON.parse(found[4]!.data!), record, 'the document as it is read');
  t.equal(found[5]!.data, null);
  t.notMatch(JSON.stringify(found), /correct horse|password|scrypt/);
});

t.test('writes that are refused leave none', async (t) => {
  const { send, events } = await open(t);
  const body = { email: 'ann@example.org', name: 'Ann' };
  const { json: user } = await send('POST', '/users', { body });
  const path = `/users/${user.id}`;
  t.equal((await send('POST', '/users', { body })).status, 409);
  t.equal((await send('PUT', path, { body, headers: { 'if-match': '"9"' } })).status, 412);
  t.equal((await send('PATCH', path, { body: { age: 'x' } })).status, 400);
  t.equal((await send('DELETE', path, { headers: { 'if-match': '"9"' } })).status, 412);
  const post = { userId: '01900000-0000-7000-8000-000000000000' };
  t.equal((await send('POST', '/posts', { body: post })).status, 422);
  t.equal((await events()).length, 1);
});

t.test('writes that share a statement leave one each', async (t) => {
  const { send, events } = await open(t);
  const made = await Promise.all(
    Array.from({ length: 50 }, (_, n) => send('POST', '/items', { body: { name: `item ${n}` } })),
  );
  const ids = made.map(({ json }) => json.id as string);
  await Promise.all(
    ids.map((id) => send('PATCH', `/items/${id}`, { body: { price: 1 }, headers: { 'if-match': '"1"' } })),
  );
  const found = await events();
  for (const id of ids) {
    const own = found.filter(({ record }) => record === id);
    t.same(summaryOf(own), ['items.created 1', 'items.updated 2']);
    for (const { data, version, owner } of own)
      t.match([owner, JSON.parse(data!)], [null, { id, _version: version }]);
  }
  t.equal(found.length, 100);
});

t.test('what a delete takes with it leaves events too', async (t) => {
  const { send, events } = await open(t);
  const { json: user } = await send('POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
  const posts: string[] = [];
  for (const title of ['one', 'two'])
    posts.push((await send('POST', `/users/${user.id}/posts`, { body: { title } })).json.id);
  await send('DELETE', `/users/${user.id}`);
  const gone = (await events()).filter(({ type }) => type.endsWith('.deleted'));
  const expected = [...posts.map((id) => `posts.deleted ${id}`), `users.deleted ${user.id}`].sort();
  t.same(gone.map(({ type, record }) => `${type} ${record}`).sort(), expected);
  for (const { owner } of gone) t.equal(owner, user.id);
});

t.test('a batch leaves the events of its operations, or none', async (t) => {
  const { send, events } = await open(t);
  const create = (name: string) => ({ method: 'POST', path: '/items', body: { name } });
  t.equal((await send('POST', '/batch', { body: [create('a'), create('b')] })).status, 200);
  t.same(
    (await events()).map(({ data }) => JSON.parse(data!).name),
    ['a', 'b'],
  );
  t.equal((await send('POST', '/batch', { body: [create('c'), create('')] })).status, 400);
  t.equal((await events()).length, 2);
});

t.test('a repeat under one Idempotency-Key leaves no second event', async (t) => {
  const { send, events } = await open(t);
  const once = { body: { name: 'once' }, headers: { 'idempotency-key': 'k' } };
  for (let time = 0; time < 3; time++) t.equal((await send('POST', '/items', once)).status, 201);
  t.equal((await events()).length, 1);
});

t.test('EVENTS=off writes none and has no feed', async (t) => {
  const { send, events } = await open(t, { EVENTS: 'off' });
  const { json: item } = await send('POST', '/items', { body: { name: 'quiet' } });
  await send('PATCH', `/items/${item.id}`, { body: { price: 1 } });
  const body = [{ method: 'DELETE', path: `/items/${item.id}` }];
  t.equal((await send('POST', '/batch', { body })).status, 200);
  t.same(await events(), []);
  t.equal((await send('GET', '/events')).status, 404);
  t.equal((await send('GET', '/items')).headers['events-cursor'], undefined);
});

t.test('changes by SQL of others leave events', WITH_TRIGGERS, async (t) => {
  const { send, databaseUrl, events } = await open(t);
  await send('POST', '/items', { body: { name: 'one' } });
  await sqlOf(t, databaseUrl)`delete from items`;
  t.same(summaryOf(await events()), ['items.created 1', 'items.deleted 1']);
});

t.test('what is imported leaves events, unless they are off', async (t) => {
  const file = join(t.testdir(), 'items.json');
  writeFileSync(file, JSON.stringify({ items: [{ name: 'one' }, { name: 'two' }] }));
  for (const [setting, count] of [
    ['on', 2],
    ['off', 0],
  ] as const) {
    const databaseUrl = await testDatabase(t);
    const { code, err } = await plinth(t, ['import', file], { DATABASE_URL: databaseUrl, EVENTS: setting });
    t.equal(code, 0, err);
    t.equal((await (await written(t, databaseUrl))()).length, count);
  }
});
