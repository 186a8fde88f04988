import { changeClock } from '../../src/actions/bulk.js';
import { openTracker } from '../access/open-tracker.js';
import { declare } from '../support/collections.js';
import { freshService, type TestService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

const JSON_PATCH = 'application/json-patch+json';
const CUPS = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', maxLength: 40, 'x-index': true },
    size: { type: 'integer', maximum: 100, 'x-index': true },
    code: { type: 'string', maxLength: 40, 'x-unique': true },
    marks: { type: 'array', items: { type: 'string' } },
    text: { type: 'string' },
    setId: { type: 'string', format: 'uuid', 'x-references': 'sets', 'x-on-delete': 'restrict' },
    partOf: { type: 'string', format: 'uuid', 'x-references': 'cups', 'x-on-delete': 'restrict' },
  },
};
const SETS = { type: 'object', properties: { name: { type: 'string', 'x-index': true } } };

const withCups = (t: Test, env: Record<string, string> = {}) =>
  freshService(t, {
    COLLECTIONS: declare(t, { 'cups.json': CUPS, 'sets.json': SETS }),
    MIGRATE: 'auto',
    ...env,
  });

/** Creates cups with sizes from 0 to 9. */
async function fill(service: TestService, count: number, more: object = {}): Promise<void> {
  const cups = Array.from({ length: count }, (_, n) =>
    JSON.stringify({ name: `n${n}`, size: n % 10, marks: [], ...more }),
  );
  const type = 'application/x-ndjson';
  t.equal((await service.send('POST', '/cups', { type, body: cups.join('\n') })).status, 201);
}

const totalOf = async (service: TestService, query = ''): Promise<number> =>
  (await service.send('GET', `/cups?page=1&limit=1${query}`)).json.meta.total;

t.test('statements change and delete many records, each with its event', async (t) => {
  const service = await withCups(t);
  await fill(service, 600);
  const sql = sqlOf(t, service.databaseUrl);
  const body = [{ op: 'add', path: '/marks/-', value: 'x' }];
  const headers = { prefer: 'respond-async' };
  const changed = await service.send('PATCH', '/cups?filter[size][lt]=5', {
    type: JSON_PATCH,
    body,
    headers,
  });
  t.match(changed, { status: 200, json: { meta: { matched: 300 } } });
  t.equal(changed.headers['preference-applied'], undefined, 'no job');
  t.same(
    await sql`select doc::json->>'marks' as marks, version, count(*)::integer as number from cups group by 1, 2 order by 1`,
    [
      { marks: '["x"]', version: 2, number: 300 },
      { marks: '[]', version: 1, number: 300 },
    ],
  );
  const [writes] =
    await sql`select count(distinct (xmin::text, cmin::text))::integer as number from cups where version = 2`;
  t.ok(writes!.number <= 60, `${writes!.number} statements have written 300 records`);
  t.match(await service.send('DELETE', '/cups?filter[size][gte]=5', { headers }), {
    json: { meta: { matched: 300 } },
  });
  t.match(await service.send('DELETE', '/cups?filter[size]=99'), { json: { meta: { matched: 0 } } });
  t.equal(await totalOf(service), 300);
  const events = await sql`select type, count(*)::integer as number from events group by 1 order by 1`;
  t.same(
    events.map(({ type, number }) => [type.split('.').pop(), number]),
    [
      ['created', 600],
      ['deleted', 300],
      ['updated', 300],
    ],
  );
  t.match(await service.send('GET', '/cups', { headers }), { status: 200 }, 'a list is its response');
});

