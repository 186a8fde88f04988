import { randomBytes } from 'node:crypto';
import { uuidOf } from '../../src/uuid.js';
import { declare } from '../support/collections.js';
import { makeKey } from '../support/credentials.js';
import { testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

const CLIENT_IDS = { ids: 'client' };
const FILES = {
  'shelves.json': {
    title: 'Shelf',
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string', 'x-unique': true } },
    'x-collection': CLIENT_IDS,
  },
  'books.json': {
    title: 'Book',
    type: 'object',
    properties: { title: { type: 'string' }, shelfId: { type: 'string', 'x-references': 'shelves' } },
    'x-collection': { ...CLIENT_IDS, nested: true },
  },
  'plain.json': { type: 'object', properties: {} },
  'tasks.json': {
    type: 'object',
    required: ['userId'],
    properties: { userId: { type: 'string', 'x-references': 'users', 'x-on-delete': 'cascade' } },
    'x-collection': { ...CLIENT_IDS, nested: true },
  },
};
const DAY = 86_400_000;
const idAt = (ms: number) => uuidOf(ms, randomBytes(4).readInt32BE() & 0x7fffffff, randomBytes(16));
const newId = () => idAt(Date.now());
const NEW = { 'if-none-match': '*' };

async function service(t: Test, env: Record<string, string> = {}) {
  const opened = await testService(t, { COLLECTIONS: declare(t, FILES), MIGRATE: 'auto', ...env });
  const put = (path: string, body: object, headers: Record<string, string> = NEW) =>
    opened.send('PUT', path, { body, headers });
  return { ...opened, put };
}

t.test('PUT with If-None-Match: * creates a record with the id of the client', async (t) => {
  const { put, send, databaseUrl } = await service(t);
  const id = newId();
  const path = `/shelves/${id}`;
  t.equal((await put(path, { name: 'a' }, {})).status, 404, 'without the field nothing is created');
  const created = await put(path.toUpperCase().replace('/SHELVES', '/shelves'), { name: 'a' });
  t.match(created, {
    status: 201,
    headers: { location: path, etag: '"1"' },
    json: {
      id,
      name: 'a',
      _version: 1,
      created_at: new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toISOString(),
    },
  });
  t.match((await send('GET', path)).json, created.json);
  t.match(await put(path, { name: 'b' }), {
    status: 412,
    headers: { etag: '"1"' },
    json: { error: { code: 'PRECONDITION_FAILED', details: { current: { id, name: 'a' } } } },
  });
  t.match(await put(path, { name: 'b' }, { ...NEW, 'if-match': '"1"' }), { status: 412 });
  t.match(await put(`/shelves/${newId()}`, { name: 'b' }, { ...NEW, 'if-match': '"1"' }), { status: 404 });
  t.match(await put(path, { name: 'b' }, {}), { status: 200, json: { name: 'b', _version: 2 } });
  const minimal = await put(`/shelves/${newId()}`, { name: 'c' }, { ...NEW, prefer: 'return=minimal' });
  t.match(minimal, { status: 201, headers: { 'preference-applied': 'return=minimal' }, text: '' });
  t.match(await put(`/shelves/${newId()}`, { name: 'c' }), {
    status: 409,
    json: { error: { code: 'DUPLICATE' } },
  });
  t.match(await put(`/shelves/${newId()}`, {}), { status: 400, json: { errors: [{ path: '/name' }] } });
  t.match(await put(`/books/${newId()}`, { shelfId: newId() }), {
    status: 422,
    json: { error: { code: 'SHELF_NOT_FOUND' } },
  });
  t.equal((await put(`/plain/${newId()}`, {})).status, 404, 'a collection without the keyword');
  const sql = sqlOf(t, databaseUrl);
  t.match(
    await sql`select type from events where type like 'shelves%' and split_part(type, '.', 2) = 'created'`,
    [{}, {}],
  );
});

t.test('new ids are UUIDs of version 7 with a time near that of the service', async (t) => {
  const { put } = await service(t);
  const now = Date.now();
  for (const [id, message] of [
    ['7', /must be a UUID of version 7/],
    ['0198c0de-0000-4000-8000-000000000001', /must be a UUID of version 7/],
    ['0198c0de-0000-7000-0000-000000000001', /must be a UUID of version 7/],
    [idAt(now - DAY - 60_000), /more than a day ago/],
    [idAt(now + 360_000), /more than five minutes ahead/],
  ] as const)
    t.match(await put(`/shelves/${id}`, { name: 'a' }), {
      status: 400,
      json: { error: { code: 'INVALID_ID', message } },
    });
  t.equal((await put(`/shelves/${idAt(now - DAY + 60_000)}`, { name: 'a' })).status, 201);
  const ahead = await put(`/shelves/${idAt(now + 240_000)}`, { name: 'b' });
  t.equal(ahead.status, 201);
  t.equal(ahead.json.created_at, ahead.json.updated_at, 'a record is not changed before it is created');
});

t.test('a deleted id is not used again', async (t) => {
  const { put, send } = await service(t, { TOMBSTONES: 'on' });
  const path = `/shelves/${newId()}`;
  await put(path, { name: 'a' });
  t.equal((await send('DELETE', path)).status, 204);
  t.equal((await put(path, { name: 'a' })).status, 410);
  const forgetful = await service(t, { TOMBSTONES: 'off' });
  await forgetful.put(path, { name: 'a' });
  await forgetful.send('DELETE', path);
  t.equal((await forgetful.put(path, { name: 'a' })).status, 201);
});

t.test('of 64 concurrent PUTs of one id one creates the record', async (t) => {
  const { put } = await service(t);
  const path = `/books/${newId()}`;
  const all = await Promise.all(Array.from({ length: 64 }, (_, n) => put(path, { title: String(n) })));
  t.same(all.map(({ status }) => status).sort(), [201, ...Array(63).fill(412)]);
  const { json } = all.find(({ status }) => status === 201)!;
  for (const { status, json: failed } of all)
    if (status === 412) t.same(failed.error.details.current.title, json.title);
});

t.test('a batch creates a parent and its children', async (t) => {
  const { send } = await service(t);
  const [shelf, book] = [newId(), newId()];
  const operations = (title: string) => [
    { method: 'PUT', path: `/shelves/${shelf}`, headers: NEW, body: { name: title } },
    { method: 'PUT', path: `/books/${book}`, headers: NEW, body: { title, shelfId: shelf } },
    { method: 'POST', path: `/shelves/${shelf}/books`, body: { title: 'second' } },
  ];
  t.match(await send('POST', '/batch', { body: operations('a') }), {
    status: 200,
    json: {
      results: [
        { status: 201, headers: { location: `/shelves/${shelf}` } },
        { status: 201 },
        { status: 201 },
      ],
    },
  });
  t.match(await send('POST', '/batch', { body: operations('b').toSpliced(0, 1) }), {
    status: 412,
    json: { error: { details: { operation: 0, details: { current: { title: 'a' } } } } },
  });
  t.match(await send('POST', '/batch', { body: [{ ...operations('c')[0], path: '/shelves/1' }] }), {
    status: 400,
    json: { error: { code: 'INVALID_ID', details: { operation: 0 } } },
  });
  t.equal((await send('GET', `/shelves/${shelf}/books?page=1`)).json.meta.total, 2);
});

t.test('a repeat with an Idempotency-Key gets the first response', async (t) => {
  const { put } = await service(t);
  const path = `/shelves/${newId()}`;
  const headers = { ...NEW, 'idempotency-key': 'k' };
  const first = await put(path, { name: 'a' }, headers);
  t.equal(first.status, 201);
  t.match(await put(path, { name: 'a' }, headers), {
    status: 201,
    headers: { 'idempotency-replayed': 'true', location: path },
    text: first.text,
  });
  t.equal((await put(path, { name: 'b' }, headers)).status, 422);
});

t.test('a creation needs the scopes and the ownership of a POST', async (t) => {
  const { send, db } = await service(t, { AUTH: 'api-key' });
  const as = async (subject: string, ...scopes: string[]) => {
    const { key } = await makeKey(db, { subject, scopes });
    return (method: string, path: string, body: object) =>
      send(method, path, { body, headers: { ...NEW, 'x-api-key': key } });
  };
  const operator = await as('operator', 'users:write', 'shelves:write');
  const user = async (name: string): Promise<string> =>
    (await operator('POST', '/users', { email: `${name}@example.org`, name })).json.id;
  const [ann, bob] = [await user('ann'), await user('bob')];
  const [own, other] = [await as(ann, 'self'), await as(bob, 'self')];
  const path = `/tasks/${newId()}`;
  t.equal((await own('PUT', path, { userId: bob })).status, 422);
  t.equal((await own('PUT', path, { userId: ann })).status, 201);
  t.equal((await own('PUT', path, { userId: ann })).status, 412);
  const refused = await other('PUT', path, { userId: bob });
  t.equal(refused.status, 412);
  t.notMatch(refused.text, ann, 'the record of another caller is not shown');
  t.equal((await own('PUT', `/shelves/${newId()}`, { name: 'x' })).status, 403);
  t.equal((await operator('PUT', `/shelves/${newId()}`, { name: 'x' })).status, 201);
});
