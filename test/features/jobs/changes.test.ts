import { openTracker } from '../../access/open-tracker.js';
import { declare } from '../../support/collections.js';
import { freshService, type ServiceResponse, type TestService } from '../../support/service.js';
import type { Constants } from '../../support/settings.js';
import { openSql } from '../../support/sql.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';

const ASYNC = { prefer: 'respond-async' };
const JSON_PATCH = 'application/json-patch+json';

const CUPS = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', maxLength: 40, 'x-index': true },
    size: { type: 'integer', maximum: 100, 'x-index': true },
    code: { type: 'string', maxLength: 40, 'x-unique': true },
    marks: { type: 'array', items: { type: 'string' } },
    setId: { type: 'string', format: 'uuid', 'x-references': 'sets', 'x-on-delete': 'restrict' },
  },
};
const SETS = { type: 'object', properties: { name: { type: 'string', 'x-index': true } } };

const withCups = (t: Test, env: Record<string, string> = {}, constants: Constants = {}) => {
  const COLLECTIONS = declare(t, { 'cups.json': CUPS, 'sets.json': SETS });
  return freshService(t, { COLLECTIONS, MIGRATE: 'auto', ...env }, constants);
};

/** Creates cups whose sizes are 0 to 9. */
async function fill(service: TestService, count: number, more = {}): Promise<void> {
  const cups = Array.from({ length: count }, (_, n) =>
    JSON.stringify({ name: `n${n}`, size: n % 10, ...more }),
  );
  const type = 'application/x-ndjson';
  t.equal((await service.send('POST', '/cups', { type, body: cups.join('\n') })).status, 201);
}

type Send = (method: string, path: string) => Promise<ServiceResponse>;

/** The job of a response when it has ended. */
const ended = async (send: Send, { status, text, headers }: ServiceResponse) => {
  t.equal(status, 202, text);
  return until(
    'the job has ended',
    () => send('GET', headers.location!),
    ({ json }: ServiceResponse) => ['done', 'failed', 'cancelled'].includes(json.state),
  );
};

const totalOf = async (service: TestService, path: string): Promise<number> =>
  (await service.send('GET', `${path}&limit=1`)).json.meta.total;

t.test('a job changes and deletes more records than one request can', async (t) => {
  const service = await withCups(t);
  await fill(service, 2080, { marks: [] });
  const path = '/cups?filter[size][lt]=5';
  const patch = { type: JSON_PATCH, body: [{ op: 'add', path: '/marks/-', value: 'x' }] };
  t.match(await service.send('PATCH', path, patch), {
    status: 413,
    json: { error: { code: 'TOO_MANY_MATCHES', details: { limit: 1000 } } },
  });
  const accepted = await service.send('PATCH', path, { ...patch, headers: ASYNC });
  t.match(accepted, { status: 202, text: '', headers: { 'preference-applied': 'respond-async' } });
  t.match((await ended(service.send, accepted)).json, {
    ...{ kind: 'change', state: 'done', collection: 'cups', progress: { changed: 1040, refused: 0 } },
    report: { meta: { matched: 1040, changed: 1040, refused: 0, omitted: 0 }, faults: [] },
  });
  const marks = await querying(
    t,
    service,
  )`select doc::json->>'marks' as marks, count(*)::integer as number from cups group by 1 order by 1`;
  t.same(marks, [
    { marks: '["x"]', number: 1040 },
    { marks: '[]', number: 1040 },
  ]);
  const removal = await service.send('DELETE', '/cups?filter[size][gte]=5', { headers: ASYNC });
  t.match((await ended(service.send, removal)).json, { report: { meta: { matched: 1040, changed: 1040 } } });
  t.equal(await totalOf(service, '/cups?page=1'), 1040);
  const none = await service.send('DELETE', '/cups?filter[size]=99', { headers: ASYNC });
  t.match((await ended(service.send, none)).json, { report: { meta: { matched: 0, changed: 0 } } });
  const events = await service.db.run('select type, count(*)::integer as number from events group by 1', []);
  t.strictSame(
    new Map(events.map(({ type, number }) => [String(type).split('.').pop(), number])),
    new Map([
      ['created', 2080],
      ['updated', 1040],
      ['deleted', 1040],
    ]),
  );
});