t.test('one record that is refused leaves all as they were', async (t) => {
  const service = await withCups(t);
  await fill(service, 300);
  const { id: used } = (await service.send('POST', '/sets', { body: { name: 'used' } })).json;
  await service.send('POST', '/sets', { body: { name: 'free' } });
  await fill(service, 1, { name: 'last', size: 50, setId: used });
  const sql = sqlOf(t, service.databaseUrl);
  const stored = async () => JSON.stringify(await sql`select doc from cups union all select doc from sets`);
  const before = await stored();
  const all = '/cups?filter[size][gte]=0';
  const absent = '01900000-0000-7000-8000-000000000000';
  for (const [method, path, body, type, status, code] of [
    ['PATCH', all, { code: 'one' }, undefined, 409, 'DUPLICATE'],
    ['PATCH', all, { size: 101 }, undefined, 400, 'VALIDATION_ERROR'],
    ['PATCH', all, { setId: absent }, undefined, 422, 'SET_NOT_FOUND'],
    ['PATCH', all, [{ op: 'test', path: '/size', value: 3 }], JSON_PATCH, 409, 'PATCH_TEST_FAILED'],
    ['DELETE', '/sets?filter[name][in]=used,free', undefined, undefined, 409, 'REFERENCED'],
  ] as const) {
    const found = await service.send(method, path, { body, type } as never);
    t.match([found.status, found.json.error.code], [status, code], found.text);
    t.equal(await stored(), before, `${method} ${path} ${JSON.stringify(body)}`);
  }
});

t.test('records that refer to each other are deleted in an order that permits it', async (t) => {
  const service = await withCups(t);
  const make = async (more: object) =>
    (await service.send('POST', '/cups', { body: { name: 'a', size: 1, ...more } })).json.id as string;
  let last = await make({});
  for (let n = 0; n < 300; n++) last = await make({ partOf: last });
  t.match(await service.send('DELETE', '/cups?filter[size]=1'), { json: { meta: { matched: 301 } } });
  const [first, second] = [await make({}), await make({})];
  for (const [id, partOf] of [
    [first, second],
    [second, first],
  ])
    t.equal((await service.send('PATCH', `/cups/${id}`, { body: { partOf } })).status, 200);
  await make({ size: 2, partOf: first });
  t.equal((await service.send('DELETE', '/cups?filter[size]=1')).status, 409);
  t.equal(await totalOf(service), 3);
});

t.test('changes that take too long are undone, and go on by id', async (t) => {
  const service = await withCups(t, { DB_TIMEOUT_MS: '600000' });
  await fill(service, 300);
  const ids = (await sqlOf(t, service.databaseUrl)`select id from cups order by id`).map(
    ({ id }) => id as string,
  );
  // The first request is late when its fourth statement begins.
  let looks = 0;
  const { now } = changeClock;
  t.teardown(() => Object.assign(changeClock, { now }));
  changeClock.now = () => (++looks === 5 ? 600_000 : 0);
  const path = '/cups?filter[size][gte]=0';
  const change = (more = '') => service.send('PATCH', path + more, { body: { text: 'new' } });
  const refused = await change();
  t.match(refused, { status: 413, json: { error: { code: 'TOO_MANY_MATCHES' } } });
  const { limit, last } = refused.json.error.details;
  t.equal(last, ids[limit - 1]);
  t.ok(limit > 0 && limit < 300, refused.text);
  t.match(refused.json.error.message, new RegExp(`filter\\[id\\]\\[lte\\]=${last}`));
  t.notMatch((await service.send('GET', '/cups?limit=1&page=1')).text, /new/);
  t.match(await change(`&filter[id][lte]=${last}`), { json: { meta: { matched: limit } } });
  t.match(await change(`&filter[id][gt]=${last}`), { json: { meta: { matched: 300 - limit } } });
});

t.test('large records are changed and deleted together', async (t) => {
  const service = await withCups(t);
  for (let n = 0; n < 20; n++)
    await service.send('POST', '/cups', { body: { name: 'a', size: n % 2, text: 'x'.repeat(100_000 + n) } });
  t.match(await service.send('PATCH', '/cups?filter[name]=a', { body: { name: 'b' } }), {
    json: { meta: { matched: 20 } },
  });
  t.equal(await totalOf(service, '&filter[name]=b'), 20);
  t.match(await service.send('DELETE', '/cups?filter[size]=1'), { json: { meta: { matched: 10 } } });
});

