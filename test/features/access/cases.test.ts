import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import type { JsonObject } from '../../../src/json.js';
import { TEAM_TRACKER } from '../../access/team-tracker.js';
import { declare } from '../../support/collections.js';
import { plinth } from '../../support/command.js';
import { withAccess } from '../../support/declared.js';
import { dataFolder } from '../../support/process.js';
import { testDatabase } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { notInDefault } from '../../support/thorough.js';

const RECORDS: JsonObject = {
  users: {
    ann: { name: 'Ann', email: 'ann@example.org' },
    bob: { name: 'Bob', email: 'bob@example.org', password: 'correct horse battery staple' },
    eve: { id: '019a7c5e-0000-7000-8000-000000000001', name: 'Eve', email: 'eve@example.org' },
  },
  teams: { one: { name: 'One', ownerId: '{ann}' } },
  memberships: {
    owner: { teamId: '{one}', userId: '{ann}', role: 'owner' },
    guest: { teamId: '{one}', userId: '{bob}', role: 'guest' },
  },
  projects: { roof: { title: 'Roof', teamId: '{one}' } },
  issues: {
    leak: { title: 'Leak', projectId: '{roof}', secret: 'key' },
    mould: { title: 'Mould', projectId: '{roof}', status: 'closed' },
  },
  comments: { first: { text: 'wet', issueId: '{leak}', authorId: '{bob}' } },
};

async function open(t: Test, declarations: Readonly<Record<string, JsonObject>> = TEAM_TRACKER) {
  const cwd = await dataFolder(t);
  const env = { DATABASE_URL: await testDatabase(t), COLLECTIONS: declare(t, declarations) };
  const sql = postgres(env.DATABASE_URL, { max: 1 });
  t.teardown(() => sql.end());
  return {
    sql,
    env,
    run: (content: unknown, ...args: string[]) => {
      writeFileSync(
        join(cwd, 'access.test.json'),
        typeof content === 'string' ? content : JSON.stringify(content),
      );
      return plinth(t, ['access', 'test', ...args], env, { cwd });
    },
  };
}

t.test('cases of callers, requests and outcomes hold, and each finds the given records', async (t) => {
  const { run, sql } = await open(t);
  const shown = ['assigneeId', 'blockedById', 'estimate', 'projectId', 'status', 'text', 'title'];
  const isShown = (field: string) => ['title', 'projectId', 'status'].includes(field);
  const cases = [
    { as: 'anonymous', request: 'GET /issues', expect: { status: 401, code: 'UNAUTHORIZED' } },
    { as: 'anonymous', request: 'GET /nothing', expect: { status: 404, code: 'NOT_FOUND' } },
    { as: 'ann', request: 'GET /issues', expect: { status: 200, ids: ['mould', 'leak'] } },
    { as: 'eve', request: 'GET /issues?limit=5', expect: { status: 200, ids: [], fields: [] } },
    {
      as: 'ann',
      request: 'GET /projects/{roof}/issues?filter[status]=closed',
      expect: { status: 200, ids: ['mould'] },
    },
    {
      as: 'bob',
      request: 'GET /issues/{leak}',
      expect: { status: 200, ids: ['leak'], fields: shown.filter(isShown) },
    },
    {
      as: 'bob',
      request: 'PATCH /issues/{leak}',
      body: { title: 'x' },
      expect: { status: 403, code: 'ACCESS_DENIED' },
    },
    { as: 'ann', request: 'DELETE /issues/{leak}', expect: 204 },
    { as: 'ann', request: 'GET /issues/{leak}', expect: 200 },
    { as: 'ann', request: 'DELETE /teams/{one}', expect: 204 },
    {
      as: 'ann',
      request: 'POST /issues',
      body: { title: 'New', projectId: '{roof}', secret: 'mine' },
      expect: { status: 201, fields: ['title', 'projectId', 'secret', 'status'] },
    },
    {
      as: 'member',
      request: 'PATCH /issues/{leak}',
      headers: { 'Content-Type': 'application/merge-patch+json' },
      body: { secret: 'other', title: 'x' },
      expect: { status: 403, code: 'ACCESS_DENIED' },
    },
    {
      as: { subject: 'root', scopes: 'admin' },
      request: 'GET /memberships',
      expect: { status: 200, ids: ['guest', 'owner'] },
    },
    {
      as: { subject: 'reports', scopes: 'users:read' },
      request: 'GET /issues',
      expect: { status: 403, code: 'INSUFFICIENT_SCOPE' },
    },
    { as: 'bob', request: 'PATCH /users/{bob}', body: { name: 'Rob, {bob}' }, expect: 200 },
    {
      as: 'eve',
      request: 'QUERY /issues',
      body: { filter: { projectId: '{roof}' } },
      expect: { status: 200, ids: [] },
    },
  ];
  const given = { records: RECORDS, callers: { member: { user: 'bob', scopes: 'self' } }, cases };
  t.same(await run(given), { code: 0, out: `${cases.length} passed, 0 failed\n`, err: '' });
  const left = await sql`select datname from pg_database where datname like '%access_test'`;
  t.same([...left], [], 'the database of the test is dropped');
  const [{ count }] = (await sql`select count(*)::integer from events`) as unknown as [{ count: number }];
  t.equal(count, 0, 'the operator has no new events');
});

