import { callersOf } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { words } from '../support/words.js';

const FILES = {
  'books.json': {
    title: 'Book',
    type: 'object',
    required: ['isbn'],
    properties: {
      isbn: { type: 'string', maxLength: 20, 'x-normalize': ['trim', 'lower'], 'x-unique': true },
      legacy_id: { type: 'integer', readOnly: true, 'x-unique': true },
      title: { type: 'string', 'x-index': true },
      shelf: { type: 'string', 'x-index': true },
      place: { type: 'integer', 'x-index': true },
      since: { type: 'string', format: 'date-time', 'x-unique': true },
    },
    'x-collection': { unique: [['shelf', 'place']] },
  },
  'notes.json': {
    title: 'Note',
    type: 'object',
    required: ['userId', 'day'],
    properties: {
      userId: { type: 'string', 'x-references': 'users', 'x-on-delete': 'cascade' },
      day: { type: 'string', 'x-index': true },
    },
    'x-collection': { nested: true, unique: [['userId', 'day']] },
  },
  'plain.json': { type: 'object', properties: { name: { type: 'string', 'x-index': true } } },
};

async function service(t: Test, env: Record<string, string> = {}) {
  const opened = await testService(t, { COLLECTIONS: declare(t, FILES), MIGRATE: 'auto', ...env });
  const put = (filter: string, body: unknown, headers: Record<string, string> = {}) =>
    opened.send('PUT', `/books?${filter}`, { body, headers });
  return { ...opened, put };
}