t.test('a job reports the records that it refuses, and changes the others', async (t) => {
  const service = await withCups(t);
  await fill(service, 230, { marks: ['a'] });
  const ids = (await service.send('GET', '/cups?limit=2&page=1&sort=created_at')).json.data.map(
    ({ id }: { id: string }) => id,
  );
  const patch = (body: unknown, type = 'application/merge-patch+json') =>
    service.send('PATCH', '/cups?filter[size][gte]=0', { type, body, headers: ASYNC });
  const unique = (await ended(service.send, await patch({ code: 'one' }))).json;
  t.match(unique, {
    state: 'done',
    progress: { changed: 1, refused: 229 },
    report: {
      meta: { matched: 230, changed: 1, refused: 229, omitted: 129 },
      faults: [{ id: ids[1], pointer: '/code', code: 'DUPLICATE' }],
    },
  });
  t.equal(unique.report.faults.length, 100);
  const tested = [
    { op: 'test', path: '/size', value: 3 },
    { op: 'add', path: '/marks/-', value: 'b' },
  ];
  t.match((await ended(service.send, await patch(tested, JSON_PATCH))).json, {
    report: { meta: { changed: 23, refused: 207 }, faults: [{ code: 'PATCH_TEST_FAILED' }] },
  });
  t.match((await ended(service.send, await patch({ size: 101 }))).json, {
    report: { meta: { changed: 0, refused: 230 }, faults: [{ pointer: '/size', code: 'VALIDATION_ERROR' }] },
  });
  const [used, free] = await Promise.all(
    ['used', 'free'].map((name) => service.send('POST', '/sets', { body: { name } })),
  );
  await fill(service, 1, { setId: used!.json.id });
  const removal = await service.send('DELETE', '/sets?filter[name][in]=used,free', { headers: ASYNC });
  t.match((await ended(service.send, removal)).json, {
    report: { meta: { changed: 1, refused: 1 }, faults: [{ id: used!.json.id, code: 'REFERENCED' }] },
  });
  t.equal((await service.send('GET', `/sets/${free!.json.id}`)).status, 404);
});

t.test('a request that is not valid begins no job', async (t) => {
  const service = await withCups(t, { REQUIRE_IF_MATCH: 'on' }, { jobsPerCaller: 1 });
  await fill(service, 3);
  const match = { ...ASYNC, 'if-match': '*' };
  const send = (method: string, query: string, body?: unknown, type?: string, headers: object = match) =>
    service.send(method, `/cups${query}`, { body, type, headers } as never);
  const [query, patch] = ['?filter[size][gte]=0', { size: 1 }];
  for (const [status, response] of [
    [428, await send('PATCH', query, patch, undefined, ASYNC)],
    [428, await send('DELETE', query, undefined, undefined, ASYNC)],
    [400, await send('DELETE', query, undefined, undefined, { ...ASYNC, 'if-match': '"1"' })],
    [400, await send('PATCH', '?filter[wrong]=0', patch)],
    [405, await send('PATCH', '', patch)],
    [400, await send('PATCH', query, [patch])],
    [400, await send('PATCH', query, [{ op: 'add', path: 'size' }], JSON_PATCH)],
    [415, await send('PATCH', query, 'size=1', 'text/csv')],
    [
      400,
      await service.send('PATCH', '/users?filter[name]=x', {
        body: { password: 'x'.repeat(12) },
        headers: match,
      }),
    ],
  ] as [number, ServiceResponse][])
    t.equal(response.status, status, response.text);
  t.same((await service.send('GET', '/jobs')).json.data, []);
  t.match((await ended(service.send, await send('PATCH', query, patch))).json.report.meta, { changed: 3 });
  const late = { ...match, 'if-match': '*', 'if-unmodified-since': new Date(0).toUTCString() };
  t.match(
    (await ended(service.send, await send('PATCH', query, patch, undefined, late))).json.report.meta,
    {
      changed: 3,
    },
    'If-Match is above If-Unmodified-Since',
  );
});