/** Holds the records of a table for which a condition is true, until `release`. */
async function hold(t: Test, service: TestService, table: string, condition: string) {
  const sql = sqlOf(t, service.databaseUrl);
  await sql.unsafe('begin');
  await sql.unsafe(`select from ${table} where ${condition} for update`);
  const waits =
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  return {
    sql,
    awaited: () =>
      until(
        'the request waits',
        () => service.db.run(waits, []),
        (waiting) => waiting.length > 0,
      ),
    release: () => sql.unsafe('commit'),
  };
}

t.test('a record that matches no longer when it is locked is neither changed nor deleted', async (t) => {
  const service = await withCups(t);
  await fill(service, 40);
  for (const [method, body] of [['PATCH', { text: 'new' }], ['DELETE']] as const) {
    const held = await hold(t, service, 'cups', "name = 'n12' or doc::json->>'name' = 'n12'");
    const sent = service.send(method, '/cups?filter[size]=2', { body });
    await held.awaited();
    await held.sql.unsafe(`update cups set size = 7 where doc::json->>'name' = 'n12'`);
    await held.release();
    t.match(await sent, { status: 200, json: { meta: { matched: 3 } } }, method);
    await held.sql.unsafe(`update cups set size = 2 where doc::json->>'name' = 'n12'`);
  }
  t.same(
    await sqlOf(t, service.databaseUrl)`select doc::json->>'name' as name, version from cups where size = 2`,
    [{ name: 'n12', version: 1 }],
  );
});

t.test('access rules permit all changes, as of their transaction, or none', async (t) => {
  const { service, operator, made, user } = await openTracker(t);
  const [ann, bob] = [await user('ann'), await user('bob')];
  const [team, other] = [
    await made('/teams', { name: 'One', ownerId: ann.id }),
    await made('/teams', { name: 'Two', ownerId: ann.id }),
  ];
  const membership = await made('/memberships', { teamId: team, userId: bob.id, role: 'member' });
  const project = await made('/projects', { title: 'Roof', teamId: team });
  const foreign = await made('/projects', { title: 'Vault', teamId: other });
  const lines = Array.from({ length: 300 }, (_, n) =>
    JSON.stringify({ title: `i${n}`, projectId: project, estimate: n }),
  );
  const type = { 'content-type': 'application/x-ndjson' };
  t.equal((await operator('POST', '/issues', lines.join('\n'), type)).status, 201);
  await made('/issues', { title: 'Robbery', projectId: foreign, estimate: 3 });
  const change = (body: object, by = bob) => by.call('PATCH', '/issues?filter[estimate][gte]=0', body);
  const sql = sqlOf(t, service.databaseUrl);
  const written = async () => {
    const [row] =
      await sql`select count(*)::integer as number, count(distinct (xmin::text, cmin::text))::integer as statements from issues where version > 1`;
    return row as unknown as { number: number; statements: number };
  };
  t.match(await change({ secret: 'x' }), { status: 403, json: { error: { code: 'FIELDS_DENIED' } } });
  t.match(await change({ projectId: foreign }), { status: 422 });
  t.equal((await written()).number, 0);
  t.match(await change({ text: 'one' }), { status: 200, json: { meta: { matched: 300 } } });
  const { number, statements } = await written();
  t.equal(number, 300);
  t.ok(statements <= 60, `${statements} statements have written 300 records`);
  const held = await hold(t, service, 'issues', "doc::json->>'title' = 'i70'");
  const late = change({ text: 'two' });
  await held.awaited();
  t.equal((await operator('DELETE', `/memberships/${membership}`)).status, 204);
  await held.release();
  t.match(await late, { status: 200, json: { meta: { matched: 0 } } }, 'the rules as of the lock decide');
  t.notMatch((await operator('GET', '/issues?page=1&limit=100')).text, /two/);
});
