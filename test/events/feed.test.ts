import { valuesOf } from '../support/callers.js';
import { type TestService, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { until, untilLength } from '../support/until.js';

const create = async ({ send }: TestService, name: string) =>
  (await send('POST', '/items', { body: { name } })).json.id as string;

/** A service with three items, all of their events final. */
async function setup(t: Test) {
  const service = await testService(t);
  const ids: string[] = [];
  for (const name of ['one', 'two', 'three']) ids.push(await create(service, name));
  await untilLength('all can be read', async () => (await service.send('GET', '/events')).json.data, 3);
  return { ...service, service, ids };
}

t.test('an event is a CloudEvents envelope with the record after the change', async (t) => {
  const service = await testService(t, { PUBLIC_URL: 'https://api.example.org' });
  const { send } = service;
  const body = { email: 'ann@example.org', name: 'Ann "A"', password: 'correct horse' };
  const { json: user } = await send('POST', '/users', { body });
  await send('PATCH', `/users/${user.id}`, { body: { age: 7 } });
  await send('DELETE', `/users/${user.id}`);
  await untilLength('all can be read', async () => (await send('GET', '/api/v1/events')).json.data, 3);
  const { json, headers } = await send('GET', '/api/v1/events');
  t.equal(headers['content-type'], 'application/json');
  t.equal(headers['cache-control'], 'no-store');
  const [created, updated, deleted] = json.data;
  const { _links, ...record } = user;
  t.match(created, {
    specversion: '1.0',
    id: /^[0-9a-z]{11}-\d+$/,
    source: 'https://api.example.org',
    type: 'users.created',
    subject: `/users/${user.id}`,
    time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/,
    datacontenttype: 'application/json',
    data: record,
  });
  t.notOk('previous' in created);
  t.match(updated, { type: 'users.updated', previous: 1, data: { age: 7, _version: 2 } });
  t.match(deleted, { type: 'users.deleted', previous: 2, subject: `/users/${user.id}` });
  t.notOk('data' in deleted);
  t.equal(new Set(json.data.map(({ id }: { id: string }) => id)).size, 3);
  t.notMatch(JSON.stringify(json), /correct horse|password/);
  for (const event of json.data)
    for (const name of Object.keys(event)) t.match(name, /^[a-z0-9]{1,20}$/, 'a name of CloudEvents');
});

t.test('pages follow each other by their cursor', async (t) => {
  const { send, ids } = await setup(t);
  const first = (await send('GET', '/events?limit=2')).json;
  t.same(valuesOf(first.data, 'subject'), [`/items/${ids[0]}`, `/items/${ids[1]}`]);
  t.equal(first.meta.more, true);
  t.equal(first.meta.cursor, first.data[1].sequence);
  t.equal(first.links.next, `/events?after=${first.meta.cursor}&limit=2`);
  const second = await send('GET', first.links.next);
  t.match(second.json, { data: [{ subject: `/items/${ids[2]}` }], meta: { more: false } });
  t.equal(second.headers.link, `<${second.json.links.next}>; rel="next"`);
  t.equal(second.headers['events-cursor'], second.json.meta.cursor);
  const third = (await send('GET', second.json.links.next)).json;
  t.match([third.data, third.meta.cursor], [[], second.json.meta.cursor]);
  t.same((await send('GET', '/events?after=now')).json.data, []);
});

t.test('types narrows, and the cursor passes what it leaves out', async (t) => {
  const service = await setup(t);
  const { send, ids } = service;
  await send('DELETE', `/items/${ids[0]}`);
  await send('POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
  const typesOf = async (types: string) =>
    valuesOf((await send('GET', `/events?types=${types}`)).json.data, 'type');
  await untilLength('all can be read', async () => (await send('GET', '/events')).json.data, 5);
  t.same(await typesOf('items.deleted'), ['items.deleted']);
  t.same(await typesOf('users.*,items.deleted'), ['items.deleted', 'users.created']);
  t.same(await typesOf('posts.*'), []);
  const none = (await send('GET', '/events?types=posts.*')).json;
  t.equal(none.meta.more, false);
  t.same((await send('GET', `/events?after=${none.meta.cursor}`)).json.data, []);
  t.match(none.links.next, /types=posts\.\*/);
});

t.test('what cannot be requested is an error that says so', async (t) => {
  const { send } = await setup(t);
  const codeOf = async (query: string) => {
    const { status, json } = await send('GET', `/events?${query}`);
    return `${status} ${json.error?.code ?? ''}`;
  };
  for (const cursor of ['', 'x', '-1', '1', "'", '0000000000Z', 'zzzzzzzzzzz', '000000000001'])
    t.equal(await codeOf(`after=${cursor}`), '400 INVALID_CURSOR', cursor);
  for (const types of ['', 'users', 'users.gone', 'nobody.*', '*', 'users.*,'])
    t.equal(await codeOf(`types=${types}`), '400 BAD_REQUEST', types);
  t.equal(await codeOf('after=00000001000'), '410 CURSOR_GONE', 'a cursor of another database');
  for (const limit of ['x', '0', '-3', '99999'])
    t.equal(await codeOf(`limit=${limit}`), '400 INVALID_QUERY', limit);
  t.equal((await send('POST', '/events', { body: {} })).status, 405);
  const page = await send('GET', '/events?limit=1', { headers: { accept: 'text/html' } });
  t.match(page.headers['content-type'], 'text/html');
  t.match(page.text, /<h1>Changes<\/h1>/);
});

t.test('the batch form of CloudEvents, and HEAD', async (t) => {
  const { send } = await setup(t);
  const accept = 'application/cloudevents-batch+json';
  const { headers, json } = await send('GET', '/events', { headers: { accept } });
  t.equal(headers['content-type'], accept);
  t.equal(json.length, 3);
  t.equal(headers['events-cursor'], json[2].sequence);
  for (const type of [accept, 'application/json', 'text/event-stream']) {
    const head = await send('HEAD', '/events', { headers: { accept: type, prefer: 'wait=9' } });
    t.same([head.status, head.headers['content-type'], head.text], [200, type, '']);
  }
});

t.test('many large records come in several pages', async (t) => {
  const service = await testService(t);
  const note = 'x'.repeat(400_000);
  for (let count = 0; count < 6; count++)
    await service.send('POST', '/items', { body: { name: `large ${count}`, note } });
  const sizes: number[] = [];
  let cursor = '';
  const read = async () => {
    const { json } = await service.send('GET', `/events?limit=1000${cursor && `&after=${cursor}`}`);
    if (json.data.length > 0) sizes.push(json.data.length);
    cursor = json.meta.cursor;
    return sizes.reduce((sum, size) => sum + size, 0);
  };
  await until('all is read', read, 6);
  t.ok(Math.max(...sizes) <= 3, 'no page is much larger than a megabyte');
});

t.test('a reader that prefers to wait gets events as soon as there are some', async (t) => {
  const service = await setup(t);
  const { send } = service;
  const { cursor } = (await send('GET', '/events')).json.meta;
  const wait = (seconds: number, query = '') =>
    send('GET', `/events?after=${cursor}${query}`, { headers: { prefer: `wait=${seconds}` } });
  const waiting = wait(50);
  const choosy = wait(50, '&types=items.deleted');
  const id = await create(service, 'new');
  const response = await waiting;
  t.match(response.json.data, [{ subject: `/items/${id}` }]);
  t.equal(response.headers['preference-applied'], 'wait=50');
  await send('DELETE', `/items/${id}`);
  t.match((await choosy).json.data, [{ type: 'items.deleted' }]);
  t.equal((await wait(50)).json.data.length, 2, 'at once when they are there');
  const long = await wait(1000, '&types=items.*');
  t.equal(long.headers['preference-applied'], 'wait=60', 'a minute at most');
});

t.test('a wait that is over ends in a response without events', async (t) => {
  const { send } = await setup(t);
  const { cursor } = (await send('GET', '/events')).json.meta;
  const { status, json } = await send('GET', `/events?after=${cursor}`, { headers: { prefer: 'wait=1' } });
  t.same([status, json.data, json.meta.cursor], [200, [], cursor]);
});

t.test('in a batch the feed is read and nothing waits', async (t) => {
  const { send } = await setup(t);
  const batch = (headers: Record<string, string>) =>
    send('POST', '/batch', { body: [{ method: 'GET', path: '/events?after=now', headers }] });
  const { json } = await batch({ prefer: 'wait=50' });
  t.match(json.results[0], { status: 200, body: { data: [] } });
  const stream = await batch({ accept: 'text/event-stream' });
  t.same([stream.status, stream.json.error.code], [400, 'BAD_REQUEST']);
});

t.test('a client that reads a list and follows from its cursor misses nothing', async (t) => {
  const service = await testService(t);
  const { send } = service;
  let writing = true;
  const writer = async () => {
    for (let count = 0; writing; count++)
      await send('POST', '/users', { body: { email: `u${count}@example.org`, name: 'U' } });
  };
  const writers = writer();
  const paths = ['/users', '/users?page=1&limit=100'];
  for (const path of [...paths, ...paths, ...paths]) {
    const response = await send('GET', path);
    const listed: { id: string }[] = response.json.data ?? response.json;
    const known = new Set(listed.map(({ id }) => `/users/${id}`));
    const after = response.headers['events-cursor'];
    const all = (await send('GET', '/users')).json as { id: string }[];
    await until('the others are in the feed', async () => {
      const { json } = await send('GET', `/events?after=${after}&limit=1000`);
      const seen = new Set([...known, ...json.data.map(({ subject }: { subject: string }) => subject)]);
      return known.size === 100 || all.every(({ id }) => seen.has(`/users/${id}`));
    });
  }
  writing = false;
  await writers;
  const { json: posts, headers } = await send('GET', '/posts');
  t.same(posts, []);
  t.match(headers['events-cursor'], /^[0-9a-z]{11}-[0-9a-f]{6}$/);
});