t.test('an Idempotency-Key has one change, and a batch makes it at once', async (t) => {
  const service = await withCups(t);
  await fill(service, 3, { marks: [] });
  const body = [{ op: 'add', path: '/marks/-', value: 'x' }];
  const change = (more = {}) =>
    service.send('PATCH', '/cups?filter[size][gte]=0', {
      ...{ type: JSON_PATCH, body },
      headers: { ...ASYNC, 'idempotency-key': 'k', ...more },
    });
  const first = await change();
  await ended(service.send, first);
  t.match(await change(), {
    status: 202,
    headers: { 'idempotency-replayed': 'true', location: first.headers.location! },
  });
  t.equal((await service.send('GET', '/jobs')).json.data.length, 1);
  const operation = {
    ...{ method: 'PATCH', path: '/cups?filter[size][gte]=0', body },
    headers: { ...ASYNC, 'content-type': JSON_PATCH },
  };
  t.match(await service.send('POST', '/batch', { body: { operations: [operation] } }), {
    status: 200,
    json: { results: [{ status: 200, body: { meta: { matched: 3 } } }] },
  });
  for (const { marks } of (await service.send('GET', '/cups')).json) t.same(marks, ['x', 'x']);
});

/** A connection of the test. */
function querying(t: Test, service: TestService) {
  const sql = openSql(service.databaseUrl, { max: 1 });
  t.teardown(() => sql.end());
  return sql;
}

/** Holds the records of a table for which a condition is true, until the returned function is called. */
async function hold(t: Test, service: TestService, table: string, condition: string) {
  const sql = querying(t, service);
  await sql.unsafe('begin');
  await sql.unsafe(`select from ${table} where ${condition} for update`);
  const isAwaited = async () =>
    (
      await service.db.run(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        [],
      )
    ).length > 0;
  return {
    sql,
    awaited: () => until('the job waits', isAwaited, (is) => is),
    release: () => sql.unsafe('commit'),
  };
}

t.test('a record that matches no longer is not changed, and a cancelled job stops', async (t) => {
  const service = await withCups(t);
  await fill(service, 300);
  const held = await hold(t, service, 'cups', "doc::json->>'name' = 'n120'");
  const accepted = await service.send('PATCH', '/cups?filter[size][lt]=5', {
    body: { size: 50 },
    headers: ASYNC,
  });
  await held.awaited();
  t.match((await service.send('GET', accepted.headers.location!)).json, {
    state: 'running',
    progress: { changed: 50, refused: 0 },
  });
  await held.sql.unsafe(`update cups set size = 7 where doc::json->>'name' = 'n120'`);
  await held.release();
  t.match((await ended(service.send, accepted)).json.report.meta, { matched: 149, changed: 149 });
  const again = await hold(t, service, 'cups', "doc::json->>'name' = 'n120'");
  const next = await service.send('DELETE', '/cups?filter[size][gte]=0', { headers: ASYNC });
  await again.awaited();
  t.equal((await service.send('DELETE', next.headers.location!)).status, 204);
  await again.release();
  const job = (await ended(service.send, next)).json;
  t.match(job, { state: 'cancelled', progress: { changed: 100 } });
  // The next job waits for the transaction that was rolled back.
  await ended(service.send, await service.send('DELETE', '/cups?filter[size]=99', { headers: ASYNC }));
  t.equal(await totalOf(service, '/cups?page=1'), 200);
});