t.test('PUT by a unique key creates the record, and then replaces it', async (t) => {
  const { put, send } = await service(t);
  const created = await put('filter[isbn]=A1', { title: 'one' });
  t.match(created, {
    status: 201,
    headers: { etag: '"1"', location: /^\/books\// },
    json: { isbn: 'a1', title: 'one', _version: 1 },
  });
  const { id } = created.json;
  t.match(await put('filter[isbn][eq]=a1', { isbn: ' A1 ', title: 'two' }), {
    status: 200,
    headers: { etag: '"2"' },
    json: { id, isbn: 'a1', title: 'two' },
  });
  t.notOk('title' in (await put('filter[isbn]=a1', {})).json, 'missing fields are cleared');
  t.match(await put('filter[isbn]=a1', {}, { prefer: 'return=minimal' }), { status: 204, text: '' });
  const placed = { isbn: 'b', shelf: 'x' };
  t.match(await put('filter[shelf]=x&filter[place]=7', placed), {
    status: 201,
    json: { shelf: 'x', place: 7 },
  });
  t.match(await put('filter[place]=7.0&filter[shelf]=x', { ...placed, place: 7 }), { status: 200 });
  const since = 'filter[since]=2020-01-01T02:00:00%2B02:00';
  t.match(await put(since, { isbn: 'c' }), { status: 201, json: { since: '2020-01-01T00:00:00.000Z' } });
  t.match(await put(since, { isbn: 'c', since: '2020-01-01T01:00:00+01:00' }), { status: 200 });
  t.equal((await send('GET', '/books?page=1')).json.meta.total, 3);
  t.match(await put('filter[isbn]=d', { shelf: 'x', place: 7 }), {
    status: 409,
    json: { error: { code: 'DUPLICATE', details: { fields: ['shelf', 'place'] } } },
  });
});

t.test('preconditions choose between the creation and the replacement', async (t) => {
  const { put } = await service(t);
  t.match(await put('filter[isbn]=a', {}, { 'if-match': '*' }), { status: 412 });
  t.equal((await put('filter[isbn]=a', {}, { 'if-none-match': '*' })).status, 201);
  t.match(await put('filter[isbn]=a', {}, { 'if-none-match': '*' }), {
    status: 412,
    headers: { etag: '"1"' },
    json: { error: { details: { current: { isbn: 'a' } } } },
  });
  t.equal((await put('filter[isbn]=a', {}, { 'if-match': '"1"' })).status, 200);
  t.equal((await put('filter[isbn]=a', {}, { 'if-match': '"1"' })).status, 412);
  t.match(await put('filter[isbn]=a', { _version: 1 }), {
    status: 409,
    json: { error: { code: 'VERSION_CONFLICT' } },
  });
  const headers = { 'idempotency-key': 'k' };
  for (const _ of [1, 2]) t.equal((await put('filter[isbn]=b', {}, headers)).status, 201);
  t.equal((await put('filter[isbn]=b', {}, { ...headers, 'if-none-match': '*' })).status, 422);
});

t.test('a filter that is no key is refused, another value of the key has no effect', async (t) => {
  const { put, send } = await service(t);
  const message =
    /must have one value of each field of a unique key, and nothing else: isbn, or since, or shelf and place/;
  for (const filter of words(`
    filter[title]=a filter[shelf]=a filter[isbn][ne]=a filter[isbn][in]=a,b filter[isbn]=a&filter[title]=b
    filter[isbn]=a&filter[isbn][prefix]=a filter[or][0][isbn]=a&filter[or][1][isbn]=b filter[legacy_id]=1
  `))
    t.match(
      await put(filter, {}),
      { status: 400, json: { error: { code: 'INVALID_QUERY', message } } },
      filter,
    );
  t.match(await put('filter[isbn]=a&sort=isbn', {}), {
    status: 400,
    json: { error: { code: 'UNKNOWN_PARAMETER' } },
  });
  t.match(await put('filter[isbn]=a', []), { status: 400, json: { error: { code: 'VALIDATION_ERROR' } } });
  t.match(await send('PUT', '/books', { body: {} }), { status: 405 });
  t.match(await send('PUT', '/plain?filter[name]=a', { body: {} }), { status: 405 });
  t.equal((await send('GET', '/books?page=1')).json.meta.total, 0);
  for (const isbn of ['b', 1, null, ['a']])
    t.match((await put('filter[isbn]=a', { isbn })).json, { isbn: 'a' });
  t.equal((await send('GET', '/books?page=1')).json.meta.total, 1);
});

t.test('of 64 concurrent writers one creates the record and the others replace it', async (t) => {
  const { put, send } = await service(t);
  const all = await Promise.all(
    Array.from({ length: 64 }, (_, n) =>
      put('filter[shelf]=x&filter[place]=1', { isbn: 'a', title: `${n}` }),
    ),
  );
  t.same(all.map(({ status }) => status).sort(), [...Array(63).fill(200), 201]);
  t.same(
    all.map(({ json }) => json._version).sort((a, b) => a - b),
    Array.from({ length: 64 }, (_, n) => n + 1),
  );
  const mixed = await Promise.all(
    Array.from({ length: 64 }, (_, n) =>
      n % 2 === 0 ? put('filter[isbn]=m', {}) : send('POST', '/books', { body: { isbn: 'm' } }),
    ),
  );
  t.equal(mixed.filter(({ status }) => status === 201).length, 1);
  t.same(
    [...new Set(mixed.filter((_, n) => n % 2 === 0).map(({ status }) => status))].filter(
      (status) => status > 201,
    ),
    [],
  );
  t.equal((await send('GET', '/books?page=1&filter[isbn]=m')).json.meta.total, 1);
});

t.test('an upsert in a batch', async (t) => {
  const { send } = await service(t);
  const operation = { method: 'PUT', path: '/books?filter[isbn]=a', body: { title: 'x' } };
  t.match(await send('POST', '/batch', { body: [operation, operation] }), {
    status: 200,
    json: { results: [{ status: 201 }, { status: 200, body: { _version: 2 } }] },
  });
});

t.test('a user is created with a password', async (t) => {
  const { send } = await service(t);
  const put = (body: object) => send('PUT', '/users?filter[email]=a@example.org', { body });
  t.match(await put({ name: 'A', password: 'a long enough passphrase' }), {
    status: 201,
    json: { email: 'a@example.org' },
  });
  t.equal((await put({ name: 'B', password: 'another long passphrase' })).status, 200);
});

t.test('a caller writes no more than by POST and PUT', async (t) => {
  const as = callersOf(await service(t, { AUTH: 'api-key' }));
  const operator = await as('operator', 'users:write', 'notes:write', 'users:read');
  const user = async (name: string): Promise<string> =>
    (await operator('POST', '/users', { email: `${name}@example.org`, name })).json.id;
  const [ann, bob] = [await user('ann'), await user('bob')];
  const own = await as(ann, 'self');
  const of = (id: string) => `/notes?filter[userId]=${id}&filter[day]=1`;
  t.equal((await own('PUT', of(bob), {})).status, 422);
  t.equal((await own('PUT', of(ann), {})).status, 201);
  t.equal((await own('PUT', of(ann), {})).status, 200);
  t.equal((await operator('PUT', of(bob), {})).status, 201);
  t.equal((await own('PUT', of(bob), {})).status, 422);
  t.equal((await own('PUT', '/users?filter[email]=ann@example.org', { name: 'x' })).status, 403);
});