t.test('claims, and callers without a credential, are cases as well', async (t) => {
  const read = { can: 'read', where: { region: { in: '$claims.regions' } } };
  const { run } = await open(t, {
    'offices.json': withAccess({ region: { type: 'string', 'x-index': true }, note: { type: 'string' } }, [
      read,
      { can: 'read', to: 'anyone', fields: ['region'] },
    ]),
  });
  const result = await run({
    records: { offices: { north: { region: 'n', note: 'a' }, south: { region: 's', note: 'b' } } },
    callers: { north: { subject: 'x', scopes: 'offices:read', claims: { regions: ['n'] } } },
    cases: [
      { as: 'north', request: 'GET /offices/{north}', expect: { status: 200, fields: ['region', 'note'] } },
      { as: 'north', request: 'GET /offices/{south}', expect: { status: 200, fields: ['region'] } },
      {
        as: 'anonymous',
        request: 'GET /api/v2/offices',
        expect: { status: 200, ids: ['north', 'south'], fields: ['region'] },
      },
    ],
  });
  t.same(result, { code: 0, out: '3 passed, 0 failed\n', err: '' });
});

t.test('a case with another outcome is printed with the rules that led to it', async (t) => {
  const { run } = await open(t);
  const content = {
    records: RECORDS,
    cases: [
      { name: 'guests edit', as: 'bob', request: 'PATCH /issues/{leak}', body: { title: 'x' }, expect: 200 },
      { as: 'bob', request: 'GET /issues', expect: { status: 200, ids: ['leak'] } },
      {
        as: 'ann',
        request: 'PATCH /issues/{leak}',
        body: { secret: 'y' },
        expect: { status: 403, code: 'FIELDS_DENIED', denied: ['secret'] },
      },
      { as: 'bob', request: 'POST /issues', body: { title: 'x', projectId: '{roof}' }, expect: 201 },
      { as: 'bob', request: 'GET /issues', expect: 200 },
    ],
  };
  const { code, out, err } = await run(content);
  t.same([code, err], [1, '']);
  const owners =
    '      {"project":{"team":{"memberships":{"some":{"userId":"$caller","role":{"in":["owner"]}}}}}}\n';
  t.match(
    out,
    'failed /cases/0 guests edit (bob: PATCH /issues/{leak})\n  expected {"status":200}\n  got      {"status":403,"code":"ACCESS_DENIED"}\n  read: permitted (',
  );
  t.match(
    out,
    '  update: not permitted\n    /x-collection/access/2: the record does not fulfil its conditions\n',
  );
  t.match(out, owners);
  t.match(
    out,
    'failed /cases/1 (bob: GET /issues)\n  expected {"status":200,"ids":["leak"]}\n  got      {"status":200,"ids":["leak","mould"]}\n  read: permitted',
  );
  t.match(
    out,
    'failed /cases/2 (ann: PATCH /issues/{leak})\n  expected {"status":403,"code":"FIELDS_DENIED","denied":["secret"]}\n  got      {"status":200}\n',
  );
  t.match(
    out,
    'failed /cases/3 (bob: POST /issues)\n  expected {"status":201}\n  got      {"status":403,"code":"ACCESS_DENIED"}\n  create: the record decides\n    /x-collection/access/2: depends on the record\n',
  );
  t.ok(out.endsWith('\n1 passed, 4 failed\n'));
  const json = await run(content, '--json');
  t.equal(json.code, 1);
  t.match(JSON.parse(json.out), {
    passed: 1,
    failed: [
      {
        case: '/cases/0',
        expected: { status: 200 },
        actual: { status: 403 },
        explanation: [{ verb: 'read' }, { verb: 'update', permitted: false }],
      },
      { case: '/cases/1' },
      { case: '/cases/2' },
      { case: '/cases/3' },
    ],
  });
});