t.test('a job changes nothing after its user was deleted', async (t) => {
  const { service, operator, user } = await openTracker(t, {
    'open.json': {
      type: 'object',
      properties: { name: { type: 'string', 'x-index': true } },
      'x-collection': { access: [{ can: 'all', to: 'anyone' }] },
    },
  });
  const bob = await user('bob');
  const lines = Array.from({ length: 120 }, (_, n) => JSON.stringify({ name: `n${n}` })).join('\n');
  const type = { 'content-type': 'application/x-ndjson' };
  t.equal((await operator('POST', '/open', lines, type)).status, 201);
  const held = await hold(t, service, 'open', "doc::json->>'name' = 'n70'");
  const accepted = await bob.call('PATCH', '/open?filter[name][prefix]=n', { name: 'new' }, ASYNC);
  await held.awaited();
  t.equal((await operator('DELETE', `/users/${bob.id}`)).status, 204);
  await held.release();
  t.match((await ended(operator, accepted)).json, {
    state: 'failed',
    error: { status: 403, code: 'ACCESS_DENIED', message: /was deleted/ },
  });
  t.equal((await operator('GET', '/open?page=1&filter[name]=new')).json.meta.total, 50);
});

t.test('access rules permit each batch of a change as of its time', async (t) => {
  const { service, operator, made, user, stranger } = await openTracker(t, {
    'deals.json': {
      type: 'object',
      properties: { tenant: { type: 'string', 'x-index': true } },
      'x-collection': { access: [{ can: 'all', where: { tenant: '$claims.tenant' } }] },
    },
    'open.json': {
      type: 'object',
      properties: { name: { type: 'string', 'x-index': true } },
      'x-collection': { access: [{ can: 'all', to: 'anyone' }] },
    },
  });
  const [ann, bob] = [await user('ann'), await user('bob')];
  const [team, other] = [
    await made('/teams', { name: 'One', ownerId: ann.id }),
    await made('/teams', { name: 'Two', ownerId: ann.id }),
  ];
  const membership = await made('/memberships', { teamId: team, userId: bob.id, role: 'member' });
  const project = await made('/projects', { title: 'Roof', teamId: team });
  const foreign = await made('/projects', { title: 'Vault', teamId: other });
  for (let n = 0; n < 120; n++) await made('/issues', { title: `i${n}`, projectId: project, estimate: n });
  await made('/issues', { title: 'Robbery', projectId: foreign, estimate: 3 });
  const patch = (body: object) => bob.call('PATCH', '/issues?filter[estimate][gte]=0', body, ASYNC);
  t.match((await ended(bob.call, await patch({ text: 'one' }))).json.report.meta, {
    matched: 120,
    changed: 120,
  });
  t.match((await ended(bob.call, await patch({ secret: 'x' }))).json.report, {
    meta: { matched: 120, changed: 0, refused: 120 },
    faults: [{ code: 'FIELDS_DENIED' }],
  });
  const held = await hold(t, service, 'issues', "doc::json->>'title' = 'i70'");
  const accepted = await patch({ text: 'two' });
  await held.awaited();
  t.equal((await ann.call('GET', accepted.headers.location!)).status, 404);
  t.equal((await operator('DELETE', `/memberships/${membership}`)).status, 204);
  await held.release();
  t.match((await ended(bob.call, accepted)).json.report.meta, { matched: 50, changed: 50, refused: 0 });
  const { json } = await operator('GET', '/issues?filter[title][prefix]=i&page=2&limit=50&sort=created_at');
  t.same(new Set(json.data.map(({ text }: { text: string }) => text)), new Set(['one']));
  t.match(await operator('PATCH', '/deals?filter[tenant]=x', { tenant: 'y' }, ASYNC), {
    status: 400,
    json: { error: { message: /name claims/ } },
  });
  await made('/open', { name: 'a' });
  const list = await stranger('GET', '/open', undefined, { ...ASYNC, accept: 'application/x-ndjson' });
  t.match(list, { status: 200, text: /"name":"a"/ }, 'a job would have no principal');
  t.equal((await stranger('PATCH', '/open?filter[name]=a', { name: 'b' }, ASYNC)).status, 401);
});
