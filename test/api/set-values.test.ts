import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { callersOf } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { testService, undeclaredDatabase } from '../support/service.js';
import t from '../support/test.js';
import { CHANGED, CREATED, callers, TIME, ticketService } from '../support/tickets.js';

type Body = Readonly<Record<string, unknown>>;

const V7 = '01900000-0000-7000-8000-00000000000';
let made = 0;
const freshId = () => {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${V7.slice(15, 23)}-${String(++made).padStart(12, '0')}`;
};

t.test('the service sets the caller and the time in every kind of write', async (t) => {
  const { ann, bob, projectId } = await callers(t);
  const ticket = (title: string, more: Body = {}) => ({ title, projectId, ...more });
  const created = await ann('POST', '/tickets', ticket('post'));
  t.match(created, { status: 201, json: CREATED });
  const path = `/tickets/${created.json.id}`;
  t.match(await ann('POST', `/projects/${projectId}/tickets`, { title: 'nested' }), {
    status: 201,
    json: { ...CREATED, projectId },
  });
  t.match(
    await ann('PUT', `/tickets/${freshId()}`, ticket('id'), { 'if-none-match': '*' }),
    { status: 201, json: CREATED },
    'PUT with an id of the client',
  );
  t.match(await ann('PUT', '/tickets?filter[title]=upsert', { projectId }), { status: 201, json: CREATED });
  t.match(await bob('PUT', '/tickets?filter[title]=upsert', { projectId }), { status: 200, json: CHANGED });
  t.match(await bob('PUT', path, ticket('put')), { status: 200, json: CHANGED });
  t.match(await ann('PATCH', path, { status: 'a' }), { status: 200, json: CREATED });
  const merge = { 'content-type': 'application/merge-patch+json' };
  t.match(await bob('PATCH', path, { status: 'b' }, merge), { status: 200, json: CHANGED });
  const pointers = { 'content-type': 'application/json-patch+json' };
  const operations = [
    { op: 'test', path: '/createdBy', value: 'ann' },
    { op: 'add', path: '/status', value: 'c' },
  ];
  t.match(await ann('PATCH', path, operations, pointers), { status: 200, json: CREATED });
  t.equal((await bob('PATCH', '/tickets?filter[title]=put', { status: 'd' })).status, 200);
  const bulk = (await ann('GET', path)).json;
  t.match(bulk, { ...CHANGED, status: 'd' });
  t.ok(bulk.changedAt > created.json.changedAt);
  t.equal(bulk.createdAt, created.json.createdAt);
  const batch = await ann('POST', '/batch', [
    { method: 'POST', path: '/tickets', body: ticket('batch') },
    { method: 'PATCH', path, body: { status: 'e' } },
  ]);
  t.match(batch.json.results, [
    { status: 201, body: CREATED },
    { status: 200, body: CREATED },
  ]);
  const key = { 'idempotency-key': 'one' };
  const first = await bob('POST', '/tickets', ticket('replayed'), key);
  const again = await bob('POST', '/tickets', ticket('replayed'), key);
  t.match(again, { status: 201, headers: { 'idempotency-replayed': 'true' } });
  t.same(again.json, first.json, 'a repeat has the values of the first request');
  const together = await Promise.all(
    Array.from({ length: 40 }, (_, n) => (n % 2 ? ann : bob)('POST', '/tickets', ticket(`t${n}`))),
  );
  t.same(
    together.map(({ json }) => json.createdBy),
    Array.from({ length: 40 }, (_, n) => (n % 2 ? 'ann' : 'bob')),
  );
  t.equal((await ann('GET', '/tickets?page=1&filter[createdBy]=bob')).json.meta.total, 21);
});

t.test('clients do not set what the service sets, and may send back what they have read', async (t) => {
  const { ann, bob, projectId } = await callers(t);
  const refused = (field: string) => ({
    status: 400,
    json: {
      error: { code: 'VALIDATION_ERROR' },
      errors: [{ path: `/${field}`, message: 'is read-only: the service sets it', keyword: 'readOnly' }],
    },
  });
  const body = { title: 'a', projectId };
  const created = await ann('POST', '/tickets', { ...body, createdBy: null });
  t.equal(created.status, 201);
  const { json: record } = created;
  const path = `/tickets/${record.id}`;
  const none = { 'if-none-match': '*' };
  const pointers = { 'content-type': 'application/json-patch+json' };
  for (const field of ['createdBy', 'createdAt', 'changedBy', 'changedAt']) {
    const given = { [field]: '2020-01-01T00:00:00.000Z' };
    const own = { ...body, title: 'b', ...given };
    t.match(await ann('POST', '/tickets', own), refused(field), 'POST');
    t.match(await ann('POST', `/projects/${projectId}/tickets`, own), refused(field), 'nested');
    t.match(await ann('PUT', `/tickets/${freshId()}`, own, none), refused(field), 'PUT to create');
    t.match(await ann('PUT', '/tickets?filter[title]=b', own), refused(field), 'upsert');
    t.match(await ann('PUT', path, own), refused(field), 'PUT');
    t.match(await ann('PATCH', path, given), refused(field), 'PATCH');
    t.match(
      await ann('PATCH', path, [{ op: 'remove', path: `/${field}` }], pointers),
      refused(field),
      'JSON Patch',
    );
    t.match(await ann('PATCH', '/tickets?filter[title]=a', given), refused(field), 'bulk');
    const operation = { method: 'PATCH', path, body: given };
    const batch = await ann('POST', '/batch', [operation]);
    t.match(batch, { status: 400, json: { error: { details: { operation: 0 } } } });
    t.match(batch.text, JSON.stringify(refused(field).json.errors[0]));
  }
  t.match(await bob('PUT', path, { ...record, status: 'put' }), { status: 200, json: CHANGED });
  t.match(
    await ann('PUT', path, { ...record, status: 'put' }),
    { status: 409, json: { error: { code: 'VERSION_CONFLICT' } } },
    'an outdated version precedes what it has',
  );
  t.match(await ann('PUT', path, record, { 'if-match': '"1"' }), { status: 412 });
  const { json: present } = await ann('GET', path);
  t.match(await ann('PATCH', path, { ...present, status: 'patch' }), { status: 200, json: CREATED });
  t.equal((await ann('PUT', `/tickets/${freshId()}`, record)).status, 404);
});

t.test('an immutable field is set with its record', async (t) => {
  const { ann, projectId } = await callers(t);
  const { json: record } = await ann('POST', '/tickets', { title: 'a', projectId, kind: ' Bug' });
  t.equal(record.kind, 'bug');
  const path = `/tickets/${record.id}`;
  const refused = (...fields: string[]) => ({
    status: 400,
    json: {
      errors: fields.map((field) => ({
        path: `/${field}`,
        message: 'cannot change after the creation',
        keyword: 'immutable',
      })),
    },
  });
  const other: string = (await ann('POST', '/projects', { name: 'two' })).json.id;
  t.match(await ann('PATCH', path, { kind: 'task' }), refused('kind'));
  t.match(await ann('PATCH', path, { projectId: other, kind: null }), refused('projectId', 'kind'));
  t.match(await ann('PUT', path, { title: 'a', projectId }), refused('kind'));
  t.match(
    await ann('PUT', '/tickets?filter[title]=a', { projectId: other, kind: 'bug' }),
    refused('projectId'),
  );
  t.match(await ann('PATCH', '/tickets?filter[title]=a', { kind: 'task' }), refused('kind'));
  const pointers = { 'content-type': 'application/json-patch+json' };
  t.match(await ann('PATCH', path, [{ op: 'remove', path: '/kind' }], pointers), refused('kind'));
  const same = { title: 'b', projectId: projectId.toUpperCase(), kind: 'BUG ' };
  t.match(await ann('PUT', path, same), { status: 200, json: { kind: 'bug', projectId } });
  t.equal((await ann('PATCH', path, { ...same, title: 'c' })).status, 200);
  const plain = await ann('POST', '/tickets', { title: 'plain', projectId });
  t.match(await ann('PATCH', `/tickets/${plain.json.id}`, { kind: 'bug' }), refused('kind'));
});

t.test('a caller is a user, another one, or unknown', async (t) => {
  const { as } = await ticketService(t, { AUTH: 'api-key' });
  const operator = await as('operator');
  const user: string = (await operator('POST', '/users', { email: 'a@example.org', name: 'A' })).json.id;
  const own = await as(user.toUpperCase(), 'comments:write');
  const created = await own('POST', '/comments', { text: 'mine' });
  t.match(created, { status: 201, json: { authorId: user } }, 'without the permission to read users');
  t.match(await own('PATCH', `/comments/${created.json.id}`, { text: 'x' }), { status: 200 });
  const other = await operator('POST', '/comments', { text: 'by an operator' });
  t.equal(other.status, 201);
  t.notOk('authorId' in other.json, 'the subject is not the id of a user');
  const gone = await as('01900000-0000-7000-8000-000000000000');
  t.match(await gone('POST', '/comments', { text: 'x' }), {
    status: 422,
    json: { error: { code: 'USER_NOT_FOUND', details: { path: '/authorId' } } },
  });
  t.equal((await operator('DELETE', `/users/${user}`)).status, 204);
  t.notOk('authorId' in (await operator('GET', `/comments/${created.json.id}`)).json);

  const open = await ticketService(t);
  const projectId: string = (await open.send('POST', '/projects', { body: {} })).json.id;
  const unknown = await open.send('POST', '/tickets', { body: { title: 'a', projectId } });
  t.match(unknown, { status: 201, json: { createdAt: TIME, changedAt: TIME } });
  for (const field of ['createdBy', 'changedBy']) t.notOk(field in unknown.json, 'with AUTH=none');
});

t.test('an import retains the values that it has, and sets the time of the others', async (t) => {
  const { ann, send, projectId, COLLECTIONS, databaseUrl } = await callers(t);
  const { json: record } = await ann('POST', '/tickets', { title: 'a', projectId });
  const env = { COLLECTIONS, DATABASE_URL: databaseUrl };
  const { out: exported } = await plinth(t, ['export', 'tickets'], env);
  t.equal((await ann('DELETE', `/tickets/${record.id}`)).status, 204);
  const file = join(COLLECTIONS, 'tickets.ndjson');
  writeFileSync(file, exported);
  t.equal((await plinth(t, ['import', 'tickets', file, '--keep-ids'], env)).code, 0);
  const { _links, ...fields } = record;
  t.match((await ann('GET', `/tickets/${record.id}`)).json, fields);
  const others = join(COLLECTIONS, 'others.csv');
  writeFileSync(others, `title,projectId,createdBy\nb,${projectId},carl\nc,${projectId},\n`);
  t.equal((await plinth(t, ['import', 'tickets', others], env)).code, 0);
  const [b] = (await ann('GET', '/tickets?page=1&filter[title]=b')).json.data;
  t.match(b, { createdBy: 'carl', createdAt: TIME, changedAt: TIME });
  const [c] = (await ann('GET', '/tickets?page=1&filter[title]=c')).json.data;
  t.match(c, { createdAt: TIME, changedAt: TIME });
  t.notOk('createdBy' in c || 'changedBy' in c, 'an import has no caller');
  t.equal((await send('GET', '/tickets')).status, 401);
});

t.test('a field with a condition is set when it begins to hold, and removed when it ends', async (t) => {
  const time = { type: 'string', format: 'date-time' };
  const closed = { status: ['closed', 'rejected'] };
  const doors = {
    type: 'object',
    properties: {
      title: { type: 'string' },
      status: { type: 'string', enum: ['open', 'closed', 'rejected'], default: 'open' },
      closedAt: { ...time, 'x-set': { value: '$now', when: closed }, 'x-index': true },
      closedBy: { type: 'string', 'x-set': { value: '$caller', when: closed } },
      openedAt: { ...time, 'x-set': { value: '$now', when: { status: 'open' } } },
      lockedBy: { type: 'string', 'x-set': { value: '$caller', when: { status: 'closed', locked: true } } },
      locked: { type: 'boolean' },
    },
    'x-collection': { list: 'page' },
  };
  const COLLECTIONS = declare(t, { 'doors.json': doors } as never);
  const env = { AUTH: 'api-key', COLLECTIONS, DATABASE_URL: await undeclaredDatabase(t) };
  const as = callersOf(await testService(t, env));
  const [ann, bob] = [await as('ann'), await as('bob')];
  const none = { closedAt: undefined, closedBy: undefined, lockedBy: undefined };
  const created = await ann('POST', '/doors', { title: 'a' });
  t.match(created, { status: 201, json: { ...none, openedAt: TIME } }, 'a default is a value as well');
  const path = `/doors/${created.json.id}`;
  const first = (await ann('PATCH', path, { status: 'closed' })).json;
  t.match(first, { closedAt: TIME, closedBy: 'ann', openedAt: undefined, lockedBy: undefined });
  const { closedAt } = first;
  for (const [method, body] of [
    ['PATCH', { title: 'b' }],
    ['PATCH', { status: 'rejected' }],
    ['PUT', { title: 'c', status: 'closed' }],
    ['PUT', { ...first, title: 'd', _version: undefined }],
  ] as const)
    t.match(
      (await bob(method, path, body)).json,
      { closedAt, closedBy: 'ann' },
      'it remains while the condition holds',
    );
  t.match((await bob('PATCH', path, { locked: true })).json, { closedAt, lockedBy: 'bob' });
  t.equal((await bob('PATCH', path, { closedAt: null })).status, 400);
  t.equal((await bob('PUT', path, { status: 'closed', closedBy: 'bob' })).status, 400);
  t.equal((await bob('POST', '/doors', { status: 'closed', closedBy: 'bob' })).status, 400);
  t.match((await bob('PATCH', path, { status: 'open' })).json, { ...none, openedAt: TIME });
  t.match(
    (await bob('GET', '/doors?filter[closedAt][null]=true')).json,
    { meta: { total: 1 } },
    'its column as well',
  );
  const again = (await bob('PUT', path, { status: 'closed' })).json;
  t.match(again, { closedBy: 'bob' });
  t.ok(again.closedAt >= closedAt);
  t.match(await ann('POST', '/batch', [{ method: 'POST', path: '/doors', body: { status: 'rejected' } }]), {
    json: { results: [{ body: { closedBy: 'ann', closedAt: TIME } }] },
  });
  const file = join(COLLECTIONS, 'doors.ndjson');
  writeFileSync(file, '{"title":"old","status":"closed","closedAt":"2020-01-01T00:00:00.000Z"}\n');
  t.equal((await plinth(t, ['import', 'doors', file], env)).code, 0);
  const [old] = (await ann('GET', '/doors?filter[closedAt][lt]=2021-01-01T00:00:00Z')).json.data;
  t.match(old, { title: 'old', closedBy: undefined });
});