t.test('each fault of a file is named by its place', async (t) => {
  const { run } = await open(t);
  const one = { as: 'anonymous', request: 'GET /issues', expect: 200 };
  for (const [content, ...faults] of [
    ['{', /access\.test\.json#: is not JSON/],
    [{}, /access\.test\.json#: must have required property 'cases'/],
    [{ cases: [] }, /#\/cases: must NOT have fewer than 1 items/],
    [{ cases: Array(1001).fill(one) }, /#\/cases: must NOT have more than 1000 items/],
    [
      { cases: [{ ...one, expect: { code: 'X' } }] },
      /#\/cases\/0\/expect: must have required property 'status'/,
    ],
    [{ cases: [{ ...one, request: 'LOOK /' }] }, /#\/cases\/0\/request: must match pattern/],
    [{ cases: [{ ...one, when: 1 }] }, /#\/cases\/0\/when: is not a known option/],
    [{ cases: [{ ...one, as: 'bib' }] }, /#\/cases\/0\/as: there is no caller and no record bib/],
    [{ cases: [{ ...one, as: {} }] }, /#\/cases\/0\/as: needs either user or subject/],
    [
      { cases: [one, { ...one, request: 'GET /issues/{lack}' }] },
      /#\/cases\/1\/request: there is no record lack/,
    ],
    [
      { records: { '{a}': {}, things: { '1': {} } }, cases: [one] },
      /#\/records\/\{a\}: its name must match pattern/,
      /#\/records\/things\/1: its name must match pattern/,
    ],
    [
      { records: { things: { a: { id: 'x' } } }, cases: [one] },
      /#\/records\/things\/a\/id: must match pattern/,
    ],
    [
      { records: { things: { a: {} } }, cases: [one] },
      /#\/records\/things\/a: there is no collection things/,
    ],
    [
      { records: { users: { a: {} }, teams: { a: {} } }, cases: [one] },
      /#\/records\/teams\/a: another record has its name/,
    ],
    [
      {
        records: { teams: Object.fromEntries([...Array(1001).keys()].map((at) => [`t${at}`, {}])) },
        cases: [one],
      },
      /#\/records\/teams: must NOT have more than 1000 properties/,
    ],
    [
      { records: { issues: { a: { title: 'x', blockedById: '{b}' }, b: { title: 'y' } } }, cases: [one] },
      /#\/records\/issues\/a: \/blockedById must be a UUID/,
    ],
    [
      { records: { issues: { a: { title: 3 } } }, cases: [one] },
      /#\/records\/issues\/a: \/title must be of type string/,
    ],
    [
      { records: { issues: { a: { title: 'x', projectId: '{roof}' } } }, cases: [one] },
      /#\/records\/issues\/a: .*project/i,
    ],
  ] as [unknown, ...RegExp[]][]) {
    const { code, out, err } = await run(content);
    t.same([code, out], [64, ''], err);
    for (const fault of faults) t.match(err, fault);
  }
  t.match(await run({ cases: [one] }, 'other.json'), { code: 64, err: /other\.json cannot be read/ });
  t.equal((await run({ cases: [one] }, 'a', 'b')).code, 64);
});

t.test('what a killed run has left is replaced, unless it is in use', { skip: notInDefault }, async (t) => {
  const { run, sql, env } = await open(t);
  const given = { cases: [{ as: 'anonymous', request: 'GET /issues', expect: 401 }] };
  await sql.unsafe('create database plinth_temporary_access_test');
  const url = new URL(env.DATABASE_URL);
  url.pathname = '/plinth_temporary_access_test';
  const other = postgres(url.href, { max: 1 });
  await other`select 1`;
  const refused = await run(given);
  await other.end();
  t.match(refused, { code: 1, err: /is being accessed by other users: .* a server without another run/ });
  t.equal((await run(given)).code, 0);
  const left = await sql`select datname from pg_database where datname like '%access_test'`;
  t.same([...left], []);
});

t.test('a role that may not create a database is refused', async (t) => {
  const { run, sql, env } = await open(t);
  const role = `limited_${process.pid}`;
  await sql.unsafe(`create role ${role} login password 'limited'`);
  t.teardown(() => sql.unsafe(`drop role ${role}`));
  const url = new URL(env.DATABASE_URL);
  [url.username, url.password] = [role, 'limited'];
  env.DATABASE_URL = url.href;
  const refused = await run({ cases: [{ as: 'anonymous', request: 'GET /issues', expect: 401 }] });
  t.equal(refused.code, 1, refused.err);
  t.match(refused.err, /permission denied to create database: the test needs a role with CREATEDB/);
});
